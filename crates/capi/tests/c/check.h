/* What every C test needs. Valid C99 and C++17. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "goodqueue.h"

#define CHECK(condition)                                                                    \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

#define EXPECT(expected, call)                                                              \
	do {                                                                                \
		long expected_ = (expected), found_ = (call);                               \
		if (expected_ != found_) {                                                  \
			fprintf(stderr, "%s:%d: %s is %ld (%s), expected %s\n", __FILE__,   \
				__LINE__, #call, found_, gq_strerror((int32_t)found_),      \
				#expected);                                                 \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

/* Random numbers, the same ones in every program: xorshift64, the upper half of its state, below n. */
static inline uint32_t below(uint32_t n)
{
	static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) % n);
}

/* Memory aligned as it must be, with nothing known in it; *raw is what is to be freed. */
static inline void *aligned(size_t bytes, void **raw)
{
	*raw = malloc(bytes + GQ_ALIGN - 1);
	CHECK(*raw != NULL);
	return (void *)(((uintptr_t)*raw + GQ_ALIGN - 1) / GQ_ALIGN * GQ_ALIGN);
}

/* A queue and the memory under it. */
struct place {
	void *raw;
	void *memory;
	size_t bytes;
	struct gq_queue *queue;
};

static inline struct gq_config config_of(const char *text)
{
	struct gq_config config;
	memset(&config, 0, sizeof config);
	config.size = sizeof config;
	EXPECT(0, gq_config_parse(text, &config, NULL));
	return config;
}

static inline struct place place_for(const struct gq_config *config)
{
	struct place place;
	EXPECT(0, gq_queue_size(config, &place.bytes));
	place.memory = aligned(place.bytes, &place.raw);
	place.queue = NULL;
	return place;
}

static inline struct place place_of(const struct gq_config *config)
{
	struct place place = place_for(config);
	EXPECT(0, gq_queue_init(place.memory, place.bytes, config, 0, &place.queue));
	return place;
}

static inline struct gq_packet packet_of(uint64_t cookie, uint32_t len, uint32_t flow_hash)
{
	struct gq_packet packet;
	memset(&packet, 0, sizeof packet);
	packet.size = sizeof packet;
	packet.len = len;
	packet.truesize = len;
	packet.flow_hash = flow_hash;
	packet.cookie = cookie;
	return packet;
}

static inline struct gq_stats stats_of(struct gq_queue *queue)
{
	struct gq_stats stats;
	stats.size = sizeof stats;
	EXPECT(0, gq_queue_stats(queue, &stats));
	return stats;
}

/* A radio and the memory under it. */
struct wifi_place {
	void *raw;
	void *memory;
	size_t bytes;
	struct gq_wifi *wifi;
};

static inline struct gq_wifi_config wifi_config(void)
{
	struct gq_wifi_config config;
	memset(&config, 0, sizeof config);
	config.size = sizeof config;
	EXPECT(0, gq_wifi_config_default(&config));
	return config;
}

static inline struct wifi_place wifi_place(const struct gq_wifi_config *config)
{
	struct wifi_place place;
	EXPECT(0, gq_wifi_size(config, &place.bytes));
	place.memory = aligned(place.bytes, &place.raw);
	EXPECT(0, gq_wifi_init(place.memory, place.bytes, config, 0, &place.wifi));
	return place;
}

#endif
