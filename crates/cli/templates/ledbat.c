/*
 * @NAME@: LEDBAT (RFC 6817), which yields to others: it holds the delay that queues add at `target`.
 *
 * The window grows by at most one segment a round trip while the delay is below the target, and shrinks as fast above
 * it (section 2.4.2, with GAIN 1). It measures round trips; the RFC measures one-way delays, which leave out the queues
 * of the way back.
 *
 *	make check
 *	goodqueue run rrul_var --flows 2 --cc ./@NAME@.so,cubic --queue pfifo:1000
 */
#include <stdlib.h>

#include "goodqueue_own.h"

enum { TARGET, PARAMETERS };

static const struct gq_own_parameter parameters[PARAMETERS] = {
	[TARGET] = { "target", "the delay that queues add", GQ_OWN_TIME, 60000000, 1000000, 100000000 },
};

/* The least window, segments (MIN_CWND). */
#define LEAST 2

struct ledbat {
	int64_t target;
	int64_t credit;	   /* growth of less than a segment, in ns times segments */
	int is_slow_start; /* until the first loss, or until a quarter of the target is reached */
};

static void ack(void *it, uint64_t now, const struct gq_own_ack *ack, struct gq_own_window *window,
		const struct gq_own_host *host)
{
	struct ledbat *ledbat = it;
	int64_t delay, whole;

	(void)now, (void)host;
	if (ack->rtt == 0 || ack->in_recovery)
		return;
	delay = (int64_t)(ack->rtt - window->min_rtt);
	/* What is on the way by then doubles it, and doubles it again. */
	if (delay > ledbat->target / 4)
		ledbat->is_slow_start = 0;
	if (ledbat->is_slow_start) {
		window->cwnd += window->is_limited ? ack->acked : 0;
		return;
	}
	/* Off the target by its whole length in either direction at most. */
	if (delay > 2 * ledbat->target)
		delay = 2 * ledbat->target;
	if (delay < ledbat->target && !window->is_limited)
		return;
	ledbat->credit += (ledbat->target - delay) * (int64_t)ack->acked;
	whole = ledbat->credit / (ledbat->target * (int64_t)window->cwnd);
	ledbat->credit -= whole * ledbat->target * (int64_t)window->cwnd;
	if ((int64_t)window->cwnd + whole >= LEAST)
		window->cwnd += (uint64_t)whole;
	else
		window->cwnd = LEAST;
}

static void event(void *it, uint64_t now, uint32_t event, struct gq_own_window *window,
		  const struct gq_own_host *host)
{
	struct ledbat *ledbat = it;

	(void)now, (void)host;
	if (event == GQ_OWN_LOST || event == GQ_OWN_MARKED) {
		window->cwnd = window->prior_cwnd / 2 > LEAST ? window->prior_cwnd / 2 : LEAST;
		ledbat->is_slow_start = 0;
	}
}

static void *create(const uint64_t *values, const struct gq_own_host *host)
{
	struct ledbat *ledbat = calloc(1, sizeof *ledbat);

	if (ledbat == NULL) {
		host->fail(host->owner, "no memory");
		return NULL;
	}
	ledbat->target = (int64_t)values[TARGET];
	ledbat->is_slow_start = 1;
	return ledbat;
}

GQ_OWN_EXPORT const struct gq_own_cc goodqueue_own_cc = {
	.abi = GQ_OWN_CC_ABI,
	.size = sizeof(struct gq_own_cc),
	.name = "@NAME@",
	.about = "LEDBAT: yields to others",
	.parameters = parameters,
	.parameter_count = PARAMETERS,
	.create = create,
	.destroy = free,
	.ack = ack,
	.event = event,
};
