/* The transmit stack of a radio: each function and each error; the scheduler, AQL and a removed station; a
 * careless caller. */
#include "check.h"

static const struct gq_wifi_rate VHT = { sizeof(struct gq_wifi_rate), GQ_RATE_VHT, 0, 7, 2, 80, 800, 0 };

static struct gq_wifi_stats radio(struct gq_wifi *wifi)
{
	struct gq_wifi_stats stats;
	stats.size = sizeof stats;
	EXPECT(0, gq_wifi_stats(wifi, &stats));
	return stats;
}

static struct gq_wifi_station of_station(struct gq_wifi *wifi, uint32_t station)
{
	struct gq_wifi_station stats;
	stats.size = sizeof stats;
	EXPECT(0, gq_wifi_station_stats(wifi, station, &stats));
	return stats;
}

static void setting_up(void)
{
	struct gq_wifi_config config = wifi_config();
	struct wifi_place place;
	struct gq_wifi *moved = NULL;
	size_t bytes, small;
	char *copy;

	CHECK(config.stations == 64 && config.interfaces == 1 && config.flows == 4096 && config.packets == 0);
	CHECK(config.limit == GQ_DEFAULT && config.band == GQ_DEFAULT && config.drop_slots == GQ_DROPS_ALL);
	EXPECT(GQ_ENULL, gq_wifi_config_default(NULL));
	config.size = 199;
	EXPECT(GQ_ESIZE, gq_wifi_config_default(&config));
	EXPECT(GQ_ESIZE, gq_wifi_size(&config, &bytes));
	config.size = sizeof config;
	EXPECT(0, gq_wifi_size(&config, &bytes));
	EXPECT(GQ_ENULL, gq_wifi_size(&config, NULL));
	EXPECT(GQ_ENULL, gq_wifi_size(NULL, &bytes));
	config.limit = 600;
	config.flows = 128;
	config.stations = 8;
	EXPECT(0, gq_wifi_size(&config, &small));
	CHECK(small < bytes / 4 && small % GQ_ALIGN == 0);
	config.stations = 0;
	EXPECT(GQ_EVALUE, gq_wifi_size(&config, &bytes));
	config.stations = 2;
	config.ecn = 2;
	EXPECT(GQ_EVALUE, gq_wifi_size(&config, &bytes));
	config.ecn = 0;
	place = wifi_place(&config);
	EXPECT(GQ_ENULL, gq_wifi_init(NULL, place.bytes, &config, 0, &moved));
	EXPECT(GQ_ENULL, gq_wifi_init(place.memory, place.bytes, NULL, 0, &moved));
	EXPECT(GQ_ENULL, gq_wifi_init(place.memory, place.bytes, &config, 0, NULL));
	EXPECT(GQ_EMEMORY, gq_wifi_init(place.memory, place.bytes - 1, &config, 0, &moved));
	EXPECT(GQ_EALIGN, gq_wifi_init((char *)place.memory + 8, place.bytes, &config, 0, &moved));
	CHECK(moved == NULL);

	/* A copy at another address is not a valid radio. */
	copy = (char *)malloc(place.bytes + GQ_ALIGN);
	CHECK(copy != NULL);
	moved = (struct gq_wifi *)(void *)(copy + GQ_ALIGN - (uintptr_t)copy % GQ_ALIGN);
	memcpy(moved, place.memory, place.bytes);
	EXPECT(GQ_EHANDLE, gq_wifi_sleep(moved, 0));
	EXPECT(GQ_ENULL, gq_wifi_sleep(NULL, 0));
	free(copy);

	config.quantum = 1514;
	EXPECT(0, gq_wifi_configure(place.wifi, &config));
	config.hz = 1;
	EXPECT(GQ_EVALUE, gq_wifi_configure(place.wifi, &config));
	EXPECT(GQ_ENULL, gq_wifi_configure(place.wifi, NULL));
	CHECK(radio(place.wifi).errors == 2);
	free(place.raw);
}

static void stations(void)
{
	struct gq_wifi_config config = wifi_config();
	struct gq_wifi_rate rate = VHT;
	struct gq_wifi_txq txq;
	struct wifi_place place;
	uint32_t micros = 0;

	config.stations = 4;
	config.interfaces = 2;
	place = wifi_place(&config);
	EXPECT(0, gq_wifi_add_station(place.wifi, 3, 1));
	EXPECT(GQ_EEXISTS, gq_wifi_add_station(place.wifi, 3, 1));
	EXPECT(GQ_ESTATION, gq_wifi_add_station(place.wifi, 4, 1));
	EXPECT(GQ_ESTATION, gq_wifi_add_station(place.wifi, 1, 2));
	EXPECT(GQ_ESTATION, gq_wifi_add_station(place.wifi, 1, 65537));
	EXPECT(0, gq_wifi_set_weight(place.wifi, 3, 512));
	EXPECT(GQ_EVALUE, gq_wifi_set_weight(place.wifi, 3, 0));
	EXPECT(GQ_EVALUE, gq_wifi_set_weight(place.wifi, 3, 65536));
	EXPECT(GQ_ESTATION, gq_wifi_set_weight(place.wifi, 2, 512));
	EXPECT(0, gq_wifi_set_aql(place.wifi, 3, GQ_VI, 1000, 2000));
	EXPECT(GQ_EVALUE, gq_wifi_set_aql(place.wifi, 3, 4, 1000, 2000));
	EXPECT(GQ_EVALUE, gq_wifi_set_aql(place.wifi, 3, GQ_VI, 1000, UINT32_MAX));
	EXPECT(0, gq_wifi_set_rate(place.wifi, 3, &rate));
	EXPECT(0, gq_wifi_set_rate(place.wifi, 3, NULL));
	rate.width = 30;
	EXPECT(GQ_EVALUE, gq_wifi_set_rate(place.wifi, 3, &rate));
	rate = VHT;
	rate.guard = 500;
	EXPECT(GQ_EVALUE, gq_wifi_set_rate(place.wifi, 3, &rate));
	rate.format = 9;
	EXPECT(GQ_EVALUE, gq_wifi_set_rate(place.wifi, 3, &rate));
	EXPECT(GQ_ESTATION, gq_wifi_set_rate(place.wifi, 2, NULL));
	EXPECT(0, gq_wifi_expected_throughput(place.wifi, 3, 5999));
	EXPECT(GQ_ESTATION, gq_wifi_expected_throughput(place.wifi, 0, 1));
	CHECK(of_station(place.wifi, 3).interface == 1 && of_station(place.wifi, 3).weight == 512);
	CHECK(of_station(place.wifi, 3).is_slow == 1 && of_station(place.wifi, 3).target == 50000000);
	CHECK(of_station(place.wifi, 3).deficit[GQ_BE] == 256);
	CHECK(of_station(place.wifi, 3).aql_limit_low[GQ_VI] == 1000);
	CHECK(of_station(place.wifi, 3).aql_limit_high[GQ_BE] == 12000);

	/* By hand, as mac80211 computes it: 12000 bits at 54 Mbit/s, 222 us, and 36. */
	rate.format = GQ_RATE_LEGACY;
	rate.legacy = 540;
	EXPECT(0, gq_wifi_duration(place.wifi, &rate, 1500, &micros));
	CHECK(micros == 258);
	rate.legacy = 55;
	EXPECT(GQ_EVALUE, gq_wifi_duration(place.wifi, &rate, 1500, &micros));
	EXPECT(GQ_ENULL, gq_wifi_duration(place.wifi, NULL, 1500, &micros));
	rate = VHT;
	EXPECT(GQ_ENULL, gq_wifi_duration(place.wifi, &rate, 1500, NULL));

	txq.size = sizeof txq;
	EXPECT(0, gq_wifi_txq_stats(place.wifi, GQ_TXQ_MULTICAST + 1, &txq));
	EXPECT(GQ_ESTATION, gq_wifi_txq_stats(place.wifi, GQ_TXQ_MULTICAST + 2, &txq));
	EXPECT(GQ_ESTATION, gq_wifi_txq_stats(place.wifi, GQ_TXQ_MULTICAST + 65536, &txq));
	EXPECT(GQ_ESTATION, gq_wifi_txq_stats(place.wifi, 16, &txq));
	EXPECT(GQ_ENULL, gq_wifi_txq_stats(place.wifi, 48, NULL));
	EXPECT(GQ_ENULL, gq_wifi_stats(place.wifi, NULL));
	EXPECT(GQ_ENULL, gq_wifi_station_stats(place.wifi, 3, NULL));
	CHECK(radio(place.wifi).stations == 1);
	free(place.raw);
}

/* The path of a packet, with the bits that report work to the driver; AQL holds the second packet until the
 * first is done. */
static void packets(void)
{
	struct gq_wifi_config config = wifi_config();
	struct gq_packet packet = packet_of(1, 1534, 7);
	struct gq_wifi_rate slow = VHT;
	struct gq_drop drop;
	struct wifi_place place;
	uint32_t txq = 0, first = 0, estimate = 0;

	drop.size = sizeof drop;
	slow.format = GQ_RATE_LEGACY;
	slow.legacy = 60;
	config.aql_limit_low = 2000000;
	config.aql_limit_high = 2000000;
	place = wifi_place(&config);
	EXPECT(GQ_REASON_FLUSH | GQ_DROPS, gq_wifi_enqueue(place.wifi, 1, 16, &packet));
	EXPECT(1, gq_wifi_take_drops(place.wifi, &drop, 1));
	CHECK(drop.cookie == 1 && drop.reason == GQ_REASON_FLUSH && drop.len == 1534);
	EXPECT(0, gq_wifi_add_station(place.wifi, 1, 0));
	EXPECT(0, gq_wifi_set_rate(place.wifi, 1, &slow));
	EXPECT(GQ_WORK_BE, gq_wifi_enqueue(place.wifi, 2, 16, &packet));
	EXPECT(GQ_WORK_VO, gq_wifi_enqueue(place.wifi, 2, 16 + 6, &packet));
	packet.cookie = 2;
	EXPECT(GQ_WORK_BE, gq_wifi_enqueue(place.wifi, 2, 16, &packet));
	packet.len = 0;
	EXPECT(GQ_EPACKET, gq_wifi_enqueue(place.wifi, 2, 16, &packet));
	packet.len = GQ_MAX_LEN + 1;
	EXPECT(GQ_EPACKET, gq_wifi_enqueue(place.wifi, 2, 16, &packet));
	packet.len = 100;
	packet.truesize = 99;
	EXPECT(GQ_EPACKET, gq_wifi_enqueue(place.wifi, 2, 16, &packet));
	EXPECT(GQ_ENULL, gq_wifi_enqueue(place.wifi, 2, 16, NULL));
	packet.truesize = 100;
	EXPECT(GQ_ETIME, gq_wifi_enqueue(place.wifi, 1, 16, &packet));
	EXPECT(GQ_ESTATION, gq_wifi_enqueue(place.wifi, 2, GQ_TXQ_MULTICAST + 65536, &packet));

	EXPECT(0, gq_wifi_next_txq(place.wifi, GQ_BE, &txq)); /* no round was begun */
	EXPECT(1, gq_wifi_schedule_start(place.wifi, GQ_BE));
	EXPECT(GQ_EVALUE, gq_wifi_schedule_start(place.wifi, 4));
	EXPECT(GQ_EVALUE, gq_wifi_next_txq(place.wifi, 4, &txq));
	EXPECT(GQ_ENULL, gq_wifi_next_txq(place.wifi, GQ_BE, NULL));
	EXPECT(1, gq_wifi_next_txq(place.wifi, GQ_BE, &txq));
	CHECK(txq == 16);
	EXPECT(GQ_ENULL, gq_wifi_dequeue(place.wifi, 3, txq, &packet, NULL));
	EXPECT(GQ_ENULL, gq_wifi_dequeue(place.wifi, 3, txq, NULL, &first));
	EXPECT(GQ_PACKET, gq_wifi_dequeue(place.wifi, 3, txq, &packet, &first));
	CHECK(packet.cookie == 1 && first > 2000 && packet.size == sizeof packet);
	CHECK(radio(place.wifi).aql_total == first && radio(place.wifi).aql_by_ac[GQ_BE] == first);
	EXPECT(0, gq_wifi_dequeue(place.wifi, 3, txq, &packet, &estimate)); /* AQL */
	EXPECT(GQ_WORK_BE, gq_wifi_return_txq(place.wifi, 3, txq, 0));
	EXPECT(GQ_WORK_BE, gq_wifi_completed(place.wifi, txq, first));
	EXPECT(0, gq_wifi_airtime(place.wifi, 4, txq, 5000, 10));
	CHECK(of_station(place.wifi, 1).pending[GQ_BE] == 0 && of_station(place.wifi, 1).tx_airtime[GQ_BE] == 5000);
	CHECK(of_station(place.wifi, 1).rx_airtime[GQ_BE] == 10);
	CHECK(of_station(place.wifi, 1).deficit[GQ_BE] == 256 - 5010);
	EXPECT(0, gq_wifi_may_transmit(place.wifi, txq)); /* in debt */

	EXPECT(0, gq_wifi_stop_txq(place.wifi, txq));
	EXPECT(0, gq_wifi_dequeue(place.wifi, 5, txq, &packet, &estimate));
	EXPECT(GQ_WORK_BE, gq_wifi_start_txq(place.wifi, 5, txq));
	EXPECT(GQ_ESTATION, gq_wifi_stop_txq(place.wifi, 0));
	EXPECT(GQ_ESTATION, gq_wifi_start_txq(place.wifi, 5, 0));
	EXPECT(0, gq_wifi_sleep(place.wifi, 1));
	EXPECT(1, gq_wifi_may_transmit(place.wifi, txq)); /* on no list */
	EXPECT(GQ_WORK_VO | GQ_WORK_BE, gq_wifi_wake(place.wifi, 6, 1));
	EXPECT(GQ_ESTATION, gq_wifi_sleep(place.wifi, 2));
	EXPECT(GQ_ESTATION, gq_wifi_wake(place.wifi, 6, 2));
	EXPECT(GQ_ETIME, gq_wifi_wake(place.wifi, 5, 1));

	/* A station is removed: its packets come back, and the airtime in flight is still counted. */
	EXPECT(GQ_PACKET, gq_wifi_dequeue(place.wifi, 7, txq, &packet, &estimate));
	EXPECT(GQ_DROPS, gq_wifi_remove_station(place.wifi, 8, 1));
	EXPECT(GQ_ESTATION, gq_wifi_remove_station(place.wifi, 8, 1));
	EXPECT(1, gq_wifi_take_drops(place.wifi, &drop, 1));
	EXPECT(0, gq_wifi_take_drops(place.wifi, &drop, 1));
	CHECK(drop.cookie == 1 && radio(place.wifi).aql_total == estimate && estimate > 0);
	EXPECT(0, gq_wifi_completed(place.wifi, txq, estimate));
	EXPECT(0, gq_wifi_airtime(place.wifi, 9, txq, 1, 0));
	CHECK(radio(place.wifi).aql_total == 0 && radio(place.wifi).stations == 0);
	free(place.raw);
}

/* Two stations, one at a tenth of the other's rate, each charged for its real airtime: equal airtime. */
static void fairness(void)
{
	struct gq_wifi_config config = wifi_config();
	struct gq_packet packet = packet_of(1, 1534, 7);
	struct wifi_place place = wifi_place(&config);
	uint32_t turn, txq = 0, estimate;
	uint64_t used[2] = { 0, 0 }, now = 1;

	EXPECT(0, gq_wifi_add_station(place.wifi, 0, 0));
	EXPECT(0, gq_wifi_add_station(place.wifi, 1, 0));
	for (turn = 0; turn < 4000; turn++, now += 1000) {
		EXPECT(GQ_WORK_BE, gq_wifi_enqueue(place.wifi, now, 0, &packet));
		EXPECT(GQ_WORK_BE, gq_wifi_enqueue(place.wifi, now, 16, &packet));
		EXPECT(1, gq_wifi_schedule_start(place.wifi, GQ_BE));
		EXPECT(1, gq_wifi_next_txq(place.wifi, GQ_BE, &txq));
		EXPECT(GQ_PACKET, gq_wifi_dequeue(place.wifi, now, txq, &packet, &estimate));
		EXPECT(GQ_WORK_BE, gq_wifi_return_txq(place.wifi, now, txq, 0));
		EXPECT(0, gq_wifi_airtime(place.wifi, now, txq, txq == 0 ? 200 : 2000, 0));
		used[txq / 16] += txq == 0 ? 200 : 2000;
	}
	CHECK(used[0] < used[1] + 5000 && used[1] < used[0] + 5000);
	free(place.raw);
}

#define PACKETS 40000u

static unsigned char inside[PACKETS];
static void back(uint64_t cookie)
{
	CHECK(cookie < PACKETS && inside[cookie] == 1);
	inside[cookie] = 2;
}

static void take(struct gq_wifi *wifi)
{
	struct gq_drop drops[16];
	int32_t at, taken;

	drops[0].size = sizeof drops[0];
	do {
		taken = gq_wifi_take_drops(wifi, drops, 16);
		CHECK(taken >= 0);
		for (at = 0; at < taken; at++) {
			back(drops[at].cookie);
		}
	} while (taken > 0);
}

/* Wrong times, lengths, numbers and pointers among correct ones: every accepted packet comes back exactly
 * once. */
static void storm(void)
{
	struct gq_wifi_config config = wifi_config();
	struct gq_packet packet = packet_of(0, 1, 0);
	struct wifi_place place;
	uint32_t cookie = 0, txq, estimate, ac;
	uint64_t now = 0, when;
	int32_t result;

	config.stations = 5;
	config.flows = 16;
	config.limit = 100;
	place = wifi_place(&config);
	while (cookie < PACKETS) {
		now += below(300000);
		when = below(100) == 0 ? now - now / 3 : now;
		txq = below(50) == 0 ? UINT32_MAX - below(80000) : below(6) * 16 + below(16);
		switch (below(12)) {
		case 0:
		case 1:
		case 2:
		case 3:
			packet = packet_of(cookie, below(100) == 0 ? 0 : 60 + below(1475), 0);
			packet.flow_hash = below(8) << 29;
			packet.size = below(50) == 0 ? 8 : packet.size;
			if (gq_wifi_enqueue(place.wifi, when, txq, &packet) >= 0) {
				inside[cookie] = 1;
			}
			cookie++;
			break;
		case 4:
		case 5:
			ac = below(5);
			if (gq_wifi_schedule_start(place.wifi, ac) == 1 && gq_wifi_next_txq(place.wifi, ac, &txq) == 1) {
				(void)gq_wifi_return_txq(place.wifi, when, txq, below(2));
			}
			break;
		case 6:
		case 7:
			packet.size = sizeof packet;
			result = gq_wifi_dequeue(place.wifi, when, txq, &packet, &estimate);
			if (result >= 0 && (result & GQ_PACKET)) {
				back(packet.cookie);
				(void)gq_wifi_completed(place.wifi, below(9) == 0 ? below(200) : txq, estimate + below(2));
			}
			break;
		case 8:
			(void)gq_wifi_airtime(place.wifi, when, txq, below(5) == 0 ? UINT32_MAX : below(9000), below(9));
			break;
		case 9:
			(void)gq_wifi_add_station(place.wifi, below(6), below(2));
			break;
		case 10:
			if (below(20) == 0) {
				(void)gq_wifi_remove_station(place.wifi, when, below(6));
			} else if (below(2) == 0) {
				(void)gq_wifi_sleep(place.wifi, below(6));
			} else {
				(void)gq_wifi_wake(place.wifi, when, below(6));
			}
			break;
		default:
			(void)gq_wifi_may_transmit(place.wifi, txq);
			break;
		}
		if (below(8) == 0) {
			take(place.wifi);
		}
	}
	take(place.wifi);
	for (ac = 0; ac < 5; ac++) {
		(void)gq_wifi_remove_station(place.wifi, now, ac);
		take(place.wifi);
	}
	CHECK(memchr(inside, 1, sizeof inside) == NULL && memchr(inside, 2, sizeof inside) != NULL);
	CHECK(radio(place.wifi).backlog_packets == 0 && radio(place.wifi).memory == 0);
	CHECK(radio(place.wifi).drops_lost == 0 && radio(place.wifi).errors > 1000);
	free(place.raw);
}

int main(void)
{
	setting_up();
	stations();
	packets();
	fairness();
	storm();
	return 0;
}
