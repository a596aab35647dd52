/*
 * A Wi-Fi driver over a simulated radio: an access point, a fast station and a slow one.
 *
 * The driver does what mac80211 requires of a driver, in three steps. It runs a round when there is work
 * (wake_tx_queue), pulls packets for aggregates, and reports the airtime of what it sent, including failed
 * attempts, and of what it received. The steps are marked "Wi-Fi 1", "2" and "3". The rest of the file is the
 * radio, and two runs. The first has one FIFO above the hardware, as drivers had for years; there the slow
 * station takes most of the airtime (the "performance anomaly"). The second has the library's queues and
 * airtime scheduler; there each station gets half of the airtime.
 *
 *     driver            both runs; prints the shares of airtime, exits with 0 if they are as they should be
 */
#include <stdint.h>
#include <stdio.h>

#include "goodqueue.h"

#define LEN 1538u         /* bytes of a packet with its 802.11 header */
#define ENTRIES 2u        /* aggregates that the hardware holds */
#define MOST 32u          /* most packets in an aggregate */
#define LIMIT 4000u       /* longest aggregate, us */
#define OVERHEAD 250u     /* us of contention, preamble and block ack for each attempt at an aggregate */
#define STATIONS 2u
#define SECONDS 20u
#define FRAMES 4096u      /* places for frames: the driver's memory */

enum { FAST, SLOW };

/* kbit/s on the air. */
static const uint32_t RATE[STATIONS] = { 144400, 7200 };

/* A packet of the driver: the frame stays here, the library has its number. */
struct frame {
	uint64_t arrived;
	uint32_t station;
};

struct aggregate {
	uint32_t txq, station, packets, airtime;
	uint32_t frames[MOST], estimates[MOST];
};

struct radio {
	struct gq_wifi *wifi;                   /* null: a FIFO instead */
	struct frame frames[FRAMES];
	uint32_t free_frames[FRAMES], free_count;
	uint32_t fifo[1000], head, tail;        /* free running */
	struct aggregate entries[ENTRIES];      /* in the hardware, oldest first */
	uint32_t busy;
	uint64_t now, attempts;
	uint64_t airtime[STATIONS], bytes[STATIONS], waited[STATIONS], packets[STATIONS];
	uint64_t errors;
};

/* Duration of an attempt at an aggregate, us. */
static uint32_t attempt_time(uint32_t station, uint32_t packets)
{
	return OVERHEAD + packets * LEN * 8 * 1000 / RATE[station];
}

static int has_room(const struct aggregate *entry, uint32_t station)
{
	return entry->packets < MOST &&
	       (entry->packets == 0 || attempt_time(station, entry->packets + 1) <= LIMIT);
}

static void add(struct aggregate *entry, uint32_t frame, uint32_t estimate)
{
	entry->frames[entry->packets] = frame;
	entry->estimates[entry->packets++] = estimate;
}

static void free_frame(struct radio *radio, uint32_t frame)
{
	radio->free_frames[radio->free_count++] = frame;
}

/* Returns the result of a call; counts errors and prints the first one. */
static int32_t checked(struct radio *radio, int32_t result)
{
	if (result < 0 && radio->errors++ == 0) {
		printf("    %s\n", gq_strerror(result));
	}
	return result;
}

/* ---- the driver ---------------------------------------------------------------------------------------- */

/* Wi-Fi 2: pulls packets. As many aggregates as the hardware has room for, each from the next queue. */
static void driver_round(struct radio *radio, uint32_t ac)
{
	struct gq_packet packet = { 0 };
	uint32_t txq, estimate;
	int32_t result;

	packet.size = sizeof packet;
	result = gq_wifi_schedule_start(radio->wifi, ac);
	(void)checked(radio, result);
	while (radio->busy < ENTRIES && gq_wifi_next_txq(radio->wifi, ac, &txq) == 1) {
		struct aggregate *entry = &radio->entries[radio->busy];

		entry->txq = txq;
		entry->station = txq / 16;
		entry->packets = 0;
		while (has_room(entry, entry->station)) {
			result = gq_wifi_dequeue(radio->wifi, radio->now, txq, &packet, &estimate);
			if (checked(radio, result) < 0 || !(result & GQ_PACKET)) {
				break;
			}
			add(entry, (uint32_t)packet.cookie, estimate);
		}
		result = gq_wifi_return_txq(radio->wifi, radio->now, txq, 0);
		(void)checked(radio, result);
		radio->busy += entry->packets > 0;
	}
}

/* Wi-Fi 1: wake_tx_queue. A result says in which categories there is work. */
static void driver_wake(struct radio *radio, int32_t result)
{
	uint32_t ac;

	for (ac = GQ_VO; ac <= GQ_BK; ac++) {
		if (result > 0 && (result & (GQ_WORK_VO << ac))) {
			driver_round(radio, ac);
		}
	}
}

/* The driver frees dropped packets. */
static void driver_free_drops(struct radio *radio, int32_t result)
{
	struct gq_drop drop = { 0 };

	drop.size = sizeof drop;
	while (result > 0 && (result & GQ_DROPS) && gq_wifi_take_drops(radio->wifi, &drop, 1) == 1) {
		free_frame(radio, (uint32_t)drop.cookie);
	}
}

static void driver_transmit(struct radio *radio, uint32_t frame)
{
	uint32_t station = radio->frames[frame].station;
	struct gq_packet packet = { 0 };
	int32_t result;

	packet.size = sizeof packet;
	packet.len = LEN;
	packet.truesize = 2304;
	packet.flow_hash = station * 2654435761u;
	packet.cookie = frame;
	result = gq_wifi_enqueue(radio->wifi, radio->now, station * 16, &packet);
	driver_free_drops(radio, checked(radio, result));
	driver_wake(radio, result); /* Wi-Fi 1 */
}

/* Wi-Fi 3: reports. The aggregate's airtime with all attempts; then the completion of each packet. */
static void driver_completed(struct radio *radio, const struct aggregate *entry)
{
	int32_t result;
	uint32_t at;

	result = gq_wifi_airtime(radio->wifi, radio->now, entry->txq, entry->airtime, 0);
	(void)checked(radio, result);
	for (at = 0; at < entry->packets; at++) {
		result = gq_wifi_completed(radio->wifi, entry->txq, entry->estimates[at]);
		(void)checked(radio, result);
	}
	driver_wake(radio, result); /* Wi-Fi 1 */
}

/* Wi-Fi 3 for received frames, for example TCP acknowledgements. */
static void driver_received(struct radio *radio, uint32_t station, uint32_t airtime)
{
	int32_t result;

	result = gq_wifi_airtime(radio->wifi, radio->now, station * 16, 0, airtime);
	(void)checked(radio, result);
}

/* ---- the driver as it was: one FIFO for all stations --------------------------------------------------- */

static void fifo_round(struct radio *radio)
{
	while (radio->busy < ENTRIES && radio->tail != radio->head) {
		struct aggregate *entry = &radio->entries[radio->busy++];

		entry->station = radio->frames[radio->fifo[radio->tail % 1000]].station;
		entry->packets = 0;
		/* An aggregate is for one station: it ends before a packet for another. */
		while (radio->tail != radio->head && has_room(entry, entry->station) &&
		       radio->frames[radio->fifo[radio->tail % 1000]].station == entry->station) {
			add(entry, radio->fifo[radio->tail++ % 1000], 0);
		}
	}
}

static void fifo_transmit(struct radio *radio, uint32_t frame)
{
	if (radio->head - radio->tail == 1000) {
		free_frame(radio, frame);
		return;
	}
	radio->fifo[radio->head++ % 1000] = frame;
	fifo_round(radio);
}

/* ---- the radio ----------------------------------------------------------------------------------------- */

/* Both stations are sent more than they can take: a packet every 60 us, alternately. */
static void arrivals(struct radio *radio, uint64_t *next, uint64_t until)
{
	for (; *next <= until; *next += 60000) {
		uint32_t frame = radio->free_frames[--radio->free_count];

		radio->now = *next;
		radio->frames[frame].arrived = *next;
		radio->frames[frame].station = (uint32_t)(*next / 60000 % STATIONS);
		if (radio->wifi != NULL) {
			driver_transmit(radio, frame);
		} else {
			fifo_transmit(radio, frame);
		}
	}
	radio->now = until;
}

/* One aggregate over the air. Every fifth attempt fails and is repeated; sometimes a station answers. */
static void air(struct radio *radio, uint64_t *next)
{
	struct aggregate entry = radio->entries[0];
	uint32_t at, received, attempts = radio->attempts++ % 5 == 4 ? 2 : 1;

	entry.airtime = attempts * attempt_time(entry.station, entry.packets);
	received = attempt_time(entry.station, 1) / 4;
	arrivals(radio, next, radio->now + (uint64_t)(entry.airtime + received) * 1000);
	radio->airtime[entry.station] += entry.airtime + received;
	for (at = 0; at < entry.packets; at++) {
		radio->bytes[entry.station] += LEN;
		radio->packets[entry.station]++;
		radio->waited[entry.station] += radio->now - radio->frames[entry.frames[at]].arrived;
		free_frame(radio, entry.frames[at]);
	}
	for (at = 1; at < radio->busy; at++) {
		radio->entries[at - 1] = radio->entries[at];
	}
	radio->busy--;
	if (radio->wifi != NULL) {
		driver_received(radio, entry.station, received);
		driver_completed(radio, &entry);
	} else {
		fifo_round(radio);
	}
}

static void run(struct radio *radio, const char *name)
{
	uint64_t next = 1, total;
	uint32_t station, at;

	for (at = 0; at < FRAMES; at++) {
		free_frame(radio, at);
	}
	while (radio->now < SECONDS * UINT64_C(1000000000)) {
		if (radio->busy == 0) {
			arrivals(radio, &next, next);
			continue;
		}
		air(radio, &next);
	}
	total = radio->airtime[FAST] + radio->airtime[SLOW];
	printf("%s\n", name);
	for (station = FAST; station <= SLOW; station++) {
		printf("    %s station: %4.1f %% of the airtime, %5.1f Mbit/s, %6.1f ms in the access point\n",
		       station == FAST ? "fast" : "slow", 100.0 * (double)radio->airtime[station] / (double)total,
		       (double)radio->bytes[station] * 8e-6 / SECONDS,
		       1e-6 * (double)radio->waited[station] / (double)radio->packets[station]);
	}
}

/* Memory for the queues: 2 stations, 64 flows, 2000 packets. */
static uint64_t memory[(160 * 1024) / 8 + GQ_ALIGN / 8];

static struct gq_wifi *set_up(void)
{
	struct gq_wifi_config config = { 0 };
	struct gq_wifi_rate rate = { 0 };
	char *place = (char *)memory + (GQ_ALIGN - (uintptr_t)memory % GQ_ALIGN) % GQ_ALIGN;
	struct gq_wifi *wifi = NULL;
	uint32_t station;
	int32_t result;

	config.size = sizeof config;
	result = gq_wifi_config_default(&config);
	config.stations = STATIONS;
	config.flows = 64;
	config.limit = 2000;
	result = result < 0 ? result : gq_wifi_init(place, sizeof memory - GQ_ALIGN, &config, 0, &wifi);
	if (result < 0) {
		printf("set-up: %s\n", gq_strerror(result));
		return NULL;
	}
	rate.size = sizeof rate;
	rate.format = GQ_RATE_HT;
	rate.width = 20;
	rate.guard = 400;
	for (station = FAST; station <= SLOW; station++) {
		rate.mcs = station == FAST ? 15 : 0;
		if (gq_wifi_add_station(wifi, station, 0) < 0 || gq_wifi_set_rate(wifi, station, &rate) < 0) {
			return NULL;
		}
	}
	return wifi;
}

static double share(const struct radio *radio, uint32_t station)
{
	return (double)radio->airtime[station] / (double)(radio->airtime[FAST] + radio->airtime[SLOW]);
}

int main(void)
{
	static struct radio fifo, fair;
	struct gq_wifi_station stats[STATIONS];
	uint32_t station;
	int is_right;

	run(&fifo, "one FIFO of 1000 packets");
	fair.wifi = set_up();
	if (fair.wifi == NULL) {
		return 1;
	}
	run(&fair, "queues and airtime scheduler of the library");
	is_right = share(&fifo, SLOW) > 0.7 && share(&fair, SLOW) > 0.49 && share(&fair, SLOW) < 0.51;
	is_right = is_right && fair.errors == 0;
	/* More than twice the fast station's throughput, in a tenth of the time. */
	is_right = is_right && fair.bytes[FAST] > 2 * fifo.bytes[FAST];
	is_right = is_right && fair.waited[FAST] / fair.packets[FAST] < fifo.waited[FAST] / fifo.packets[FAST] / 10;
	for (station = FAST; station <= SLOW; station++) {
		stats[station].size = sizeof stats[station];
		is_right = is_right && gq_wifi_station_stats(fair.wifi, station, &stats[station]) == 0 &&
			   stats[station].tx_airtime[GQ_BE] + stats[station].rx_airtime[GQ_BE] == fair.airtime[station];
	}
	printf("%s\n", is_right ? "as it should be" : "NOT as it should be");
	return is_right ? 0 : 1;
}
