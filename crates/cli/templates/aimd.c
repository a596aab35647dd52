/*
 * @NAME@: a congestion control of your own for Goodqueue: additive increase, multiplicative decrease (AIMD).
 *
 * After a loss or a mark `keep` percent of the window are left; then it grows by `step` segments a round trip.
 * Change it as you like; goodqueue_own.h has what there is to read and to set.
 *
 *	make check
 *	goodqueue run rrul_var --flows 2 --cc ./@NAME@.so:keep=70,cubic
 */
#include <stdlib.h>

#include "goodqueue_own.h"

enum { KEEP, STEP, PARAMETERS };

static const struct gq_own_parameter parameters[PARAMETERS] = {
	[KEEP] = { "keep", "percent of the window that are left", GQ_OWN_COUNT, 50, 1, 99 },
	[STEP] = { "step", "segments more a round trip", GQ_OWN_COUNT, 1, 1, 100 },
};

struct aimd {
	uint64_t keep, step;
	uint64_t ssthresh; /* below it the window doubles each round trip */
	uint64_t credit;   /* segments acknowledged, times `step`, that have not made the window grow */
};

static void ack(void *it, uint64_t now, const struct gq_own_ack *ack, struct gq_own_window *window,
		const struct gq_own_host *host)
{
	struct aimd *aimd = it;

	(void)now, (void)host;
	if (ack->in_recovery || !window->is_limited)
		return;
	if (window->cwnd < aimd->ssthresh) {
		window->cwnd += ack->acked;
		return;
	}
	aimd->credit += ack->acked * aimd->step;
	window->cwnd += aimd->credit / window->cwnd;
	aimd->credit %= window->cwnd;
}

static void event(void *it, uint64_t now, uint32_t event, struct gq_own_window *window,
		  const struct gq_own_host *host)
{
	struct aimd *aimd = it;
	uint64_t left = window->prior_cwnd * aimd->keep / 100;

	(void)now, (void)host;
	if (event == GQ_OWN_LOST || event == GQ_OWN_MARKED || event == GQ_OWN_TIMEOUT)
		aimd->ssthresh = left > 2 ? left : 2;
	/* After a timeout the sender begins with what is in flight. */
	if (event == GQ_OWN_LOST || event == GQ_OWN_MARKED)
		window->cwnd = aimd->ssthresh;
}

static void *create(const uint64_t *values, const struct gq_own_host *host)
{
	struct aimd *aimd = calloc(1, sizeof *aimd);

	if (aimd == NULL) {
		host->fail(host->owner, "no memory");
		return NULL;
	}
	aimd->keep = values[KEEP];
	aimd->step = values[STEP];
	aimd->ssthresh = UINT64_MAX;
	return aimd;
}

GQ_OWN_EXPORT const struct gq_own_cc goodqueue_own_cc = {
	.abi = GQ_OWN_CC_ABI,
	.size = sizeof(struct gq_own_cc),
	.name = "@NAME@",
	.about = "additive increase, multiplicative decrease",
	.parameters = parameters,
	.parameter_count = PARAMETERS,
	.create = create,
	.destroy = free,
	.ack = ack,
	.event = event,
};
