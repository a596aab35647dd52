/*
 * @NAME@: a queue of your own for Goodqueue.
 *
 * A FIFO that keeps the delay short: while the oldest packet has waited for longer than `target`, one packet each
 * `interval` is marked, or dropped if its sender does not speak ECN. Change it as you like; goodqueue_own.h has
 * the rules.
 *
 *	make check
 *	goodqueue run rrul --queue ./@NAME@.so,target=5ms,fq_codel
 */
#include <stdlib.h>

#include "goodqueue_own.h"

/* The parameters, in the order of their values. */
enum { LIMIT, TARGET, INTERVAL, PARAMETERS };

static const struct gq_own_parameter parameters[PARAMETERS] = {
	[LIMIT] = { "limit", "most packets that wait", GQ_OWN_COUNT, 1000, 1, 100000 },
	[TARGET] = { "target", "the wait that is fine", GQ_OWN_TIME, 5000000, 0, 1000000000 },
	[INTERVAL] = { "interval", "the time between two marks or drops", GQ_OWN_TIME, 20000000, 1, 10000000000 },
};

/* A packet that waits. */
struct held {
	uint64_t id;
	uint64_t arrived;
};

/* The counters, in the order of their names. */
enum { ENOUGH, COUNTERS };

static const char *const counter_names[COUNTERS] = { [ENOUGH] = "waited_too_long" };

/* A queue: a ring of `limit` places. */
struct queue {
	uint64_t values[PARAMETERS];
	uint64_t counters[COUNTERS];
	uint64_t next_signal;
	uint64_t head, count;
	struct held ring[];
};

static void *create(const uint64_t *values, uint64_t seed, const struct gq_own_host *host)
{
	struct queue *queue = calloc(1, sizeof *queue + values[LIMIT] * sizeof queue->ring[0]);

	(void)seed; /* nothing here is random */
	if (queue == NULL) {
		host->fail(host->owner, "no memory");
		return NULL;
	}
	for (int i = 0; i < PARAMETERS; i++)
		queue->values[i] = values[i];
	return queue;
}

static void destroy(void *it)
{
	free(it);
}

static void enqueue(void *it, uint64_t now, const struct gq_own_packet *packet, const struct gq_own_host *host)
{
	struct queue *queue = it;
	struct held *place;

	if (queue->count == queue->values[LIMIT]) {
		host->drop(host->owner, packet->id, GQ_OWN_LIMIT);
		return;
	}
	place = &queue->ring[(queue->head + queue->count) % queue->values[LIMIT]];
	place->id = packet->id;
	place->arrived = now;
	queue->count++;
}

static struct held take(struct queue *queue)
{
	struct held first = queue->ring[queue->head];

	queue->head = (queue->head + 1) % queue->values[LIMIT];
	queue->count--;
	return first;
}

static int32_t dequeue(void *it, uint64_t now, uint64_t *id, const struct gq_own_host *host)
{
	struct queue *queue = it;
	struct held first;

	if (queue->count == 0)
		return 0;
	first = take(queue);
	if (now - first.arrived <= queue->values[TARGET]) {
		queue->next_signal = now + queue->values[INTERVAL];
	} else if (now >= queue->next_signal && queue->count > 0) {
		queue->next_signal = now + queue->values[INTERVAL];
		queue->counters[ENOUGH]++;
		if (!host->mark(host->owner, first.id, GQ_OWN_CODEL)) {
			host->drop(host->owner, first.id, GQ_OWN_CODEL);
			first = take(queue);
		}
	}
	*id = first.id;
	return 1;
}

static void counters(const void *it, uint64_t *values)
{
	const struct queue *queue = it;

	for (int i = 0; i < COUNTERS; i++)
		values[i] = queue->counters[i];
}

GQ_OWN_EXPORT const struct gq_own_queue goodqueue_own_queue = {
	.abi = GQ_OWN_ABI,
	.size = sizeof(struct gq_own_queue),
	.name = "@NAME@",
	.about = "a FIFO that marks or drops what has waited too long",
	.parameters = parameters,
	.parameter_count = PARAMETERS,
	.create = create,
	.destroy = destroy,
	.enqueue = enqueue,
	.dequeue = dequeue,
	/* .next_wake: not needed, since a packet may always leave at once */
	.counter_names = counter_names,
	.counter_count = COUNTERS,
	.counters = counters,
};
