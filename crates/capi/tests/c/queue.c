/* Every call on a queue, and every error. */
#include "check.h"

#define MS UINT64_C(1000000)

static void packets_pass(void)
{
	struct gq_config config = config_of("pfifo:2");
	struct place place = place_of(&config);
	struct gq_queue *queue = place.queue;
	struct gq_packet in = packet_of(7, 1000, 3), out;
	struct gq_drop drops[2];
	struct gq_stats stats;
	uint64_t wake = 0;

	in.dsfield = 0x2e;
	out.size = sizeof out;
	drops[0].size = sizeof drops[0];
	EXPECT(0, gq_dequeue(queue, 1, &out));
	EXPECT(0, gq_enqueue(queue, 1, &in));
	EXPECT(1, gq_next_wake(queue, 1, &wake));
	CHECK(wake == 1);
	in.cookie = 8;
	EXPECT(0, gq_enqueue(queue, 1, &in));
	in.cookie = 9;
	EXPECT(GQ_REASON_LIMIT | GQ_DROPS, gq_enqueue(queue, 2, &in));
	stats = stats_of(queue);
	CHECK(stats.backlog_packets == 2 && stats.backlog_bytes == 2000 && stats.drops_waiting == 1);
	EXPECT(1, gq_take_drops(queue, drops, 2));
	CHECK(drops[0].cookie == 9 && drops[0].len == 1000 && drops[0].reason == GQ_REASON_LIMIT);
	EXPECT(0, gq_take_drops(queue, drops, 2));
	EXPECT(GQ_PACKET, gq_dequeue(queue, 2, &out));
	CHECK(out.cookie == 7 && out.len == 1000 && out.truesize == 1000 && out.flow_hash == 3);
	CHECK(out.dsfield == 0x2e && out.size == sizeof out);
	EXPECT(GQ_DROPS, gq_queue_reset(queue, 3));
	EXPECT(1, gq_take_drops(queue, drops, 2));
	CHECK(drops[0].cookie == 8 && drops[0].reason == GQ_REASON_RESET);
	stats = stats_of(queue);
	CHECK(stats.packets == 1 && stats.bytes == 1000 && stats.drops == 1 && stats.errors == 0);
	free(place.raw);
}

/* An error that the queue must count. */
#define REFUSED(expected, call)             \
	do {                                \
		EXPECT(expected, call);     \
		errors++;                   \
	} while (0)

static void mistakes_are_counted(void)
{
	struct gq_config config = config_of("pfifo:2");
	struct place place = place_of(&config);
	struct gq_queue *queue = place.queue;
	struct gq_packet in = packet_of(7, 1000, 0), out;
	struct gq_counter counter;
	struct gq_drop drop;
	uint64_t wake, errors = 0;
	void *odd = (char *)&wake + 1;

	out.size = 4;
	drop.size = 4;
	counter.size = 4;
	EXPECT(GQ_ENULL, gq_enqueue(NULL, 0, &in));
	REFUSED(GQ_ENULL, gq_enqueue(queue, 0, NULL));
	REFUSED(GQ_EALIGN, gq_enqueue(queue, 0, (const struct gq_packet *)odd));
	in.size = 31;
	REFUSED(GQ_ESIZE, gq_enqueue(queue, 0, &in));
	in = packet_of(7, 0, 0);
	REFUSED(GQ_EPACKET, gq_enqueue(queue, 0, &in));
	in = packet_of(7, GQ_MAX_LEN + 1, 0);
	REFUSED(GQ_EPACKET, gq_enqueue(queue, 0, &in));
	in = packet_of(7, 1000, 0);
	in.truesize = 999;
	REFUSED(GQ_EPACKET, gq_enqueue(queue, 0, &in));
	in.truesize = UINT32_MAX;
	EXPECT(0, gq_enqueue(queue, 10, &in));
	REFUSED(GQ_ETIME, gq_enqueue(queue, 9, &in));
	REFUSED(GQ_ESIZE, gq_dequeue(queue, 10, &out));
	REFUSED(GQ_ENULL, gq_dequeue(queue, 10, NULL));
	out.size = sizeof out;
	REFUSED(GQ_ETIME, gq_dequeue(queue, 9, &out));
	REFUSED(GQ_ETIME, gq_next_wake(queue, 9, &wake));
	REFUSED(GQ_ENULL, gq_next_wake(queue, 10, NULL));
	REFUSED(GQ_ETIME, gq_queue_reset(queue, 9));
	REFUSED(GQ_ESIZE, gq_take_drops(queue, &drop, 1));
	REFUSED(GQ_ENULL, gq_take_drops(queue, NULL, 1));
	drop.size = sizeof drop + 1;
	REFUSED(GQ_EALIGN, gq_take_drops(queue, &drop, 1));
	REFUSED(GQ_ESIZE, gq_queue_counter(queue, 0, &counter));
	REFUSED(GQ_ENULL, gq_queue_counter(queue, 0, NULL));
	REFUSED(GQ_ENULL, gq_queue_stats(queue, NULL));
	REFUSED(GQ_ENULL, gq_queue_configure(queue, 10, NULL));
	EXPECT(GQ_ENULL, gq_dequeue(NULL, 10, &out));
	EXPECT(GQ_ENULL, gq_next_wake(NULL, 10, &wake));
	EXPECT(GQ_ENULL, gq_queue_reset(NULL, 10));
	EXPECT(GQ_ENULL, gq_take_drops(NULL, &drop, 1));
	EXPECT(GQ_ENULL, gq_queue_stats(NULL, NULL));
	EXPECT(GQ_ENULL, gq_queue_counter(NULL, 0, &counter));
	EXPECT(GQ_ENULL, gq_queue_configure(NULL, 10, &config));
	CHECK(stats_of(queue).errors == errors);
	EXPECT(GQ_PACKET, gq_dequeue(queue, 10, &out));
	CHECK(out.cookie == 7);
	free(place.raw);
}

static void no_handle_is_lost(void)
{
	struct gq_config config = config_of("pfifo:2");
	struct place place = place_of(&config);
	struct gq_packet in = packet_of(0, 100, 0), out;
	struct gq_drop drops[8];
	int32_t result, refused = 0;

	/* Three places for drops. A call that could need one more than is free is refused. */
	out.size = sizeof out;
	drops[0].size = sizeof drops[0];
	for (in.cookie = 0; in.cookie < 10; in.cookie++) {
		result = gq_enqueue(place.queue, 0, &in);
		refused += result == GQ_EDROPS;
	}
	CHECK(refused == 7);
	EXPECT(GQ_DROPS, gq_queue_reset(place.queue, 0));
	EXPECT(3, gq_take_drops(place.queue, drops, 8));
	CHECK(drops[0].cookie == 2 && drops[1].cookie == 0 && drops[2].cookie == 1);
	CHECK(stats_of(place.queue).drops_lost == 0);
	free(place.raw);

	config.drop_slots = 1;
	place = place_of(&config);
	EXPECT(0, gq_enqueue(place.queue, 0, &in));
	EXPECT(0, gq_enqueue(place.queue, 0, &in));
	EXPECT(GQ_DROPS, gq_queue_reset(place.queue, 0));
	CHECK(stats_of(place.queue).drops_lost == 1);
	EXPECT(1, gq_take_drops(place.queue, drops, 8));
	free(place.raw);

	config.drop_slots = 0;
	place = place_of(&config);
	EXPECT(0, gq_enqueue(place.queue, 0, &in));
	EXPECT(0, gq_enqueue(place.queue, 0, &in));
	EXPECT(GQ_REASON_LIMIT, gq_enqueue(place.queue, 0, &in));
	EXPECT(0, gq_queue_reset(place.queue, 0));
	CHECK(stats_of(place.queue).drops_lost == 0 && stats_of(place.queue).drops == 1);
	free(place.raw);
}

static void full_now(void)
{
	struct gq_config config = config_of("fq_codel limit=100 flows=8");
	struct place place;
	struct gq_packet in = packet_of(1, 1500, 0), out;

	/* 4500 bytes and packets of at most 1500: full from the third on. */
	out.size = sizeof out;
	config.mtu = 1500;
	config.full = 4500;
	place = place_of(&config);
	EXPECT(0, gq_enqueue(place.queue, 0, &in));
	EXPECT(0, gq_enqueue(place.queue, 0, &in));
	EXPECT(GQ_FULL, gq_enqueue(place.queue, 0, &in));
	EXPECT(GQ_PACKET, gq_dequeue(place.queue, 0, &out));
	EXPECT(GQ_FULL, gq_enqueue(place.queue, 0, &in));
	config.full = GQ_DEFAULT;
	EXPECT(0, gq_queue_configure(place.queue, 0, &config));
	free(place.raw);
}

static void codel_drops_and_marks(void)
{
	struct gq_config config = config_of("codel ecn=on");
	struct place place = place_of(&config);
	struct gq_packet in = packet_of(1, 1500, 0), out;
	struct gq_drop drops[64];
	int32_t result, marked = 0, dropped = 0, taken;
	uint64_t now;

	out.size = sizeof out;
	drops[0].size = sizeof drops[0];
	for (now = 0; now < 2000 * MS; now += MS) {
		in.dsfield = (uint8_t)(now / MS % 2 * 2);
		CHECK((gq_enqueue(place.queue, now, &in) & GQ_REASON) == 0);
		result = now > 50 * MS ? gq_dequeue(place.queue, now, &out) : 0;
		CHECK(result >= 0);
		if (result & GQ_MARKED) {
			CHECK((result & GQ_PACKET) && (out.dsfield & 3) == 3);
			marked++;
		}
		taken = gq_take_drops(place.queue, drops, 64);
		CHECK((taken > 0) == ((result & GQ_DROPS) != 0));
		if (taken > 0) {
			CHECK(drops[taken - 1].reason == GQ_REASON_CODEL);
		}
		dropped += taken;
	}
	CHECK(marked > 0 && dropped > 0);
	CHECK(stats_of(place.queue).drops == (uint64_t)dropped);
	CHECK(stats_of(place.queue).marks == (uint64_t)marked);
	free(place.raw);
}

static void parameters_change(void)
{
	struct gq_config config = config_of("fq_codel limit=8 flows=4"), other = config_of("codel");
	struct place place = place_of(&config);
	struct gq_packet in = packet_of(1, 1500, 0);
	struct gq_drop drops[9];
	int at;

	drops[0].size = sizeof drops[0];
	for (at = 0; at < 8; at++) {
		EXPECT(0, gq_enqueue(place.queue, 0, &in));
	}
	EXPECT(GQ_EKIND, gq_queue_configure(place.queue, 0, &other));
	config.flows = 8;
	EXPECT(GQ_EVALUE, gq_queue_configure(place.queue, 0, &config));
	config.flows = 4;
	config.limit = 0;
	EXPECT(GQ_EVALUE, gq_queue_configure(place.queue, 0, &config));
	config.limit = 3;
	EXPECT(GQ_DROPS, gq_queue_configure(place.queue, 0, &config));
	EXPECT(5, gq_take_drops(place.queue, drops, 9));
	CHECK(drops[4].reason == GQ_REASON_CHANGE);
	CHECK(stats_of(place.queue).errors == 3 && stats_of(place.queue).backlog_packets == 3);
	free(place.raw);
}

/* A super-packet of 3 segments, 934 + 934 + 100 bytes with 66 of headers each. */
static struct gq_packet super_packet(void)
{
	struct gq_packet packet = packet_of(7, 3 * 66 + 2 * 934 + 100, 0);

	packet.truesize = packet.len + 3 * 700;
	packet.gso_segments = 3;
	packet.gso_size = 934;
	packet.gso_headers = 66;
	return packet;
}

/* tbf cuts a super-packet that is longer than its bucket, and drops one whose segments are, too. */
static void shaper_cuts(void)
{
	struct gq_config config = config_of("tbf rate=8mbit burst=1500 limit=10k");
	struct place place = place_of(&config);
	struct gq_packet in = super_packet(), out;
	struct gq_drop drop;
	uint64_t wake = 0;
	uint16_t at;

	out.size = sizeof out;
	EXPECT(0, gq_enqueue(place.queue, 0, &in));
	CHECK(stats_of(place.queue).backlog_packets == 3 && stats_of(place.queue).backlog_bytes == in.len);
	for (at = 0; at < 3; at++) {
		if (at == 1) {
			EXPECT(0, gq_dequeue(place.queue, wake, &out));
			EXPECT(1, gq_next_wake(place.queue, wake, &wake));
			CHECK(wake == 500000);
		}
		EXPECT(GQ_PACKET, gq_dequeue(place.queue, at < 2 ? wake : 2 * wake, &out));
		CHECK(out.cookie == 7 && out.segment == at && out.len == (at < 2 ? 1000u : 166u));
		CHECK(out.truesize == out.len + 700 && out.gso_segments == 0);
	}
	in.len += 2 * 600;
	in.gso_size += 600;
	EXPECT(GQ_REASON_TOOBIG | GQ_DROPS, gq_enqueue(place.queue, 2 * wake, &in));
	drop.size = sizeof drop;
	EXPECT(1, gq_take_drops(place.queue, &drop, 1));
	CHECK(drop.cookie == 7 && drop.len == in.len && drop.reason == GQ_REASON_TOOBIG);
	in.gso_size = 5000;
	EXPECT(GQ_EPACKET, gq_enqueue(place.queue, 2 * wake, &in));

	/* What fits into the bucket stays whole. */
	free(place.raw);
	config = config_of("tbf rate=8mbit burst=5000 limit=10k");
	place = place_of(&config);
	in = super_packet();
	EXPECT(0, gq_enqueue(place.queue, 0, &in));
	EXPECT(GQ_PACKET, gq_dequeue(place.queue, 0, &out));
	CHECK(out.len == in.len && out.gso_segments == 3 && out.segment == 0);
	free(place.raw);
}

static void shaper_says_when(void)
{
	struct gq_config config = config_of("tbf rate=8mbit burst=1500 limit=10k");
	struct place place = place_of(&config);
	struct gq_packet in = packet_of(1, 1000, 0), out;
	uint64_t wake = 0;

	out.size = sizeof out;
	EXPECT(0, gq_enqueue(place.queue, 0, &in));
	EXPECT(0, gq_enqueue(place.queue, 0, &in));
	EXPECT(GQ_PACKET, gq_dequeue(place.queue, 0, &out));
	EXPECT(0, gq_dequeue(place.queue, 0, &out));
	EXPECT(1, gq_next_wake(place.queue, 0, &wake));
	CHECK(wake == 500000);
	EXPECT(0, gq_dequeue(place.queue, wake - 1, &out));
	EXPECT(GQ_PACKET, gq_dequeue(place.queue, wake, &out));
	in = packet_of(2, 1501, 0);
	EXPECT(GQ_REASON_TOOBIG | GQ_DROPS, gq_enqueue(place.queue, wake, &in));
	CHECK(stats_of(place.queue).overlimits == 2);
	config.peakrate = 1;
	EXPECT(GQ_EVALUE, gq_queue_configure(place.queue, wake, &config));
	config.peakrate = 16000000;
	EXPECT(0, gq_queue_configure(place.queue, wake, &config) & ~GQ_DROPS);
	free(place.raw);
}

static void counters_have_names(void)
{
	struct gq_config config = config_of("fq_codel flows=2 limit=2");
	struct place place = place_of(&config);
	struct gq_counter counter;
	uint32_t index = 0, found = 0;

	counter.size = sizeof counter;
	while (gq_queue_counter(place.queue, index, &counter) == 1) {
		CHECK(memchr(counter.name, 0, sizeof counter.name) != NULL && counter.value == 0);
		found += strcmp(counter.name, "new_flow_count") == 0;
		index++;
	}
	CHECK(found == 1 && index == 8);
	EXPECT(0, gq_queue_counter(place.queue, UINT32_MAX, &counter));
	free(place.raw);
}

int main(void)
{
	packets_pass();
	mistakes_are_counted();
	no_handle_is_lost();
	full_now();
	codel_drops_and_marks();
	parameters_change();
	shaper_says_when();
	shaper_cuts();
	counters_have_names();
	return 0;
}
