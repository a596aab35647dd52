/* random_wifi STEPS: a long random run over the transmit stack of a radio; prints every decision, to be
 * compared with what the Rust library decides in the same run (tests/it/random_wifi.rs). */
#include <inttypes.h>

#include "check.h"

#define STATIONS 6u
#define MOST 64u

/* Packets in the hardware. */
static struct {
	uint32_t txq, estimate;
} sent[MOST];
static uint32_t sent_count;

static void print_drops(struct gq_wifi *wifi)
{
	struct gq_drop drops[16];
	int32_t at, taken;

	drops[0].size = sizeof drops[0];
	do {
		taken = gq_wifi_take_drops(wifi, drops, 16);
		CHECK(taken >= 0);
		for (at = 0; at < taken; at++) {
			printf(" -%" PRIu64 ":%u:%d", drops[at].cookie, (unsigned)drops[at].len,
			       (int)drops[at].reason);
		}
	} while (taken > 0);
}

static void give(struct gq_wifi *wifi, uint64_t now, uint64_t cookie)
{
	struct gq_packet packet = packet_of(cookie, 1, 0);
	uint32_t txq = GQ_TXQ_MULTICAST;

	if (below(20) != 0) {
		txq = below(STATIONS) * 16;
		txq += below(8);
	}
	packet.len = 60 + below(1475);
	packet.flow_hash = below(40) * 107374182;
	packet.truesize = packet.len + below(1000);
	packet.dsfield = (uint8_t)below(4);
	printf("e %d", (int)gq_wifi_enqueue(wifi, now, txq, &packet));
}

static void run_round(struct gq_wifi *wifi, uint64_t now)
{
	uint32_t ac = below(4), txq = 0, left = below(10), estimate = 0;
	struct gq_packet packet = packet_of(0, 1, 0);
	int32_t result;

	printf("r %d", (int)gq_wifi_schedule_start(wifi, ac));
	while (left-- > 0 && gq_wifi_next_txq(wifi, ac, &txq) == 1) {
		printf(" %u", (unsigned)txq);
		while (sent_count < MOST && below(5) > 0) {
			result = gq_wifi_dequeue(wifi, now, txq, &packet, &estimate);
			CHECK(result >= 0);
			printf(" %d", (int)result);
			if (!(result & GQ_PACKET)) {
				break;
			}
			printf(",%" PRIu64 ",%u,%u", packet.cookie, (unsigned)packet.dsfield, (unsigned)estimate);
			sent[sent_count].txq = txq;
			sent[sent_count++].estimate = estimate;
		}
		printf(" %d", (int)gq_wifi_return_txq(wifi, now, txq, below(8) == 0));
	}
}

static void complete(struct gq_wifi *wifi, uint64_t now)
{
	uint32_t at, tx = below(3000), rx = below(500);

	if (sent_count == 0) {
		printf("n");
		return;
	}
	at = below(sent_count);
	printf("c %d", (int)gq_wifi_completed(wifi, sent[at].txq, sent[at].estimate));
	printf(" %d", (int)gq_wifi_airtime(wifi, now, sent[at].txq, tx, rx));
	sent[at] = sent[--sent_count];
}

static struct gq_wifi_rate rate_of(uint32_t which)
{
	static const struct gq_wifi_rate rates[] = {
		{ sizeof(struct gq_wifi_rate), GQ_RATE_LEGACY, 60, 0, 0, 0, 0, 0 },
		{ sizeof(struct gq_wifi_rate), GQ_RATE_HT, 0, 15, 0, 40, 400, 0 },
		{ sizeof(struct gq_wifi_rate), GQ_RATE_VHT, 0, 9, 2, 80, 800, 0 },
		{ sizeof(struct gq_wifi_rate), GQ_RATE_HE, 0, 11, 4, 160, 3200, 0 },
	};
	return rates[which];
}

static void manage(struct gq_wifi *wifi, uint64_t now)
{
	uint32_t station = below(STATIONS), what = below(9), value = below(100000), txq = station * 16 + below(8);
	struct gq_wifi_rate rate = rate_of(below(4));

	switch (what) {
	case 0:
		printf("m %d", (int)gq_wifi_add_station(wifi, station, 0));
		break;
	case 1:
		printf("m %d", (int)gq_wifi_remove_station(wifi, now, station));
		break;
	case 2:
		printf("m %d", (int)gq_wifi_sleep(wifi, station));
		break;
	case 3:
		printf("m %d", (int)gq_wifi_wake(wifi, now, station));
		break;
	case 4:
		printf("m %d", (int)gq_wifi_set_weight(wifi, station, value));
		break;
	case 5:
		printf("m %d", (int)gq_wifi_set_rate(wifi, station, value % 5 == 0 ? NULL : &rate));
		break;
	case 6:
		printf("m %d", (int)gq_wifi_expected_throughput(wifi, station, value));
		break;
	case 7:
		printf("m %d", (int)(value % 2 ? gq_wifi_stop_txq(wifi, txq) : gq_wifi_start_txq(wifi, now, txq)));
		break;
	default:
		printf("m %d", (int)gq_wifi_may_transmit(wifi, txq));
		break;
	}
}

static void print_stats(struct gq_wifi *wifi)
{
	struct gq_wifi_stats stats;
	struct gq_wifi_station station;
	struct gq_wifi_txq txq;
	uint32_t at, ac;

	stats.size = sizeof stats;
	station.size = sizeof station;
	txq.size = sizeof txq;
	EXPECT(0, gq_wifi_stats(wifi, &stats));
	printf("s %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u\n", (unsigned)stats.backlog_packets,
	       stats.memory, stats.overlimit, stats.overmemory, stats.collisions, (unsigned)stats.stations,
	       (unsigned)stats.aql_total);
	for (at = 0; at < STATIONS; at++) {
		if (gq_wifi_station_stats(wifi, at, &station) != 0) {
			continue;
		}
		printf("t %u %u %" PRIu64, (unsigned)station.weight, (unsigned)station.is_slow, station.target);
		for (ac = 0; ac < 4; ac++) {
			printf(" %d %u %" PRIu64 " %" PRIu64, (int)station.deficit[ac], (unsigned)station.pending[ac],
			       station.tx_airtime[ac], station.rx_airtime[ac]);
		}
		EXPECT(0, gq_wifi_txq_stats(wifi, at * 16, &txq));
		printf("\nq %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n",
		       (unsigned)txq.backlog_packets, (unsigned)txq.backlog_bytes, txq.tx_packets, txq.tx_bytes,
		       txq.codel_drops, txq.overlimit_drops, txq.ecn_marks, (unsigned)txq.collisions);
	}
}

int main(int count, char **words)
{
	struct gq_wifi_config config = wifi_config();
	struct wifi_place place;
	uint64_t now = 0;
	uint32_t at, steps, what;

	CHECK(count == 2);
	steps = (uint32_t)strtoul(words[1], NULL, 10);
	config.stations = STATIONS;
	config.flows = 32;
	config.limit = 300;
	config.memory_limit = 400000;
	config.target = 2000000;
	config.interval = 20000000;
	config.sparse_stations = 1;
	place = wifi_place(&config);
	for (at = 0; at < STATIONS; at++) {
		EXPECT(0, gq_wifi_add_station(place.wifi, at, 0));
	}
	for (at = 0; at < steps; at++) {
		now += below(100000);
		what = below(1000);
		if (what < 560) {
			give(place.wifi, now, at);
		} else if (what < 780) {
			run_round(place.wifi, now);
		} else if (what < 995) {
			complete(place.wifi, now);
		} else {
			manage(place.wifi, now);
		}
		print_drops(place.wifi);
		printf("\n");
	}
	print_stats(place.wifi);
	free(place.raw);
	return 0;
}
