/* Prints how much memory queues take, before any is set up: the table of docs/c-library.md. */
#include "check.h"

int main(void)
{
	static const char *const texts[] = {
		"pfifo:100",
		"bfifo:64k",
		"codel limit=100",
		"tbf rate=10mbit burst=5k limit=64k",
		"fq_codel limit=32 flows=16",
		"fq_codel limit=256 flows=64 memory_limit=256k",
		"fq_codel limit=1000 flows=256 memory_limit=4m",
		"fq_codel",
		"cake diffserv=besteffort flows=32 memlimit=1m",
		"cake flows=32 memlimit=1m",
		"cake flows=128 memlimit=4m",
		"cake memlimit=4m",
		"cake",
		"cake ack-filter=on",
		"pie",
		"fq_pie",
		"dualpi2",
		"sfq",
		"fq",
		"red:100k",
		"wheel",
		"pfifo_fast",
		"prio leaf=codel leaf.limit=100",
		"drr classes=8 leaf=codel leaf.limit=100",
		"htb rate=20mbit leaf.limit=1000 leaf.flows=256",
	};
	static const struct {
		uint32_t stations, flows, limit;
	} radios[] = { { 8, 128, 600 }, { 32, 1024, 2048 }, { 64, 4096, 8192 } };
	struct gq_config config;
	size_t at, with_drops, without;

	for (at = 0; at < sizeof texts / sizeof texts[0]; at++) {
		config = config_of(texts[at]);
		EXPECT(0, gq_queue_size(&config, &with_drops));
		config.drop_slots = 16;
		EXPECT(0, gq_queue_size(&config, &without));
		printf("| `%s` | %lu | %lu |\n", texts[at], (unsigned long)with_drops, (unsigned long)without);
	}
	for (at = 0; at < sizeof radios / sizeof radios[0]; at++) {
		struct gq_wifi_config radio = wifi_config();

		radio.stations = radios[at].stations;
		radio.flows = radios[at].flows;
		radio.limit = radios[at].limit;
		EXPECT(0, gq_wifi_size(&radio, &with_drops));
		radio.drop_slots = 16;
		EXPECT(0, gq_wifi_size(&radio, &without));
		printf("| radio: %u stations, %u flows, %u packets | %lu | %lu |\n", (unsigned)radios[at].stations,
		       (unsigned)radios[at].flows, (unsigned)radios[at].limit, (unsigned long)with_drops,
		       (unsigned long)without);
	}
	printf("| `struct gq_bql` | %lu | |\n", (unsigned long)sizeof(struct gq_bql));
	return 0;
}
