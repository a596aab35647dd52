/*
 * @NAME@: TCP Vegas (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995).
 *
 * Once a round trip it computes how many of its segments wait in queues: the window times the part of the round trip
 * that is above the least one. It holds them between `alpha` and `beta`. A loss halves the window, as in Reno.
 *
 *	make check
 *	goodqueue run tcp_1up --cc ./@NAME@.so --queue pfifo:1000
 */
#include <stdlib.h>

#include "goodqueue_own.h"

enum { ALPHA, BETA, PARAMETERS };

static const struct gq_own_parameter parameters[PARAMETERS] = {
	[ALPHA] = { "alpha", "fewest segments in queues", GQ_OWN_COUNT, 2, 1, 1000 },
	[BETA] = { "beta", "most segments in queues", GQ_OWN_COUNT, 4, 1, 1000 },
};

struct vegas {
	uint64_t alpha, beta;
	uint64_t ssthresh;
	uint64_t round;	     /* a round trip is over when what was sent at this count of `delivered` has arrived */
	uint64_t round_rtt;  /* the least round-trip time in it; 0: none */
	int is_growing;	     /* in slow start: every other round trip */
};

static void ack(void *it, uint64_t now, const struct gq_own_ack *ack, struct gq_own_window *window,
		const struct gq_own_host *host)
{
	struct vegas *vegas = it;
	uint64_t queued;

	(void)now, (void)host;
	if (ack->in_recovery)
		return;
	if (ack->rtt != 0 && (vegas->round_rtt == 0 || ack->rtt < vegas->round_rtt))
		vegas->round_rtt = ack->rtt;
	if (window->cwnd < vegas->ssthresh && vegas->is_growing && window->is_limited)
		window->cwnd += ack->acked;
	if (ack->prior_delivered < vegas->round || vegas->round_rtt == 0)
		return;

	/* The next round trip begins. */
	vegas->round = window->delivered;
	queued = window->cwnd * (vegas->round_rtt - window->min_rtt) / vegas->round_rtt;
	vegas->round_rtt = 0;
	vegas->is_growing = !vegas->is_growing;
	if (window->cwnd < vegas->ssthresh) {
		if (queued > vegas->beta) {
			/* The end of slow start: what waits is too much. */
			window->cwnd -= window->cwnd > queued + 2 ? queued : 0;
			vegas->ssthresh = window->cwnd;
		}
	} else if (queued > vegas->beta && window->cwnd > 2) {
		window->cwnd--;
	} else if (queued < vegas->alpha && window->is_limited) {
		window->cwnd++;
	}
}

static void event(void *it, uint64_t now, uint32_t event, struct gq_own_window *window,
		  const struct gq_own_host *host)
{
	struct vegas *vegas = it;
	uint64_t half = window->prior_cwnd / 2;

	(void)now, (void)host;
	if (event == GQ_OWN_LOST || event == GQ_OWN_MARKED || event == GQ_OWN_TIMEOUT)
		vegas->ssthresh = half > 2 ? half : 2;
	if (event == GQ_OWN_LOST || event == GQ_OWN_MARKED)
		window->cwnd = vegas->ssthresh;
}

static void *create(const uint64_t *values, const struct gq_own_host *host)
{
	struct vegas *vegas = calloc(1, sizeof *vegas);

	if (values[ALPHA] > values[BETA] || vegas == NULL) {
		host->fail(host->owner, vegas == NULL ? "no memory" : "alpha is above beta");
		free(vegas);
		return NULL;
	}
	vegas->alpha = values[ALPHA];
	vegas->beta = values[BETA];
	vegas->ssthresh = UINT64_MAX;
	vegas->is_growing = 1;
	return vegas;
}

GQ_OWN_EXPORT const struct gq_own_cc goodqueue_own_cc = {
	.abi = GQ_OWN_CC_ABI,
	.size = sizeof(struct gq_own_cc),
	.name = "@NAME@",
	.about = "TCP Vegas: holds a few segments in queues",
	.parameters = parameters,
	.parameter_count = PARAMETERS,
	.create = create,
	.destroy = free,
	.ack = ack,
	.event = event,
};
