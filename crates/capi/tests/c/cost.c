/* cost QUEUE FLOWS STEP STEPS: the workload of the Rust library's cost benchmark
 * (crates/core/benches/workload) through the C library; prints how many packets were delivered. Run under
 * callgrind by benches/cost.rs. */
#include "check.h"

static uint64_t free_frames[4096];
static uint32_t frames;
static uint32_t *hashes;
static uint32_t flows, next_flow;

static void take_drops(struct gq_queue *queue)
{
	struct gq_drop drops[64];
	int32_t at, taken;

	drops[0].size = sizeof drops[0];
	do {
		taken = gq_take_drops(queue, drops, 64);
		CHECK(taken >= 0);
		for (at = 0; at < taken; at++) {
			free_frames[frames++] = drops[at].cookie;
		}
	} while (taken == 64);
}

static void enqueue(struct gq_queue *queue, uint64_t now)
{
	struct gq_packet packet = packet_of(free_frames[--frames], 1514, hashes[next_flow]);
	int32_t result;

	packet.truesize = 2304;
	next_flow = next_flow + 1 == flows ? 0 : next_flow + 1;
	result = gq_enqueue(queue, now, &packet);
	CHECK(result >= 0);
	if (result & GQ_DROPS) {
		take_drops(queue);
	}
}

int main(int count, char **words)
{
	struct gq_config config;
	struct place place;
	struct gq_packet packet = packet_of(0, 1, 0);
	uint64_t now = 1000000000, step, x = UINT64_C(88172645463325252);
	uint32_t at, steps, queued = 0, delivered = 0;
	int32_t result;

	CHECK(count == 5);
	config = config_of(words[1]);
	place = place_of(&config);
	flows = (uint32_t)strtoul(words[2], NULL, 10);
	step = strtoul(words[3], NULL, 10);
	steps = (uint32_t)strtoul(words[4], NULL, 10);
	hashes = (uint32_t *)malloc(flows * sizeof *hashes);
	CHECK(hashes != NULL);
	for (at = 0; at < flows; at++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		hashes[at] = (uint32_t)(x >> 32);
	}
	for (frames = 0; frames < 4096; frames++) {
		free_frames[frames] = frames;
	}
	for (at = 0; at < 1000; at++) {
		enqueue(place.queue, now);
	}
	for (at = 0; at < steps; at++) {
		now += step;
		for (queued = 4096 - frames; queued < 1001; queued = 4096 - frames) {
			enqueue(place.queue, now);
		}
		result = gq_dequeue(place.queue, now, &packet);
		CHECK(result >= 0);
		if (result & GQ_DROPS) {
			take_drops(place.queue);
		}
		if (result & GQ_PACKET) {
			free_frames[frames++] = packet.cookie;
			delivered++;
		}
	}
	printf("%u %lu\n", (unsigned)delivered, (unsigned long)stats_of(place.queue).drops);
	free(hashes);
	free(place.raw);
	return 0;
}
