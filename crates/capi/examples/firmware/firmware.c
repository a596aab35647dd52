/*
 * The transmit queue of a modem's firmware, freestanding: no operating system, no C library, no heap.
 *
 * It holds at most twice what the line sends in a millisecond, shares the line fairly among flows, marks or
 * drops packets that wait too long, and signals "full now" to the host, so that packets wait in the host,
 * which can manage them best. The program runs it over a simulated line and host, checks it, and exits with 0
 * if all is as it should be:
 *
 *   1. a host that obeys "full now", over a line of 50 Mbit/s;
 *   2. the same after the line has fallen to 10 Mbit/s;
 *   3. a host that does not obey.
 */
#include <stddef.h>
#include <stdint.h>

#include "goodqueue.h"

#define SECOND UINT64_C(1000000000)
#define MTU 1514u
#define FLOWS 4u    /* bulk: 0 and 1 full packets with ECN, 2 full packets without, 3 small packets */
#define VOICE FLOWS /* a packet every 20 ms */
#define BUFFERS 64u
#define NONE BUFFERS

/* From start.c. */
void put(const char *text, size_t bytes);
int firmware(void);

/* ---- the firmware -------------------------------------------------------------------------------------- */

/* A frame's buffer in the memory that host and line share. The frame itself does not matter here. */
struct buffer {
	uint32_t next; /* next free buffer */
	uint32_t flow;
};

struct modem {
	struct buffer buffers[BUFFERS];
	uint32_t free;
	struct gq_config config;
	struct gq_queue *queue;
	uint64_t rate; /* of the line, bit/s */
	int full;      /* the signal to the host */
};

static uint64_t memory[8 * 1024 / 8] __attribute__((aligned(GQ_ALIGN)));

static void clear(void *memory_, size_t bytes)
{
	volatile unsigned char *at = memory_;

	while (bytes-- > 0) {
		*at++ = 0;
	}
}

static uint32_t buffer_take(struct modem *modem)
{
	uint32_t index = modem->free;

	if (index != NONE) {
		modem->free = modem->buffers[index].next;
	}
	return index;
}

static void buffer_give(struct modem *modem, uint32_t index)
{
	modem->buffers[index].next = modem->free;
	modem->free = index;
}

/* Handles the result of every call: the signal to the host, and the frames to free. */
static void modem_note(struct modem *modem, int32_t result)
{
	struct gq_drop drops[8];
	int32_t at, taken = 8;

	if (result < 0) {
		return;
	}
	modem->full = (result & GQ_FULL) != 0;
	drops[0].size = sizeof drops[0];
	while ((result & GQ_DROPS) && taken == 8) {
		taken = gq_take_drops(modem->queue, drops, 8);
		for (at = 0; at < taken; at++) {
			buffer_give(modem, (uint32_t)drops[at].cookie);
		}
	}
}

/* Sets the hard limit and the threshold for "full now" to twice what the line sends in a millisecond. */
static int32_t modem_rate(struct modem *modem, uint64_t now, uint64_t rate)
{
	int32_t result = 0;

	modem->rate = rate;
	modem->config.memory_limit = 2 * rate / 8 / 1000;
	modem->config.full = modem->config.memory_limit;
	if (modem->queue != NULL) {
		result = gq_queue_configure(modem->queue, now, &modem->config);
		modem_note(modem, result);
	}
	return result;
}

static int32_t modem_start(struct modem *modem, uint64_t rate)
{
	uint32_t index;
	int32_t result;

	clear(modem, sizeof *modem);
	modem->free = NONE;
	for (index = 0; index < BUFFERS; index++) {
		buffer_give(modem, index);
	}
	modem->config.size = sizeof modem->config;
	result = gq_config_parse("fq_codel limit=32 flows=16 quantum=300 target=1ms interval=20ms", &modem->config, NULL);
	if (result < 0) {
		return result;
	}
	modem->config.mtu = MTU;
	modem_rate(modem, 0, rate);
	return gq_queue_init(memory, sizeof memory, &modem->config, 0, &modem->queue);
}

/* A packet from the host. */
static int32_t modem_take(struct modem *modem, uint64_t now, uint32_t flow, uint32_t len, uint8_t dsfield)
{
	struct gq_packet packet;
	uint32_t index = buffer_take(modem);
	int32_t result;

	if (index == NONE) {
		return GQ_EMEMORY;
	}
	modem->buffers[index].flow = flow;
	packet.size = sizeof packet;
	packet.len = len;
	packet.truesize = len;
	packet.flow_hash = flow << 28;
	packet.cookie = index;
	packet.dsfield = dsfield;
	result = gq_enqueue(modem->queue, now, &packet);
	if (result < 0) {
		buffer_give(modem, index);
	}
	modem_note(modem, result);
	return result;
}

/* The next packet for the line; 0 if there is none. */
static uint32_t modem_next(struct modem *modem, uint64_t now, uint32_t *flow)
{
	struct gq_packet packet;
	int32_t result;

	packet.size = sizeof packet;
	result = gq_dequeue(modem->queue, now, &packet);
	modem_note(modem, result);
	if (result < 0 || !(result & GQ_PACKET)) {
		return 0;
	}
	*flow = modem->buffers[packet.cookie].flow;
	buffer_give(modem, (uint32_t)packet.cookie);
	return packet.len;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

struct outcome {
	uint64_t most_held;        /* bytes, at most */
	uint64_t voice_wait;       /* ns, at most */
	uint64_t voice_lost;       /* voice packets sent but lost */
	uint64_t idle;             /* times the line found no packet */
	uint64_t bytes[FLOWS + 1]; /* sent by each flow */
};

static struct modem modem;

static struct gq_stats stats(void)
{
	struct gq_stats now;

	now.size = sizeof now;
	if (gq_queue_stats(modem.queue, &now) != 0) {
		now.errors = UINT64_MAX;
	}
	return now;
}

/* The bulk flows in turn, as much as the host can enqueue at once. */
static void host(uint64_t now, int obeys)
{
	static uint32_t turn;
	uint32_t given;

	for (given = 0; given < 12 && !(obeys && modem.full); given++) {
		uint32_t flow = turn++ % FLOWS;
		modem_take(&modem, now, flow, flow == 3 ? 300 : MTU, flow < 2 ? 2 : 0);
	}
}

/* Two seconds from `*now`. */
static struct outcome run(uint64_t *now, int obeys)
{
	const uint64_t end = *now + 2 * SECOND;
	struct outcome outcome;
	uint64_t next_voice = *now + 1, voice_due = 0, voice_sent = 0, voice_came = 0;

	clear(&outcome, sizeof outcome);
	while (*now < end) {
		uint64_t wait, held;
		uint32_t flow = 0, len;

		if (*now >= next_voice) {
			modem_take(&modem, *now, VOICE, 214, 0xb8);
			voice_due = next_voice;
			next_voice += SECOND / 50;
			voice_sent++;
		}
		host(*now, obeys);
		held = stats().backlog_bytes;
		outcome.most_held = held > outcome.most_held ? held : outcome.most_held;
		len = modem_next(&modem, *now, &flow);
		if (len == 0) {
			outcome.idle++;
			*now += SECOND / 1000000;
			continue;
		}
		outcome.bytes[flow] += len;
		if (flow == VOICE) {
			voice_came++;
			wait = *now - voice_due;
			outcome.voice_wait = wait > outcome.voice_wait ? wait : outcome.voice_wait;
		}
		*now += (uint64_t)len * 8 * SECOND / modem.rate;
	}
	outcome.voice_lost = voice_sent - voice_came;
	return outcome;
}

static void say(const char *text)
{
	size_t bytes = 0;

	while (text[bytes] != 0) {
		bytes++;
	}
	put(text, bytes);
}

static void say_number(uint64_t number)
{
	char digits[20];
	size_t at = sizeof digits;

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	put(digits + at, sizeof digits - at);
}

static int wrong;

static void check(int is_right, const char *what)
{
	if (!is_right) {
		say("    WRONG: ");
		say(what);
		say("\n");
		wrong = 1;
	}
}

static void report(const char *name, const struct outcome *outcome)
{
	uint32_t flow;

	say(name);
	say("\n    held at most ");
	say_number(outcome->most_held * 8 * 1000000 / modem.rate);
	say(" us of data, voice waited at most ");
	say_number(outcome->voice_wait / 1000);
	say(" us\n    bytes of the bulk flows:");
	for (flow = 0; flow < FLOWS; flow++) {
		say(" ");
		say_number(outcome->bytes[flow]);
	}
	say("\n    drops ");
	say_number(stats().drops);
	say(", marks ");
	say_number(stats().marks);
	say("\n");
	/* The packet on the line is no longer in the queue, so at most two milliseconds of data wait. */
	check(outcome->most_held * 8 * 1000 <= 2 * modem.rate, "more than two milliseconds of data");
	check(outcome->voice_lost == 0, "a voice packet was lost");
	check(outcome->voice_wait <= 2 * SECOND / 1000, "voice waited more than two milliseconds");
	check(outcome->idle == 0, "the line was idle");
}

static int is_even(uint64_t a, uint64_t b)
{
	return a < b + b / 20 && b < a + a / 20;
}

int firmware(void)
{
	struct outcome outcome;
	uint64_t now = 0;
	uint32_t index, count = 0;
	size_t bytes = 0;

	if (gq_abi_version() != GQ_ABI_VERSION || modem_start(&modem, 50000000) != 0) {
		say("the queue could not be set up\n");
		return 1;
	}
	check(gq_queue_size(&modem.config, &bytes) == 0, "the size is unknown");
	say("the queue takes ");
	say_number(bytes);
	say(" bytes\n");

	outcome = run(&now, 1);
	report("50 Mbit/s, a host that obeys", &outcome);
	check(is_even(outcome.bytes[0], outcome.bytes[1]), "flows 0 and 1 are uneven");
	check(stats().marks > 0, "nothing was marked");
	check(modem.full, "the signal is not set");

	modem_rate(&modem, now, 10000000);
	outcome = run(&now, 1);
	report("10 Mbit/s, a host that obeys", &outcome);

	modem_rate(&modem, now, 50000000);
	outcome = run(&now, 0);
	report("50 Mbit/s, a host that does not obey", &outcome);
	check(is_even(outcome.bytes[0], outcome.bytes[1]), "flows 0 and 1 are uneven");
	check(is_even(outcome.bytes[0], outcome.bytes[2]), "flows 0 and 2 are uneven");
	check(stats().drops > 0, "nothing was dropped");

	modem_note(&modem, gq_queue_reset(modem.queue, now));
	for (index = modem.free; index != NONE; index = modem.buffers[index].next) {
		count++;
	}
	check(count == BUFFERS, "a buffer was lost");
	check(stats().errors == 0, "a call was refused");
	say(wrong ? "FAILED\n" : "as it should be\n");
	return wrong;
}
