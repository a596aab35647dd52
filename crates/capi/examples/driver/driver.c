/*
 * A network driver over a simulated descriptor ring, with byte queue limits (BQL).
 *
 * The driver is simple: transmit function, completion routine, open, stop. BQL adds six lines to it, each
 * marked "BQL". The rest of the file is the device, and a run of the driver over it: first a correct one,
 * then with each of the mistakes that hang a driver with Linux's BQL. The library detects and counts these
 * mistakes and recovers from them.
 *
 *     driver            the run; prints what BQL did and what it detected; exits with 0 if all is well
 */
#include <stdint.h>
#include <stdio.h>

#include "goodqueue.h"

#define RING 256u         /* descriptors */
#define LINE 100000000u   /* bit/s */
#define LATENCY 100000u   /* ns from the end of a packet to the completion routine, at most */
#define ETH_ZLEN 60u      /* shortest frame without FCS: the device pads to it */

/* The mistake in the driver. */
enum mistake { NOTHING, PADDED_AT_ONE_END, COMPLETES_TWICE, FORGETS_RESET };

struct descriptor {
	uint32_t len;      /* of the frame */
	uint32_t reported; /* bytes reported to BQL at transmit: the completion must report the same */
};

struct ring {
	struct descriptor descriptors[RING];
	uint32_t head, tail;      /* free running: packets put in, packets cleaned */
	uint32_t sent;            /* the device: packets that are on the wire or have left it */
	uint64_t wire_free;       /* the device: when the wire is free, ns */
	int stopped;              /* the queue above is stopped */
	enum mistake mistake;
	struct gq_bql bql;        /* BQL: one per ring */
	uint32_t errors;          /* of gq_bql_ calls */
};

static void note(struct ring *ring, int32_t result, const char *where)
{
	if (result < 0 && ring->errors++ == 0) {
		printf("    %s: %s\n", where, gq_strerror(result));
	}
}

/* ---- the driver ---------------------------------------------------------------------------------------- */

static void driver_xmit(struct ring *ring, uint32_t len)
{
	struct descriptor *descriptor = &ring->descriptors[ring->head++ % RING];
	int32_t result;

	descriptor->len = len;
	descriptor->reported = len < ETH_ZLEN ? ETH_ZLEN : len; /* what the device will send */
	if (ring->mistake == PADDED_AT_ONE_END) {
		descriptor->reported = len;
	}
	result = gq_bql_sent(&ring->bql, descriptor->reported, ring->head - ring->tail); /* BQL: sent */
	note(ring, result, "xmit");
	ring->stopped = result == GQ_STOP || ring->head - ring->tail == RING;          /* BQL: stop */
}

static void driver_clean(struct ring *ring, uint64_t now)
{
	uint32_t packets = 0, bytes = 0;
	int32_t result;

	while (ring->tail != ring->sent) {
		struct descriptor *descriptor = &ring->descriptors[ring->tail++ % RING];
		bytes += ring->mistake == PADDED_AT_ONE_END && descriptor->len < ETH_ZLEN ? ETH_ZLEN
											  : descriptor->reported;
		packets++; /* BQL: counts, with bytes above */
	}
	if (ring->mistake == COMPLETES_TWICE && packets > 0) {
		note(ring, gq_bql_completed(&ring->bql, now, packets, bytes), "clean");
	}
	result = gq_bql_completed(&ring->bql, now, packets, bytes); /* BQL: completed */
	note(ring, result, "clean");
	if (result != 0) { /* BQL: GQ_WAKE, or an error that was put right */
		ring->stopped = 0;
	}
}

static void driver_stop(struct ring *ring, uint64_t now)
{
	int32_t result;

	ring->tail = ring->head; /* frees the packets in the ring */
	ring->sent = ring->head;
	ring->wire_free = now;
	if (ring->mistake != FORGETS_RESET) {
		result = gq_bql_reset(&ring->bql, now); /* BQL: reset */
		note(ring, result, "stop");
	}
	ring->stopped = 0; /* the next open starts the queue */
}

/* ---- the device ---------------------------------------------------------------------------------------- */

static uint64_t frame_time(uint32_t len)
{
	/* Padding, then preamble, FCS and gap: 24 bytes. */
	return (uint64_t)((len < ETH_ZLEN ? ETH_ZLEN : len) + 24) * 8 * UINT64_C(1000000000) / LINE;
}

/* Sends until `now`; the completion routine runs later. */
static void device_run(struct ring *ring, uint64_t now)
{
	while (ring->sent != ring->head && ring->wire_free <= now) {
		ring->wire_free += frame_time(ring->descriptors[ring->sent++ % RING].len);
	}
	if (ring->sent == ring->head && ring->wire_free < now) {
		ring->wire_free = now;
	}
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) % n);
}

struct outcome {
	uint64_t packets, bytes; /* that left the wire */
	uint64_t most;           /* most bytes in the ring after the first half second */
	uint64_t longest_stop;   /* longest time without a packet to the ring, ns */
	struct gq_bql_state bql;
};

/* Bytes in the ring, including those that wait for the completion routine. */
static uint64_t in_ring(const struct ring *ring)
{
	uint64_t bytes = 0;
	uint32_t at;

	for (at = ring->tail; at != ring->head; at++) {
		bytes += ring->descriptors[at % RING].len;
	}
	return bytes;
}

/* Two seconds: there is always a packet to send; the completion routine runs every LATENCY; twice a second
 * the interface goes down and up during transmission. */
static struct outcome run(struct ring *ring, enum mistake mistake, uint32_t limit_min)
{
	struct outcome outcome = {0, 0, 0, 0, {0}};
	struct gq_bql_config config;
	uint64_t now, last_sent = 0, bytes = 0;
	uint32_t next = 0;

	*ring = (struct ring){0};
	ring->mistake = mistake;
	config.size = sizeof config;
	if (gq_bql_config_default(&config) != 0) {
		return outcome;
	}
	config.ring = RING;
	config.min_limit = limit_min;
	if (gq_bql_init(&ring->bql, sizeof ring->bql, &config, 0) != 0) {
		return outcome;
	}
	for (now = 1000; now < UINT64_C(2000000000); now += 1000) {
		while (!ring->stopped && ring->head - ring->tail < RING) {
			next = below(4) == 0 ? 42 : 1514;
			driver_xmit(ring, next);
			bytes += next;
			last_sent = now;
		}
		if (now - last_sent > outcome.longest_stop) {
			outcome.longest_stop = now - last_sent;
		}
		device_run(ring, now);
		if (now % LATENCY == 0) {
			uint32_t before = ring->tail;
			driver_clean(ring, now);
			outcome.packets += ring->tail - before;
			for (; before != ring->tail; before++) {
				outcome.bytes += ring->descriptors[before % RING].len;
			}
		}
		if (now % 500000000 == 250000000) {
			driver_stop(ring, now);
		}
		if (now > 500000000 && in_ring(ring) > outcome.most) {
			outcome.most = in_ring(ring);
		}
	}
	outcome.bql.size = sizeof outcome.bql;
	note(ring, gq_bql_state(&ring->bql, &outcome.bql), "state");
	return outcome;
}

static int is_wrong(const char *what, int wrong)
{
	if (wrong) {
		printf("    WRONG: %s\n", what);
	}
	return wrong;
}

static int report(const char *name, struct ring *ring, enum mistake mistake, uint32_t limit_min)
{
	/* What the line sends during two completion intervals, plus a packet at either end. */
	const uint64_t most = 2 * (uint64_t)LINE / 8 * LATENCY / 1000000000 + 2 * 1514;
	struct outcome outcome;
	int wrong = 0;

	printf("%s\n", name);
	outcome = run(ring, mistake, limit_min);
	printf("    %llu packets, %llu bytes, at most %llu bytes in the ring, longest stop %llu us\n",
	       (unsigned long long)outcome.packets, (unsigned long long)outcome.bytes,
	       (unsigned long long)outcome.most, (unsigned long long)(outcome.longest_stop / 1000));
	printf("    found: %llu over, %llu mismatches, %llu missed\n", (unsigned long long)outcome.bql.over,
	       (unsigned long long)outcome.bql.mismatches, (unsigned long long)outcome.bql.missed);
	/* Two seconds at 100 Mbit/s are 25 MB with all overheads; the line must be busy with every mistake. */
	wrong |= is_wrong("the line was idle", outcome.bytes < 22000000);
	wrong |= is_wrong("the driver hung", outcome.longest_stop > 10000000);
	wrong |= is_wrong("a false error", mistake == NOTHING && ring->errors != 0);
	wrong |= is_wrong("padding was not found", mistake == PADDED_AT_ONE_END && outcome.bql.mismatches == 0);
	wrong |= is_wrong("completing twice was not found", mistake == COMPLETES_TWICE && outcome.bql.over == 0);
	wrong |= is_wrong("the resets were not found", mistake == FORGETS_RESET && outcome.bql.missed == 0);
	wrong |= is_wrong("the ring is bloated",
			  limit_min == 0 && (mistake == NOTHING || mistake == FORGETS_RESET) &&
				  outcome.most > most);
	return wrong;
}

int main(void)
{
	static struct ring ring;
	int wrong = 0;

	if (gq_abi_version() != GQ_ABI_VERSION) {
		printf("goodqueue.h and the library are of different versions\n");
		return 1;
	}
	wrong |= report("without BQL (limit_min 10000000): the whole ring fills", &ring, NOTHING, 10000000);
	wrong |= report("with BQL", &ring, NOTHING, 0);
	wrong |= report("with BQL, padding counted by the completion alone", &ring, PADDED_AT_ONE_END, 0);
	wrong |= report("with BQL, every completion reported twice", &ring, COMPLETES_TWICE, 0);
	wrong |= report("with BQL, the reset forgotten", &ring, FORGETS_RESET, 0);
	printf("%s\n", wrong ? "FAILED" : "as it should be");
	return wrong;
}
