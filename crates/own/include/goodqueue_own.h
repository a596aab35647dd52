/*
 * goodqueue_own.h: a queue or a congestion control of your own for Goodqueue, in a shared library.
 *
 * For a queue the library exports one constant, a table of functions (for a congestion control: see below):
 *
 *	GQ_OWN_EXPORT const struct gq_own_queue goodqueue_own_queue = {
 *		.abi = GQ_OWN_ABI,
 *		.size = sizeof(struct gq_own_queue),
 *		.name = "my_aqm",
 *		...
 *	};
 *
 * `goodqueue new queue my_aqm --lang c` writes a queue that works, `goodqueue check-queue ./my_aqm.so` checks
 * one, and `goodqueue run rrul --queue ./my_aqm.so,limit=100,fq_codel` compares one. C99 and C++17.
 *
 * Times are in nanoseconds, from a clock of Goodqueue's that never goes back. There are many queues at a time,
 * one for each direction and each simulation. Calls for one queue never overlap, calls for two may: a library
 * keeps everything in its queues and nothing in global variables.
 *
 * Licence: MIT or Apache-2.0, at your option.
 */
#ifndef GOODQUEUE_OWN_H
#define GOODQUEUE_OWN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of this border. A library with another one is refused: compile it again with this header. Queues and
 * congestion controls have versions of their own. A congestion control of version 1, without a timer, still runs.
 */
#define GQ_OWN_ABI 1u
#define GQ_OWN_CC_ABI 2u

/* Before the definition of the table: the loader finds it. */
#ifdef __cplusplus
#define GQ_OWN_LINKAGE extern "C"
#else
#define GQ_OWN_LINKAGE
#endif
#if defined(_WIN32)
#define GQ_OWN_EXPORT GQ_OWN_LINKAGE __declspec(dllexport)
#else
#define GQ_OWN_EXPORT GQ_OWN_LINKAGE __attribute__((visibility("default")))
#endif

/* Units of parameters, and how a user writes them. */
#define GQ_OWN_COUNT 0u /* a whole number: 100 */
#define GQ_OWN_BYTES 1u /* tc's words: 15000, 64k, 1m (powers of 1024) */
#define GQ_OWN_TIME 2u	/* nanoseconds: 5ms, 100us, 1.5s */
#define GQ_OWN_RATE 3u	/* bits per second: 20mbit, 500kbit */

/* A parameter. Goodqueue reads it, checks its range, and says what is wrong. */
struct gq_own_parameter {
	const char *name;  /* small letters, digits and _ */
	const char *about; /* one line */
	uint64_t unit;	   /* GQ_OWN_COUNT and so on */
	uint64_t initial;  /* if the user gives none */
	uint64_t least;
	uint64_t most;
};

/* Why a packet is dropped or marked. The numbers are those of GQ_REASON_* in goodqueue.h where it has them. */
#define GQ_OWN_LIMIT 1u		/* the limit of the queue in packets or bytes */
#define GQ_OWN_MEMORY 2u	/* the limit of the queue in memory */
#define GQ_OWN_CODEL 3u		/* a control law on sojourn time */
#define GQ_OWN_TOOBIG 4u	/* longer than the queue can ever send */
#define GQ_OWN_CHANGE 5u	/* a parameter was changed */
#define GQ_OWN_RESET 6u		/* the queue was reset */
#define GQ_OWN_FLUSH 7u		/* its station is gone */
#define GQ_OWN_BLUE 8u		/* BLUE */
#define GQ_OWN_ACK 9u		/* a later acknowledgement made it redundant */
#define GQ_OWN_FILTER 10u	/* a classifier refused it */
#define GQ_OWN_PIE 11u		/* a drop probability from the delay (PIE) */
#define GQ_OWN_PI2 12u		/* a coupled drop probability (dualpi2) */
#define GQ_OWN_RED 13u		/* random early detection */
#define GQ_OWN_REHASH 14u	/* no room for its flow after a change of the hash */
#define GQ_OWN_FLOW_LIMIT 15u	/* the limit of one flow */
#define GQ_OWN_HORIZON 16u	/* its departure time is too far in the future */
#define GQ_OWN_CE_THRESHOLD 17u /* the sojourn time was above a threshold: marked */
#define GQ_OWN_STEP 18u		/* the backlog was above a threshold: marked */
#define GQ_OWN_LOSS 19u		/* a loss model */

/* A packet as the queue sees it. The packet itself stays with Goodqueue. */
struct gq_own_packet {
	uint64_t id;	    /* its number, unlike that of every other packet of this queue */
	uint32_t len;	    /* bytes with the layer-2 header, without FCS */
	uint32_t truesize;  /* bytes that it occupies in memory (Linux skb->truesize) */
	uint32_t flow_hash; /* hash of the 5-tuple, equal for all packets of a flow */
	uint32_t dsfield;   /* the DS byte on arrival: DSCP in the high six bits, ECN in the low two */
};

/* What a queue may ask of Goodqueue. It is valid until the call that got it returns. */
struct gq_own_host {
	void *owner; /* the first argument of each function here */

	/* Drops a packet: one that this call of enqueue gives, or one that the queue holds. */
	void (*drop)(void *owner, uint64_t id, uint32_t reason);

	/*
	 * Marks such a packet with Congestion Experienced. Returns 1, or 0 if its sender does not speak ECN:
	 * then it is not marked, and the queue may drop it instead.
	 */
	int32_t (*mark)(void *owner, uint64_t id, uint32_t reason);

	/* Ends the run with this message. `create` says with it what is wrong with the parameters. */
	void (*fail)(void *owner, const char *why);
};

/* No time, from next_wake. */
#define GQ_OWN_NEVER UINT64_MAX

/* A kind of queue. */
struct gq_own_queue {
	uint32_t abi;	   /* GQ_OWN_ABI */
	uint32_t size;	   /* sizeof(struct gq_own_queue) */
	const char *name;  /* letters, digits, _ and - */
	const char *about; /* one line */

	const struct gq_own_parameter *parameters; /* may be NULL if there is none */
	uint64_t parameter_count;		   /* 32 at most */

	/*
	 * Makes a queue. `values` has a number for each parameter, in their order. `seed` is for its random
	 * decisions: a run repeats only if it uses no others. Returns NULL after host->fail.
	 */
	void *(*create)(const uint64_t *values, uint64_t seed, const struct gq_own_host *host);

	/* Frees a queue, whatever it holds. */
	void (*destroy)(void *queue);

	/* Takes a packet, or drops it or others to make room. */
	void (*enqueue)(void *queue, uint64_t now, const struct gq_own_packet *packet, const struct gq_own_host *host);

	/*
	 * Puts the number of the next packet that may leave at `now` into `*id` and returns 1, or returns 0. It may
	 * drop and mark packets. Every packet leaves exactly once: from here, or dropped.
	 */
	int32_t (*dequeue)(void *queue, uint64_t now, uint64_t *id, const struct gq_own_host *host);

	/*
	 * The earliest time at which dequeue can give a packet if nothing else arrives: exact, not a hint. It is asked
	 * only while the queue holds a packet, and changes nothing. NULL: at once, always. A queue that holds packets
	 * back (a shaper) needs it.
	 */
	uint64_t (*next_wake)(const void *queue, uint64_t now);

	/* Counters for the record: their names, and a function that writes as many values. */
	const char *const *counter_names; /* may be NULL if there is none */
	uint64_t counter_count;		  /* 32 at most */
	void (*counters)(const void *queue, uint64_t *values);
};

/*
 * A congestion control of your own, for TCP in the simulator. The library exports
 *
 *	GQ_OWN_EXPORT const struct gq_own_cc goodqueue_own_cc = { .abi = GQ_OWN_CC_ABI, ... };
 *
 * `goodqueue new cc my_cc` writes one, `goodqueue check-cc ./my_cc.so` checks one, and
 * `goodqueue run rrul_var --cc ./my_cc.so:keep=70,cubic` compares one. Windows are in segments. ACKs are the
 * clock, as in Linux, and a retransmission timeout is an event. Unlike Linux there is a timer: `timer` of the window.
 */

/* What is not an ACK. */
#define GQ_OWN_START 0u	    /* the connection is established */
#define GQ_OWN_LOST 1u	    /* a loss was found, and is repaired from here on: once for each recovery */
#define GQ_OWN_MARKED 2u    /* the peer echoes a mark (ECN): once a round trip at most */
#define GQ_OWN_TIMEOUT 3u   /* a retransmission timeout; the sender has set the window to what is in flight plus 1 */
#define GQ_OWN_RECOVERED 4u /* the end of LOST, MARKED or TIMEOUT */
#define GQ_OWN_IDLE 5u	    /* the window was reset after idle time */
#define GQ_OWN_TIMER 6u	    /* the time that `timer` was set to has come */

/* The connection, at each call. `cwnd`, `pacing_bps` and `timer` are read and may be set, the others are read. */
struct gq_own_window {
	uint64_t cwnd;	     /* congestion window; the sender keeps it at 1 or more */
	uint64_t pacing_bps; /* rate at which segments may leave, in bit/s; 0: not paced */
	uint64_t prior_cwnd; /* window before LOST, MARKED or TIMEOUT */
	uint64_t in_flight;  /* segments */
	uint64_t delivered;  /* segments since the beginning */
	uint64_t srtt;	     /* smoothed round-trip time, ns; 0: none so far */
	uint64_t min_rtt;    /* least round-trip time of the last 300 s, ns; 0: none so far */
	uint32_t mss;	     /* payload bytes of a full segment */
	uint32_t is_limited; /* 1: the window limits the sender, so that it may grow; 0: the application does */
	uint64_t timer;	     /* when GQ_OWN_TIMER is to come, ns; 0, and at GQ_OWN_TIMER: none. A time that is not in the
				future is none. Since version 2 */
};

/* What an ACK says. */
struct gq_own_ack {
	uint64_t acked;		  /* segments newly delivered */
	uint64_t lost;		  /* segments newly found lost */
	uint64_t marked;	  /* how many of those delivered were marked; only with GQ_OWN_SCALABLE */
	uint64_t rtt;		  /* round-trip time of this ACK, ns; 0: it gave none */
	uint64_t prior_delivered; /* `delivered` when the newest segment acknowledged was sent: a round trip ago */
	uint64_t rate_bps;	  /* delivery rate, bit/s of payload; 0: no sample */
	uint32_t is_app_limited;  /* 1: the sample was taken while the application had nothing to send */
	uint32_t in_recovery;	  /* 1: between LOST or TIMEOUT and RECOVERED */
};

/* It responds to how many packets are marked: accurate feedback of ECN (RFC 9768), and ECT(1) (RFC 9331). */
#define GQ_OWN_SCALABLE 1u

/* A kind of congestion control. Of the host, `fail` is for it. */
struct gq_own_cc {
	uint32_t abi;	   /* GQ_OWN_CC_ABI */
	uint32_t size;	   /* sizeof(struct gq_own_cc) */
	const char *name;  /* letters, digits, _ and - */
	const char *about; /* one line */

	const struct gq_own_parameter *parameters; /* may be NULL if there is none */
	uint64_t parameter_count;		   /* 32 at most */
	uint64_t flags;				   /* GQ_OWN_SCALABLE or 0 */

	/* Makes the congestion control of a connection. Returns NULL after host->fail. */
	void *(*create)(const uint64_t *values, const struct gq_own_host *host);

	/* Frees it. */
	void (*destroy)(void *cc);

	/* An ACK, in any state. */
	void (*ack)(void *cc, uint64_t now, const struct gq_own_ack *ack, struct gq_own_window *window,
		    const struct gq_own_host *host);

	/* Something that is not an ACK: GQ_OWN_START and so on. */
	void (*event)(void *cc, uint64_t now, uint32_t event, struct gq_own_window *window,
		      const struct gq_own_host *host);
};

#ifdef __cplusplus
}
#endif

#endif
