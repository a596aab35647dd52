/* A congestion control that does something wrong: what, its parameter `wrong` says; 0: nothing. */
#include <stdlib.h>

#include "goodqueue_own.h"

enum {
	NOTHING,
	GIVES_UP, /* fails at the tenth ACK */
	STANDS,	  /* holds its window at one segment, paced at 1 kbit/s */
	ABSURD,	  /* sets a window of 2^40 segments */
	GLOBAL,	  /* decides by what all its connections did */
	REFUSES,  /* create fails */
	DROPS,	  /* calls what is for queues */
	TIMED,	  /* nothing: its window grows by a segment each 10 ms, by a timer, whatever ACKs say */
};

/* A table that says that it is of another version. */
#ifndef ABI
#define ABI GQ_OWN_CC_ABI
#endif

static const struct gq_own_parameter parameters[] = {
	{ "wrong", "what it does wrong", GQ_OWN_COUNT, NOTHING, 0, 9 },
};

struct cc {
	uint64_t wrong, acks;
};

static uint64_t acks_of_all;

static void ack(void *it, uint64_t now, const struct gq_own_ack *ack, struct gq_own_window *window,
		const struct gq_own_host *host)
{
	struct cc *cc = it;

	(void)now, (void)ack;
	cc->acks++;
	acks_of_all++;
	if (cc->wrong != TIMED)
		window->cwnd = 50;
	if (cc->wrong == GIVES_UP && cc->acks == 10)
		host->fail(host->owner, "it counts to ten at most");
	if (cc->wrong == STANDS) {
		window->cwnd = 1;
		window->pacing_bps = 1000;
	}
	if (cc->wrong == ABSURD)
		window->cwnd = (uint64_t)1 << 40;
	if (cc->wrong == GLOBAL)
		window->cwnd = acks_of_all > 100 ? 20 : 10;
	if (cc->wrong == DROPS)
		host->drop(host->owner, 1, GQ_OWN_LIMIT);
}

static void event(void *it, uint64_t now, uint32_t event, struct gq_own_window *window,
		  const struct gq_own_host *host)
{
	const struct cc *cc = it;

	(void)host;
	if (cc->wrong != TIMED || (event != GQ_OWN_START && event != GQ_OWN_TIMER))
		return;
	window->cwnd = event == GQ_OWN_START ? 1 : window->cwnd + 1;
	window->timer = now + 10000000;
}

static void *create(const uint64_t *values, const struct gq_own_host *host)
{
	struct cc *cc;

	if (values[0] == REFUSES) {
		host->fail(host->owner, "wrong=5 is refused");
		return NULL;
	}
	cc = calloc(1, sizeof *cc);
	if (cc == NULL)
		abort();
	cc->wrong = values[0];
	return cc;
}

GQ_OWN_EXPORT const struct gq_own_cc goodqueue_own_cc = {
	.abi = ABI,
	.size = sizeof(struct gq_own_cc),
	.name = "wrong",
	.about = "a congestion control that does something wrong",
	.parameters = parameters,
	.parameter_count = 1,
	.create = create,
	.destroy = free,
	.ack = ack,
	.event = event,
};
