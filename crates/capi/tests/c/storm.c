/* A careless caller: wrong times, lengths, sizes and pointers among correct ones, drops taken only sometimes,
 * parameters changed and the queue reset at any time. Every accepted packet still comes back exactly once. */
#include "check.h"

#define PACKETS 60000u

static unsigned char inside[PACKETS];
static void back(uint64_t cookie)
{
	CHECK(cookie < PACKETS && inside[cookie] == 1);
	inside[cookie] = 2;
}

static void take(struct gq_queue *queue, uint32_t most)
{
	struct gq_drop drops[16];
	int32_t at, taken;

	drops[0].size = sizeof drops[0];
	do {
		taken = gq_take_drops(queue, drops, 1 + below(16));
		CHECK(taken >= 0);
		for (at = 0; at < taken; at++) {
			back(drops[at].cookie);
		}
	} while (taken > 0 && most-- > 0);
}

static void give(struct gq_queue *queue, uint64_t now, uint32_t cookie)
{
	struct gq_packet packet = packet_of(cookie, 60 + below(1455), below(8) << 29);
	uint32_t what = below(100);

	packet.dsfield = (uint8_t)below(256);
	packet.source_hash = below(4) * 1000003;
	packet.socket = below(3) == 0 ? UINT64_MAX - below(2) : below(20);
	packet.is_connected = (uint8_t)below(2);
	packet.departure = below(4) == 0 ? now + below(30000000) : 0;
	packet.pacing_rate = below(2) * 1000000;
	/* Empty segments: an error for queues that read super-packets. */
	packet.gso_segments = (uint16_t)(below(20) == 0 ? below(300) : 0);
	packet.classified = (uint8_t)(below(40) == 0 ? below(5) : 0);
	packet.len = what == 0 ? 0 : what == 1 ? UINT32_MAX : packet.len;
	packet.truesize = what == 2 ? 1 : what == 3 ? UINT32_MAX : packet.truesize;
	packet.size = what == 4 ? below(32) : packet.size;
	if (gq_enqueue(queue, now, what == 5 ? NULL : &packet) >= 0) {
		CHECK(what > 2 && what != 4 && what != 5);
		inside[cookie] = 1;
	}
}

static void get(struct gq_queue *queue, uint64_t now)
{
	struct gq_packet packet = packet_of(0, 0, 0);
	int32_t result;

	packet.size = below(50) == 0 ? 8 : sizeof packet;
	result = gq_dequeue(queue, now, &packet);
	if (result > 0 && (result & GQ_PACKET)) {
		back(packet.cookie);
	}
}

static void change(struct gq_queue *queue, uint64_t now, struct gq_config config)
{
	int is_in_bytes = config.kind == GQ_BFIFO || config.kind == GQ_TBF || config.kind == GQ_RED;

	config.limit = is_in_bytes ? below(200000) : below(400);
	config.full = below(100000);
	config.mtu = below(3000);
	(void)gq_queue_configure(queue, now, &config);
}

static void storm(const char *text)
{
	struct gq_config config = config_of(text);
	struct place place;
	uint64_t now = 0, when;
	uint32_t cookie = 0;

	config.link_rate = 20000000;
	place = place_of(&config);
	memset(inside, 0, sizeof inside);
	while (cookie < PACKETS) {
		now += below(300000);
		when = below(100) == 0 ? now - now / 3 : now;
		switch (below(100) < 98 ? below(3) : 3 + below(3)) {
		case 0:
		case 1:
			give(place.queue, when, cookie++);
			break;
		case 2:
			get(place.queue, when);
			break;
		case 3:
			(void)gq_queue_reset(place.queue, when);
			break;
		case 4:
			change(place.queue, when, config);
			break;
		default:
			(void)gq_next_wake(place.queue, when, below(2) ? &now : NULL);
			break;
		}
		if (below(8) == 0) {
			take(place.queue, below(3));
		}
	}
	take(place.queue, UINT32_MAX);
	EXPECT(0, gq_queue_reset(place.queue, now) & ~GQ_DROPS);
	take(place.queue, UINT32_MAX);
	CHECK(memchr(inside, 1, sizeof inside) == NULL);
	CHECK(memchr(inside, 2, sizeof inside) != NULL && stats_of(place.queue).errors > 1000);
	CHECK(stats_of(place.queue).drops_lost == 0 && stats_of(place.queue).backlog_bytes == 0);
	free(place.raw);
}

int main(void)
{
	storm("pfifo:100");
	storm("bfifo:100k");
	storm("fifo:50ms");
	storm("codel limit=100 target=1ms interval=10ms");
	storm("fq_codel limit=100 flows=8 target=1ms interval=10ms drop_batch=16");
	storm("tbf rate=20mbit burst=3k limit=100k");
	storm("cake bandwidth=20mbit memlimit=100k flows=8 ack-filter=on");
	storm("pie limit=100 target=1ms");
	storm("fq_pie limit=100 target=1ms flows=8");
	storm("dualpi2 limit=100 target=1ms");
	storm("sfq limit=100 flows=8 perturb=5s");
	storm("fq limit=100 flows=8 buckets=4");
	storm("wheel limit=100 horizon=20ms");
	storm("red:100k");
	storm("pfifo_fast:50");
	storm("prio leaf=cake leaf.memlimit=100k leaf.flows=8 leaf.ack-filter=on");
	storm("drr classes=4 leaf=fq_codel leaf.limit=50 leaf.flows=4");
	storm("htb rate=20mbit sqm=simple leaf=fq leaf.limit=50 leaf.flows=8");
	return 0;
}
