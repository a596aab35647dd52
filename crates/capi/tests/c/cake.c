/* CAKE: packet data beyond the descriptor; super-packets; the ACK filter; and structs of an earlier version.
 * */
#include "check.h"

static struct gq_tcp ack_of(uint64_t connection, uint32_t ack)
{
	struct gq_tcp tcp;
	memset(&tcp, 0, sizeof tcp);
	tcp.size = sizeof tcp;
	tcp.connection = connection;
	tcp.ack = ack;
	tcp.flags = 16;
	return tcp;
}

static void packets(void)
{
	struct gq_config config = config_of("cake flows=8 memlimit=1m");
	struct place place = place_of(&config);
	struct gq_packet packet = packet_of(1, 1514, 5);
	struct gq_tcp tcp = ack_of(1, 1);
	struct gq_drop drop;

	drop.size = sizeof drop;
	EXPECT(0, gq_enqueue(place.queue, 1, &packet));
	packet.classified = 4;
	EXPECT(GQ_EPACKET, gq_enqueue(place.queue, 1, &packet));
	packet.classified = GQ_SHOT;
	packet.cookie = 2;
	EXPECT(GQ_REASON_FILTER | GQ_DROPS, gq_enqueue(place.queue, 1, &packet));
	EXPECT(1, gq_take_drops(place.queue, &drop, 1));
	CHECK(drop.cookie == 2 && drop.reason == GQ_REASON_FILTER && drop.segment == 0);
	packet.classified = GQ_STOLEN;
	EXPECT(GQ_REASON_FILTER | GQ_DROPS, gq_enqueue(place.queue, 1, &packet));
	EXPECT(1, gq_take_drops(place.queue, &drop, 1));
	CHECK(stats_of(place.queue).drops == 1);
	packet.classified = 0;
	tcp.options_len = 41;
	EXPECT(GQ_EPACKET, gq_enqueue_tcp(place.queue, 1, &packet, &tcp));
	tcp.options_len = 40;
	EXPECT(0, gq_enqueue_tcp(place.queue, 1, &packet, &tcp));
	EXPECT(0, gq_enqueue_tcp(place.queue, 1, &packet, NULL));
	EXPECT(GQ_ENULL, gq_enqueue_tcp(place.queue, 1, NULL, &tcp));
	tcp.size = 8;
	EXPECT(GQ_ESIZE, gq_enqueue_tcp(place.queue, 1, &packet, &tcp));
	EXPECT(GQ_PACKET, gq_dequeue(place.queue, 2, &packet));
	CHECK(packet.cookie == 1 && packet.size == sizeof packet);
	free(place.raw);

	/* Any other queue accepts the data too and ignores it. */
	config = config_of("codel");
	place = place_of(&config);
	packet.classified = 99;
	tcp.size = sizeof tcp;
	EXPECT(0, gq_enqueue_tcp(place.queue, 1, &packet, &tcp));
	free(place.raw);
}

/* A super-packet of 3 segments, 1448 + 1448 + 100 bytes with 66 of headers each. */
static void super_packets(void)
{
	struct gq_config config = config_of("cake flows=8 memlimit=1m");
	struct place place = place_of(&config);
	struct gq_packet packet = packet_of(7, 3 * 66 + 2 * 1448 + 100, 5), got = packet;
	struct gq_drop drop;
	uint16_t at;

	packet.truesize = packet.len + 3 * 700;
	packet.gso_segments = 3;
	packet.gso_size = 1448;
	packet.gso_headers = 66;
	EXPECT(0, gq_enqueue(place.queue, 1, &packet));
	CHECK(stats_of(place.queue).backlog_packets == 3 && stats_of(place.queue).backlog_bytes == packet.len);
	for (at = 0; at < 3; at++) {
		EXPECT(GQ_PACKET, gq_dequeue(place.queue, 2, &got));
		CHECK(got.cookie == 7 && got.segment == at && got.len == (at < 2 ? 1514u : 166u));
		CHECK(got.truesize == got.len + 700 && got.gso_segments == 0);
	}
	packet.len++; /* the last segment could have 1448 */
	packet.gso_size = 100;
	EXPECT(GQ_EPACKET, gq_enqueue(place.queue, 3, &packet));
	packet.gso_size = 3000;
	EXPECT(GQ_EPACKET, gq_enqueue(place.queue, 3, &packet));
	packet.gso_size = 1448;
	packet.gso_segments = GQ_MAX_SEGMENTS + 1;
	EXPECT(GQ_EPACKET, gq_enqueue(place.queue, 3, &packet));
	packet.gso_segments = 3;
	EXPECT(0, gq_enqueue(place.queue, 3, &packet));
	drop.size = sizeof drop;
	EXPECT(GQ_DROPS, gq_queue_reset(place.queue, 4));
	for (at = 0; at < 3; at++) {
		EXPECT(1, gq_take_drops(place.queue, &drop, 1));
		CHECK(drop.cookie == 7 && drop.segment == at && drop.reason == GQ_REASON_RESET);
	}
	config = config_of("cake flows=8 memlimit=1m split-gso=off");
	EXPECT(0, gq_queue_configure(place.queue, 5, &config));
	EXPECT(0, gq_enqueue(place.queue, 5, &packet));
	EXPECT(GQ_PACKET, gq_dequeue(place.queue, 5, &got));
	CHECK(got.len == packet.len && got.gso_segments == 3 && got.segment == 0);
	free(place.raw);
}

/* A super-packet in a queue with two slots: every segment comes back once, and none is lost. */
static void few_places(void)
{
	struct gq_config config = config_of("cake flows=8 memlimit=1m");
	struct gq_packet packet = packet_of(7, GQ_MAX_SEGMENTS * 100, 5);
	struct gq_drop drops[64];
	struct place place;
	int32_t taken, total = 0;

	config.slots = 2;
	place = place_of(&config);
	packet.gso_segments = GQ_MAX_SEGMENTS;
	packet.gso_size = 50;
	packet.gso_headers = 50;
	EXPECT(GQ_DROPS, gq_enqueue(place.queue, 1, &packet) & ~GQ_REASON);
	EXPECT(GQ_EDROPS, gq_enqueue(place.queue, 1, &packet));
	drops[0].size = sizeof drops[0];
	do {
		taken = gq_take_drops(place.queue, drops, 64);
		total += taken;
	} while (taken == 64);
	CHECK(total == (int32_t)GQ_MAX_SEGMENTS - 2 && stats_of(place.queue).drops_lost == 0);
	CHECK(stats_of(place.queue).backlog_packets == 2);
	free(place.raw);
}

static void ack_filter(void)
{
	struct gq_config config = config_of("cake flows=8 memlimit=1m ack-filter=aggressive");
	struct gq_config off = config_of("cake flows=8 memlimit=1m");
	struct place place = place_of(&config), without = place_of(&off);
	struct gq_packet packet = packet_of(0, 66, 5);
	struct gq_drop drop;
	struct gq_tcp tcp;
	uint32_t at;

	drop.size = sizeof drop;
	CHECK(place.bytes > without.bytes);
	for (at = 1; at <= 1000; at++) {
		tcp = ack_of(9, at * 1448);
		packet.cookie = at;
		EXPECT(at == 1 ? 0 : GQ_DROPS, gq_enqueue_tcp(place.queue, 1, &packet, &tcp));
		if (at > 1) {
			EXPECT(1, gq_take_drops(place.queue, &drop, 1));
			CHECK(drop.cookie == at - 1 && drop.reason == GQ_REASON_ACK);
		}
	}
	CHECK(stats_of(place.queue).backlog_packets == 1 && stats_of(place.queue).drops == 999);
	/* If the filter was off at set-up, there are no slots for headers. */
	EXPECT(GQ_EVALUE, gq_queue_configure(without.queue, 1, &config));
	EXPECT(0, gq_queue_configure(place.queue, 2, &off));
	config.flows = 16;
	EXPECT(GQ_EVALUE, gq_queue_configure(place.queue, 2, &config));
	free(place.raw);
	free(without.raw);
}

static void tins_and_wash(void)
{
	struct gq_config config = config_of("cake flows=8 memlimit=1m wash=on");
	struct place place = place_of(&config);
	struct gq_packet packet = packet_of(1, 1514, 5);
	int at;

	packet.dsfield = 32; /* CS1 */
	EXPECT(0, gq_enqueue(place.queue, 1, &packet));
	packet.cookie = 2;
	packet.dsfield = 184 + 2; /* EF, ECT(0) */
	EXPECT(0, gq_enqueue(place.queue, 1, &packet));
	for (at = 0; at < 2; at++) {
		EXPECT(GQ_PACKET, gq_dequeue(place.queue, 1, &packet));
		CHECK(packet.dsfield == (packet.cookie == 2 ? 2 : 0));
	}
	/* Tables for three tins: a mode with one is accepted, one with four is not, and three are possible again. */
	EXPECT(0, gq_queue_configure(place.queue, 1, (config.diffserv = 3, &config)));
	EXPECT(GQ_EVALUE, gq_queue_configure(place.queue, 1, (config.diffserv = 1, &config)));
	EXPECT(0, gq_queue_configure(place.queue, 1, (config.diffserv = 0, &config)));
	free(place.raw);
	/* Overhead below zero, as a field and as a text. */
	config.overhead = (uint32_t)-4;
	CHECK(config_of("cake overhead=-4").overhead == config.overhead);
	config.overhead = (uint32_t)-65;
	EXPECT(GQ_EVALUE, gq_queue_size(&config, &place.bytes));
}

/* A program that was compiled with the first version of the structs: gq_config of 200 bytes, gq_packet of 32.
 * */
static void earlier_structs(void)
{
	struct gq_config config, ours = config_of("fq_codel limit=50 flows=8");
	struct gq_packet packet = packet_of(3, 1514, 5);
	struct place place;
	size_t bytes, at;

	memset(&config, 0x55, sizeof config);
	config.size = 200;
	EXPECT(0, gq_config_parse("fq_codel limit=50 flows=8", &config, NULL));
	for (at = 200; at < sizeof config; at++) {
		CHECK(((unsigned char *)&config)[at] == 0x55);
	}
	CHECK(config.size == 200 && memcmp(&config.kind, &ours.kind, 196) == 0);
	EXPECT(0, gq_queue_size(&config, &bytes));
	place = place_for(&ours);
	CHECK(bytes == place.bytes);
	free(place.raw);
	EXPECT(0, gq_config_default(GQ_CAKE, &config));
	config.flows = 8;
	ours = config_of("cake flows=8");
	place = place_for(&ours);
	EXPECT(0, gq_queue_init(place.memory, place.bytes, &config, 0, &place.queue));
	config.size = 204;
	EXPECT(GQ_ESIZE, gq_queue_size(&config, &bytes));
	config.size = 192;
	EXPECT(GQ_ESIZE, gq_queue_size(&config, &bytes));

	/* The memory after the short packet is not read. */
	packet.is_arp = 1;
	packet.source_hash = 1;
	packet.gso_size = 77;
	packet.size = 32;
	EXPECT(0, gq_enqueue(place.queue, 1, &packet));
	packet.size = 36;
	EXPECT(GQ_ESIZE, gq_enqueue(place.queue, 1, &packet));
	packet.size = 32;
	EXPECT(GQ_PACKET, gq_dequeue(place.queue, 1, &packet));
	CHECK(packet.cookie == 3 && packet.size == 32 && packet.gso_size == 77);
	free(place.raw);
}

int main(void)
{
	packets();
	super_packets();
	few_places();
	ack_filter();
	tins_and_wash();
	earlier_structs();
	return 0;
}
