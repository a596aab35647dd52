/* The three hooks, and a driver's mistakes with them. */
#include "check.h"

#define MTU 1514u

static struct gq_bql bql;

static struct gq_bql_state limit(void)
{
	struct gq_bql_state state;
	state.size = sizeof state;
	EXPECT(0, gq_bql_state(&bql, &state));
	return state;
}

static void start(uint32_t ring)
{
	struct gq_bql_config config;
	config.size = sizeof config;
	EXPECT(0, gq_bql_config_default(&config));
	config.ring = ring;
	EXPECT(0, gq_bql_init(&bql, sizeof bql, &config, 0));
}

static void setting_up(void)
{
	struct gq_bql_config config;
	struct gq_bql_state state;

	memset(&bql, 0, sizeof bql);
	EXPECT(GQ_EHANDLE, gq_bql_sent(&bql, 1, 1));
	EXPECT(GQ_ENULL, gq_bql_config_default(NULL));
	config.size = 3;
	EXPECT(GQ_ESIZE, gq_bql_config_default(&config));
	EXPECT(GQ_ESIZE, gq_bql_init(&bql, sizeof bql, &config, 0));
	EXPECT(GQ_ENULL, gq_bql_init(NULL, sizeof bql, NULL, 0));
	EXPECT(GQ_EMEMORY, gq_bql_init(&bql, sizeof bql - 1, NULL, 0));
	config.size = sizeof config;
	EXPECT(0, gq_bql_config_default(&config));
	CHECK(config.hz == 1000 && config.max_limit == 1879048192u && config.hold_time == 1000000000u);
	config.hz = 0;
	EXPECT(GQ_EVALUE, gq_bql_init(&bql, sizeof bql, &config, 0));
	config.hz = 250;
	config.min_limit = 2;
	config.max_limit = 1;
	EXPECT(GQ_EVALUE, gq_bql_init(&bql, sizeof bql, &config, 0));
	config.max_limit = 3000;
	EXPECT(0, gq_bql_init(&bql, sizeof bql, &config, 0));
	CHECK(limit().limit == 2);
	EXPECT(GQ_ENULL, gq_bql_sent(NULL, 1, 1));
	EXPECT(GQ_ENULL, gq_bql_completed(NULL, 0, 1, 1));
	EXPECT(GQ_ENULL, gq_bql_reset(NULL, 0));
	EXPECT(GQ_ENULL, gq_bql_check(NULL, 0, 0));
	EXPECT(GQ_ENULL, gq_bql_state(NULL, &state));
	EXPECT(GQ_ENULL, gq_bql_state(&bql, NULL));
	EXPECT(GQ_EPACKET, gq_bql_sent(&bql, 0, 1));
	EXPECT(GQ_EPACKET, gq_bql_sent(&bql, GQ_MAX_LEN + 1, 1));
	EXPECT(GQ_WAKE, gq_bql_completed(&bql, 10, 0, 0));
	EXPECT(GQ_ETIME, gq_bql_completed(&bql, 9, 0, 0));
	EXPECT(GQ_ETIME, gq_bql_reset(&bql, 9));
	EXPECT(GQ_ETIME, gq_bql_check(&bql, 9, 0));
	CHECK(limit().errors == 6 && limit().over + limit().mismatches + limit().missed == 0);
}

static void as_it_should_be(void)
{
	start(64);
	EXPECT(GQ_STOP, gq_bql_sent(&bql, MTU, 1));
	EXPECT(GQ_WAKE, gq_bql_completed(&bql, 1000, 1, MTU));
	CHECK(limit().limit == MTU && limit().inflight == 0 && limit().avail == (int32_t)MTU);
	EXPECT(0, gq_bql_sent(&bql, MTU, 1));
	EXPECT(GQ_STOP, gq_bql_sent(&bql, MTU, 2));
	EXPECT(0, gq_bql_check(&bql, 1000, 2));
	EXPECT(0, gq_bql_reset(&bql, 2000));
	CHECK(limit().limit == 0 && limit().inflight_packets == 0 && limit().errors == 0);
}

/* T55: more completed than sent. Linux stops the machine. */
static void completed_more_than_sent(void)
{
	start(64);
	(void)gq_bql_sent(&bql, MTU, 1);
	EXPECT(GQ_EOVER, gq_bql_completed(&bql, 1, 2, 2 * MTU));
	CHECK(limit().over == 1 && limit().inflight == 0 && limit().avail >= 0);
	EXPECT(GQ_EOVER, gq_bql_completed(&bql, 1, 1, MTU));
	CHECK(limit().over == 2 && limit().avail >= 0);
}

/* T55: the device pads to 60 bytes, and the completion reports that; the hook in xmit reported 42. */
static void padding(void)
{
	start(64);
	(void)gq_bql_sent(&bql, 42, 1);
	EXPECT(GQ_EMISMATCH, gq_bql_completed(&bql, 1, 1, 60));
	(void)gq_bql_sent(&bql, 42, 1);
	(void)gq_bql_sent(&bql, 42, 2);
	EXPECT(GQ_EMISMATCH, gq_bql_completed(&bql, 2, 1, 60));
	CHECK(limit().inflight == 42);
	EXPECT(GQ_WAKE, gq_bql_completed(&bql, 3, 1, 42));
	CHECK(limit().mismatches == 2 && limit().inflight == 0);
}

/* The other way round: the hook in xmit counts the FCS, the completion does not. In Linux 4 bytes of every
 * packet stay in flight until the ring stops for good. */
static void short_completions(void)
{
	uint32_t at;

	start(64);
	(void)gq_bql_sent(&bql, MTU + 4, 1);
	for (at = 0; at < 100; at++) {
		(void)gq_bql_sent(&bql, MTU + 4, 2);
		EXPECT(GQ_EMISMATCH, gq_bql_completed(&bql, at, 1, MTU));
		CHECK(limit().inflight == MTU + 4);
	}
	EXPECT(GQ_EMISMATCH, gq_bql_completed(&bql, at, 1, MTU));
	CHECK(limit().inflight == 0 && limit().avail >= 0 && limit().mismatches == 101);
}

/* T55: a path that empties the ring and forgets the hook. In Linux the bytes stay in flight, and no packet is
 * sent again. */
static void missed_reset(void)
{
	uint32_t at;

	start(8);
	for (at = 1; at <= 5; at++) {
		(void)gq_bql_sent(&bql, MTU, at);
	}
	EXPECT(GQ_ERING, gq_bql_sent(&bql, MTU, 1)); /* the ring was emptied: it holds this one alone */
	CHECK(limit().inflight_packets == 1 && limit().inflight == MTU && limit().missed == 1);
	EXPECT(GQ_WAKE, gq_bql_completed(&bql, 1, 1, MTU));

	/* If the driver does not report what its ring holds, the size of the ring is the bound. */
	for (at = 1; at <= 8; at++) {
		CHECK(gq_bql_sent(&bql, MTU, GQ_UNKNOWN) >= 0);
	}
	EXPECT(GQ_ERING, gq_bql_sent(&bql, MTU, GQ_UNKNOWN));
	CHECK(limit().inflight_packets == 1);

	/* A watchdog that finds the ring empty. */
	EXPECT(GQ_ERING, gq_bql_check(&bql, 2, 0));
	CHECK(limit().inflight == 0 && limit().missed == 3);
	EXPECT(0, gq_bql_check(&bql, 2, 0));
}

/* A path that puts packets into the ring and forgets the first hook. */
static void missed_sent(void)
{
	start(0);
	EXPECT(GQ_ERING, gq_bql_sent(&bql, MTU, 3));
	CHECK(limit().inflight_packets == 3);
	(void)gq_bql_completed(&bql, 1, 2, 2 * MTU);
	(void)gq_bql_completed(&bql, 1, 1, MTU);
	CHECK(limit().inflight_packets == 0 && limit().inflight == 0 && limit().avail >= 0);
}

int main(void)
{
	setting_up();
	as_it_should_be();
	completed_more_than_sent();
	padding();
	short_completions();
	missed_reset();
	missed_sent();
	return 0;
}
