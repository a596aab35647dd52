/* Queues of classes, and queues that use sockets: set-up, leaves, marks on arrival, and what cannot be
 * changed. */
#include "check.h"

static void leaves(void)
{
	struct gq_config config, leaf, text;
	struct place place;
	size_t ours, theirs;

	config.size = leaf.size = sizeof config;
	EXPECT(0, gq_config_default(GQ_PRIO, &config));
	EXPECT(0, gq_config_default(GQ_CODEL, &leaf));
	leaf.limit = 50;
	leaf.target = 10000000;
	EXPECT(0, gq_config_set_leaf(&config, &leaf));
	text = config_of("prio leaf=codel leaf.limit=50 leaf.target=10ms");
	CHECK(memcmp(&config, &text, sizeof config) == 0);
	EXPECT(0, gq_queue_size(&config, &ours));
	EXPECT(0, gq_queue_size(&text, &theirs));
	CHECK(ours == theirs);
	/* A band drops packets above the limit of its own queue. */
	place = place_of(&config);
	for (ours = 0; ours < 60; ours++) {
		struct gq_packet packet = packet_of(ours, 100, 0);
		EXPECT(ours < 50 ? 0 : GQ_DROPS | GQ_REASON_LIMIT, gq_enqueue(place.queue, 0, &packet));
	}
	EXPECT(GQ_EFIXED, gq_queue_configure(place.queue, 0, &config));
	CHECK(stats_of(place.queue).backlog_packets == 50);
	free(place.raw);

	/* No classes; classes within classes; an invalid leaf; a modified leaf. */
	EXPECT(GQ_ECONFLICT, gq_config_set_leaf(&config, &text));
	EXPECT(GQ_EPARAM, gq_config_set_leaf(&leaf, &leaf));
	leaf.limit = 0;
	EXPECT(GQ_EVALUE, gq_config_set_leaf(&config, &leaf));
	leaf.kind = 99;
	EXPECT(GQ_EKIND, gq_config_set_leaf(&config, &leaf));
	EXPECT(GQ_ENULL, gq_config_set_leaf(NULL, &leaf));
	EXPECT(GQ_ENULL, gq_config_set_leaf(&config, NULL));
	CHECK(memcmp(&config, &text, sizeof config) == 0);
	config.leaf[0] = 12345;
	EXPECT(GQ_EKIND, gq_queue_size(&config, &ours));
	config = config_of("fq_codel");
	config.leaf[0] = GQ_CODEL;
	EXPECT(GQ_EPARAM, gq_queue_size(&config, &ours));
	/* A program from before leaves existed. */
	config = config_of("prio");
	EXPECT(0, gq_queue_size(&config, &ours));
	config.size = 400;
	EXPECT(0, gq_queue_size(&config, &theirs));
	CHECK(ours == theirs);
}

/* A socket's pacing rate and a departure time. */
static void pacing(void)
{
	struct gq_config config = config_of("fq initial_quantum=0 quantum=1514");
	struct place place = place_of(&config);
	struct gq_packet packet;
	uint64_t cookie, wake = 0;

	for (cookie = 0; cookie < 3; cookie++) {
		packet = packet_of(cookie, 1514, 0);
		packet.socket = 7;
		packet.is_connected = 1;
		packet.pacing_rate = 1514000;
		EXPECT(0, gq_enqueue(place.queue, 0, &packet));
	}
	EXPECT(GQ_PACKET, gq_dequeue(place.queue, 0, &packet));
	CHECK(packet.cookie == 0);
	EXPECT(0, gq_dequeue(place.queue, 0, &packet));
	EXPECT(1, gq_next_wake(place.queue, 0, &wake));
	CHECK(wake == 1000000);
	EXPECT(GQ_PACKET, gq_dequeue(place.queue, wake, &packet));
	CHECK(packet.cookie == 1);
	packet.socket = UINT64_MAX;
	EXPECT(GQ_EPACKET, gq_enqueue(place.queue, wake, &packet));
	free(place.raw);

	config = config_of("wheel granularity=10us horizon=10ms");
	place = place_of(&config);
	packet = packet_of(9, 1514, 0);
	packet.departure = 55000;
	EXPECT(0, gq_enqueue(place.queue, 1000, &packet));
	EXPECT(0, gq_dequeue(place.queue, 1000, &packet));
	EXPECT(1, gq_next_wake(place.queue, 1000, &wake));
	CHECK(wake == 60000);
	EXPECT(GQ_PACKET, gq_dequeue(place.queue, wake, &packet));
	CHECK(packet.cookie == 9);
	free(place.raw);
}

/* A queue that marks on arrival reports it then. */
static void marks(void)
{
	struct gq_config config = config_of("red limit=60k min=3k max=6k ecn=on");
	struct place place = place_of(&config);
	struct gq_packet packet;
	uint32_t at, given = 0, found = 0;
	int32_t result;

	for (at = 0; at < 2000; at++) {
		packet = packet_of(at, 1000, 0);
		packet.dsfield = 2;
		result = gq_enqueue(place.queue, at * 1000, &packet);
		CHECK(result >= 0 && (result & GQ_REASON) == 0);
		given += (result & GQ_MARKED) != 0;
		if (at >= 7) {
			EXPECT(GQ_PACKET, gq_dequeue(place.queue, at * 1000, &packet));
			found += packet.dsfield == 3;
		}
	}
	while (gq_dequeue(place.queue, at * 1000, &packet) == GQ_PACKET) {
		found += packet.dsfield == 3;
	}
	CHECK(given > 0 && given == found && stats_of(place.queue).marks == given);
	/* The limit can be changed; the kind cannot. */
	config = config_of("red limit=30k");
	EXPECT(0, gq_queue_configure(place.queue, at * 1000, &config));
	config = config_of("pie");
	EXPECT(GQ_EKIND, gq_queue_configure(place.queue, at * 1000, &config));
	free(place.raw);
}

/* A lower limit of sfq drops packets of the longest flow. */
static void change(void)
{
	struct gq_config config = config_of("sfq limit=100");
	struct place place = place_of(&config);
	uint32_t at;

	for (at = 0; at < 20; at++) {
		struct gq_packet packet = packet_of(at, 1000, 0);
		EXPECT(0, gq_enqueue(place.queue, 0, &packet));
	}
	config = config_of("sfq limit=5");
	EXPECT(GQ_DROPS, gq_queue_configure(place.queue, 0, &config));
	CHECK(stats_of(place.queue).backlog_packets == 5 && stats_of(place.queue).drops == 15);
	free(place.raw);
}

int main(void)
{
	leaves();
	pacing();
	marks();
	change();
	return 0;
}
