/* cost_wifi STATIONS STEPS: the workload of the Rust library's Wi-Fi benchmark (crates/core/benches/radio)
 * through the C library; prints how many packets were delivered. Run under callgrind by benches/cost.rs. */
#include "check.h"

int main(int count, char **words)
{
	struct gq_wifi_config config = wifi_config();
	struct gq_wifi_rate rate = { sizeof rate, GQ_RATE_VHT, 0, 7, 2, 80, 800, 0 };
	struct gq_packet packet = packet_of(0, 1534, 0), taken = packet;
	struct wifi_place place;
	uint64_t now = 1000000000;
	uint32_t at, stations, steps, next = 0, queued = 0, delivered = 0, txq = 0, estimate = 0;

	CHECK(count == 3);
	stations = (uint32_t)strtoul(words[1], NULL, 10);
	steps = (uint32_t)strtoul(words[2], NULL, 10);
	packet.truesize = 2304;
	config.stations = stations;
	place = wifi_place(&config);
	for (at = 0; at < stations; at++) {
		EXPECT(0, gq_wifi_add_station(place.wifi, at, 0));
		EXPECT(0, gq_wifi_set_rate(place.wifi, at, &rate));
	}
	for (at = 0; at <= steps; at++) {
		/* 1000 packets at first; then, at each step, enough for 1001. */
		now += at == 0 ? 0 : 1000;
		for (; queued < (at == 0 ? 1000u : 1001u); queued++) {
			packet.flow_hash = next * 2654435761u;
			EXPECT(GQ_WORK_BE, gq_wifi_enqueue(place.wifi, now, next * 16, &packet));
			next = next + 1 == stations ? 0 : next + 1;
		}
		if (at == 0) {
			continue;
		}
		if (gq_wifi_schedule_start(place.wifi, GQ_BE) != 1 || gq_wifi_next_txq(place.wifi, GQ_BE, &txq) != 1 ||
		    gq_wifi_dequeue(place.wifi, now, txq, &taken, &estimate) != GQ_PACKET) {
			continue;
		}
		CHECK(gq_wifi_return_txq(place.wifi, now, txq, 0) >= 0);
		CHECK(gq_wifi_completed(place.wifi, txq, estimate) >= 0);
		EXPECT(0, gq_wifi_airtime(place.wifi, now, txq, estimate, 0));
		queued--;
		delivered++;
	}
	printf("%u 0\n", (unsigned)delivered);
	free(place.raw);
	return 0;
}
