/* A FIFO of 100 packets that breaks a rule: which one, its parameter `wrong` says; 0: none. */
#include <stdlib.h>

#include "goodqueue_own.h"

/* What the tests compile another table with. */
#ifndef TABLE_ABI
#define TABLE_ABI GQ_OWN_ABI
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(struct gq_own_queue)
#endif
#ifndef TABLE_ENQUEUE
#define TABLE_ENQUEUE enqueue
#endif

enum {
	NOTHING,
	TWICE,	     /* gives a packet twice */
	INVENTED,    /* gives a packet that it never got */
	LOST,	     /* forgets a packet */
	WITHHELD,    /* says that a packet may leave, and gives none */
	PAST,	     /* next_wake is in the past */
	EARLY,	     /* gives packets before the time of next_wake */
	UNBOUNDED,   /* has no limit */
	GLOBAL,	     /* decides by what all its queues did */
	GIVES_UP,    /* fails at the tenth packet */
	REFUSES,     /* create fails */
	SILENT,	     /* create fails without a reason */
	REASON,	     /* drops for a reason that there is not */
	DROPS_TWICE, /* drops a packet twice */
	MARKS_GONE,  /* marks a packet that it has given */
};

static const struct gq_own_parameter parameters[] = {
	{ "wrong", "what it does wrong", GQ_OWN_COUNT, NOTHING, 0, 99 },
};

struct held {
	struct held *next;
	uint64_t id;
};

struct queue {
	uint64_t wrong, arrived, count, last;
	struct held *first, **end;
};

static uint64_t calls_of_all;

static void *create(const uint64_t *values, uint64_t seed, const struct gq_own_host *host)
{
	struct queue *queue;

	(void)seed;
	if (values[0] == REFUSES)
		host->fail(host->owner, "wrong=10 is refused");
	if (values[0] == REFUSES || values[0] == SILENT)
		return NULL;
	queue = calloc(1, sizeof *queue);
	if (queue == NULL)
		abort();
	queue->wrong = values[0];
	queue->end = &queue->first;
	return queue;
}

static uint64_t take(struct queue *queue)
{
	struct held *first = queue->first;
	uint64_t id = first->id;

	queue->first = first->next;
	if (queue->first == NULL)
		queue->end = &queue->first;
	queue->count--;
	free(first);
	return id;
}

static void destroy(void *it)
{
	struct queue *queue = it;

	while (queue->count > 0)
		take(queue);
	free(queue);
}

static void enqueue(void *it, uint64_t now, const struct gq_own_packet *packet, const struct gq_own_host *host)
{
	struct queue *queue = it;
	struct held *held;

	(void)now;
	queue->arrived++;
	calls_of_all++;
	if (queue->wrong == GIVES_UP && queue->arrived == 10)
		host->fail(host->owner, "it counts to ten at most");
	if (queue->wrong == LOST && queue->arrived % 50 == 0)
		return;
	if (queue->count == 100 && queue->wrong != UNBOUNDED) {
		host->drop(host->owner, packet->id, queue->wrong == REASON ? 77 : GQ_OWN_LIMIT);
		if (queue->wrong == DROPS_TWICE)
			host->drop(host->owner, packet->id, GQ_OWN_LIMIT);
		return;
	}
	if (queue->wrong == GLOBAL && calls_of_all % 7 == 0) {
		host->drop(host->owner, packet->id, GQ_OWN_RED);
		return;
	}
	held = malloc(sizeof *held);
	if (held == NULL)
		abort();
	held->next = NULL;
	held->id = packet->id;
	*queue->end = held;
	queue->end = &held->next;
	queue->count++;
}

static int32_t dequeue(void *it, uint64_t now, uint64_t *id, const struct gq_own_host *host)
{
	struct queue *queue = it;

	(void)now;
	if (queue->wrong == TWICE && queue->last != 0) {
		*id = queue->last;
		queue->last = 0;
		return 1;
	}
	if (queue->count == 0 || (queue->wrong == WITHHELD && queue->count < 5))
		return 0;
	if (queue->wrong == MARKS_GONE && queue->last != 0)
		host->mark(host->owner, queue->last, GQ_OWN_CODEL);
	*id = take(queue);
	queue->last = *id;
	if (queue->wrong == INVENTED && *id == 20)
		*id = 123456789;
	return 1;
}

static uint64_t next_wake(const void *it, uint64_t now)
{
	const struct queue *queue = it;

	if (queue->count == 0)
		return GQ_OWN_NEVER;
	if (queue->wrong == PAST && now > 0)
		return now - 1;
	if (queue->wrong == EARLY)
		return now + 1000000;
	return now;
}

GQ_OWN_EXPORT const struct gq_own_queue goodqueue_own_queue = {
	.abi = TABLE_ABI,
	.size = TABLE_SIZE,
	.name = "wrong",
	.about = "a FIFO that breaks a rule",
	.parameters = parameters,
	.parameter_count = 1,
	.create = create,
	.destroy = destroy,
	.enqueue = TABLE_ENQUEUE,
	.dequeue = dequeue,
	.next_wake = next_wake,
};
