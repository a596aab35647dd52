/* random STEPS QUEUE: a long random run over one queue; prints every decision, to be compared with what the
 * Rust library decides in the same run (tests/it/random.rs). random STEPS bql: the same for byte queue
 * limits. */
#include <inttypes.h>

#include "check.h"

static void print_drops(struct gq_queue *queue)
{
	struct gq_drop drops[16];
	int32_t at, taken;

	drops[0].size = sizeof drops[0];
	do {
		taken = gq_take_drops(queue, drops, 16);
		CHECK(taken >= 0);
		for (at = 0; at < taken; at++) {
			printf(" -%" PRIu64 ".%u:%u:%d", drops[at].cookie, (unsigned)drops[at].segment,
			       (unsigned)drops[at].len, (int)drops[at].reason);
		}
	} while (taken > 0);
}

/* Data from the sending host, for fq and wheel. */
static void give_origin(uint64_t now, struct gq_packet *packet, uint32_t flow)
{
	uint32_t what = below(100);

	packet->socket = what < 70 ? 1 + flow : 0;
	packet->socket_hash = flow + (below(40) == 0);
	packet->is_connected = below(10) != 0;
	packet->departure = what % 4 == 0 ? now + 1 + below(3000000) : what == 1 ? now + UINT64_C(20000000000) : 0;
	packet->pacing_rate = what % 2 == 0 ? 0 : 125000 + below(10) * 100000;
}

/* Packet data beyond the descriptor: hosts, marks, sockets, super-packets, TCP acknowledgements. */
static int32_t give_details(struct gq_queue *queue, uint64_t now, struct gq_packet *packet)
{
	struct gq_tcp tcp;
	uint32_t flow = packet->flow_hash / 214748364, what = below(100);

	packet->source_hash = flow / 4 * 1000003;
	packet->destination_hash = flow % 4 * 998244353;
	packet->mark = below(8);
	packet->priority = below(20) == 0 ? 0x80010000 + below(8) : 0;
	packet->link_header = below(30) == 0 ? GQ_NO_LINK_HEADER : 0;
	packet->is_arp = below(50) == 0;
	give_origin(now, packet, flow);
	if (what == 0) {
		packet->classified = (uint8_t)(1 + below(3));
		packet->class_id = below(1000000);
	} else if (what < 10) {
		packet->gso_segments = (uint16_t)(2 + below(9));
		packet->gso_size = 100 + below(1349);
		packet->gso_headers = 66;
		packet->len = packet->gso_segments * (66 + packet->gso_size) - below(packet->gso_size);
		packet->truesize = packet->len + 3000;
	} else if (what < 60) {
		memset(&tcp, 0, sizeof tcp);
		tcp.size = sizeof tcp;
		tcp.ack = (uint32_t)(now / 1000000);
		tcp.connection = flow;
		tcp.flags = (uint16_t)(16 | (below(30) == 0 ? 64 : 0));
		packet->len = 66;
		packet->truesize = 768;
		return gq_enqueue_tcp(queue, now, packet, &tcp);
	}
	return gq_enqueue(queue, now, packet);
}

static void step(struct gq_queue *queue, uint64_t now, uint64_t cookie, uint32_t arrivals, int has_details)
{
	uint32_t what = below(1000);
	struct gq_packet packet;
	uint64_t wake = 0;
	int32_t result;

	memset(&packet, 0, sizeof packet);
	packet.size = sizeof packet;
	if (what < arrivals) {
		packet.cookie = cookie;
		packet.len = 40 + below(1475);
		packet.truesize = packet.len + below(1000);
		packet.flow_hash = below(20) * 214748364;
		packet.dsfield = (uint8_t)below(256);
		result = has_details ? give_details(queue, now, &packet) : gq_enqueue(queue, now, &packet);
		printf("e %d", (int)result);
	} else if (what < 998) {
		result = gq_dequeue(queue, now, &packet);
		printf("d %d %" PRIu64 ".%u %u %u", (int)result, packet.cookie, (unsigned)packet.segment,
		       (unsigned)packet.len, (unsigned)packet.dsfield);
	} else if (what < 999) {
		result = gq_queue_reset(queue, now);
		printf("r %d", (int)result);
	} else {
		result = gq_next_wake(queue, now, &wake);
		printf("w %d %" PRIu64, (int)result, wake);
	}
	CHECK(result >= 0);
	print_drops(queue);
	printf("\n");
}

static void run_queue(uint32_t steps, const char *text)
{
	struct gq_config config = config_of(text);
	struct place place;
	struct gq_counter counter;
	struct gq_stats stats;
	uint64_t now = 0;
	uint32_t at, burst = 0;

	config.link_rate = 20000000;
	place = place_of(&config);
	for (at = 0; at < steps; at++) {
		/* Sometimes time almost stops, and most steps are arrivals. */
		burst = burst > 0 ? burst - 1 : below(1000) == 0 ? 800 : 0;
		now += burst > 0 ? below(1000) : below(2000000);
		step(place.queue, now, at, burst > 0 ? 900 : 480, config.kind >= GQ_CAKE);
	}
	stats = stats_of(place.queue);
	printf("s %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	       (unsigned)stats.backlog_packets, stats.backlog_bytes, stats.packets, stats.bytes, stats.drops,
	       stats.marks, stats.overlimits);
	counter.size = sizeof counter;
	for (at = 0; gq_queue_counter(place.queue, at, &counter) == 1; at++) {
		printf("c %s %" PRIu64 "\n", counter.name, counter.value);
	}
	free(place.raw);
}

/* A ring of 64 packets between a producer that obeys GQ_STOP and a line that empties it. */
static void run_bql(uint32_t steps)
{
	static uint32_t ring[64];
	struct gq_bql bql;
	struct gq_bql_state limit;
	uint32_t at, head = 0, tail = 0, packets, bytes;
	uint64_t now = 0;
	int32_t result = GQ_WAKE, stopped = 0;

	limit.size = sizeof limit;
	EXPECT(0, gq_bql_init(&bql, sizeof bql, NULL, 0));
	for (at = 0; at < steps; at++) {
		now += below(200000);
		if (below(2) == 0) {
			if (!stopped && head - tail < 64) {
				ring[head++ % 64] = 60 + below(1455);
				result = gq_bql_sent(&bql, ring[(head - 1) % 64], head - tail);
				stopped = result == GQ_STOP;
			}
		} else if (below(5000) == 0) {
			tail = head;
			result = gq_bql_reset(&bql, now);
			stopped = 0;
		} else {
			packets = 0;
			bytes = 0;
			while (tail != head && below(3) > 0) {
				bytes += ring[tail++ % 64];
				packets++;
			}
			result = gq_bql_completed(&bql, now, packets, bytes);
			stopped = result == GQ_WAKE ? 0 : stopped;
		}
		CHECK(result >= 0);
		EXPECT(0, gq_bql_state(&bql, &limit));
		CHECK(limit.inflight_packets == head - tail && limit.errors == 0);
		printf("b %d %u %u %d\n", (int)result, (unsigned)limit.limit, (unsigned)limit.inflight,
		       (int)limit.avail);
	}
}

int main(int count, char **words)
{
	uint32_t steps;

	CHECK(count == 3);
	steps = (uint32_t)strtoul(words[1], NULL, 10);
	if (strcmp(words[2], "bql") == 0) {
		run_bql(steps);
	} else {
		run_queue(steps, words[2]);
	}
	return 0;
}
