/* Prints the size of each struct of goodqueue_own.h and the offset of each field, C99 and C++17. */
#include <stddef.h>
#include <stdio.h>

#include "goodqueue_own.h"

#define SIZE(type) printf(#type " %zu\n", sizeof(struct type))
#define FIELD(type, field) printf(#type "." #field " %zu\n", offsetof(struct type, field))

int main(void)
{
	SIZE(gq_own_parameter);
	FIELD(gq_own_parameter, name);
	FIELD(gq_own_parameter, about);
	FIELD(gq_own_parameter, unit);
	FIELD(gq_own_parameter, initial);
	FIELD(gq_own_parameter, least);
	FIELD(gq_own_parameter, most);
	SIZE(gq_own_packet);
	FIELD(gq_own_packet, id);
	FIELD(gq_own_packet, len);
	FIELD(gq_own_packet, truesize);
	FIELD(gq_own_packet, flow_hash);
	FIELD(gq_own_packet, dsfield);
	SIZE(gq_own_host);
	FIELD(gq_own_host, owner);
	FIELD(gq_own_host, drop);
	FIELD(gq_own_host, mark);
	FIELD(gq_own_host, fail);
	SIZE(gq_own_queue);
	FIELD(gq_own_queue, abi);
	FIELD(gq_own_queue, size);
	FIELD(gq_own_queue, name);
	FIELD(gq_own_queue, about);
	FIELD(gq_own_queue, parameters);
	FIELD(gq_own_queue, parameter_count);
	FIELD(gq_own_queue, create);
	FIELD(gq_own_queue, destroy);
	FIELD(gq_own_queue, enqueue);
	FIELD(gq_own_queue, dequeue);
	FIELD(gq_own_queue, next_wake);
	FIELD(gq_own_queue, counter_names);
	FIELD(gq_own_queue, counter_count);
	FIELD(gq_own_queue, counters);
	SIZE(gq_own_window);
	FIELD(gq_own_window, cwnd);
	FIELD(gq_own_window, pacing_bps);
	FIELD(gq_own_window, prior_cwnd);
	FIELD(gq_own_window, in_flight);
	FIELD(gq_own_window, delivered);
	FIELD(gq_own_window, srtt);
	FIELD(gq_own_window, min_rtt);
	FIELD(gq_own_window, mss);
	FIELD(gq_own_window, is_limited);
	FIELD(gq_own_window, timer);
	SIZE(gq_own_ack);
	FIELD(gq_own_ack, acked);
	FIELD(gq_own_ack, lost);
	FIELD(gq_own_ack, marked);
	FIELD(gq_own_ack, rtt);
	FIELD(gq_own_ack, prior_delivered);
	FIELD(gq_own_ack, rate_bps);
	FIELD(gq_own_ack, is_app_limited);
	FIELD(gq_own_ack, in_recovery);
	SIZE(gq_own_cc);
	FIELD(gq_own_cc, abi);
	FIELD(gq_own_cc, size);
	FIELD(gq_own_cc, name);
	FIELD(gq_own_cc, about);
	FIELD(gq_own_cc, parameters);
	FIELD(gq_own_cc, parameter_count);
	FIELD(gq_own_cc, flags);
	FIELD(gq_own_cc, create);
	FIELD(gq_own_cc, destroy);
	FIELD(gq_own_cc, ack);
	FIELD(gq_own_cc, event);
	return 0;
}
