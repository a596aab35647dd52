/* Choosing, sizing and setting up queues, and every way in which that can fail. */
#include "check.h"

static void defaults_and_texts(void)
{
	struct gq_config config, other;
	size_t at = 99;

	memset(&config, 0, sizeof config);
	EXPECT(GQ_ESIZE, gq_config_default(GQ_CODEL, &config));
	config.size = sizeof config;
	EXPECT(GQ_EKIND, gq_config_default(0, &config));
	EXPECT(GQ_EKIND, gq_config_default(77, &config));
	EXPECT(GQ_ENULL, gq_config_default(GQ_CODEL, NULL));
	EXPECT(0, gq_config_default(GQ_FQ_CODEL, &config));
	CHECK(config.size == sizeof config && config.kind == GQ_FQ_CODEL && config.mtu == 1514);
	CHECK(config.limit == GQ_DEFAULT && config.drop_slots == GQ_DROPS_ALL && config.full == GQ_DEFAULT);

	config.limit = 1000;
	config.flows = 64;
	other = config_of("fq_codel limit=1000 flows=64");
	CHECK(memcmp(&config, &other, sizeof config) == 0);
	other = config_of("FQ_CODEL, limit=1000,\tflows=64");
	CHECK(memcmp(&config, &other, sizeof config) == 0);

	EXPECT(GQ_ENULL, gq_config_parse(NULL, &config, &at));
	EXPECT(GQ_ENULL, gq_config_parse("codel", NULL, &at));
	EXPECT(GQ_EKIND, gq_config_parse("", &config, &at));
	EXPECT(GQ_EKIND, gq_config_parse("hfsc", &config, &at));
	EXPECT(GQ_EPARAM, gq_config_parse("codel flows=2", &config, &at));
	CHECK(at == 6);
	EXPECT(GQ_EVALUE, gq_config_parse("codel target=5", &config, &at));
	CHECK(at == 13);
	EXPECT(GQ_ETWICE, gq_config_parse("codel limit=1 limit=1", &config, NULL));
	EXPECT(GQ_EMISSING, gq_config_parse("tbf rate=1mbit burst=2k", &config, &at));
	CHECK(at == strlen("tbf rate=1mbit burst=2k"));
	EXPECT(GQ_ECONFLICT,
	       gq_config_parse("tbf rate=1mbit burst=2k limit=9k peakrate=1mbit", &config, &at));
	EXPECT(GQ_ETEXT, gq_config_parse("codel \xff", &config, &at));
	config.size = 8;
	EXPECT(GQ_ESIZE, gq_config_parse("codel", &config, &at));
}

static void long_texts(void)
{
	struct gq_config config;
	char *text = (char *)malloc(4097);

	CHECK(text != NULL);
	config.size = sizeof config;
	memset(text, ' ', 4097);
	memcpy(text, "codel", 5);
	text[4095] = 0;
	EXPECT(0, gq_config_parse(text, &config, NULL));
	text[4095] = ' ';
	text[4096] = 0;
	EXPECT(GQ_ETEXT, gq_config_parse(text, &config, NULL));
	free(text);
}

static void sizes(void)
{
	struct gq_config config = config_of("pfifo:1000");
	size_t small, large, bytes;

	EXPECT(0, gq_queue_size(&config, &large));
	config.slots = 10;
	EXPECT(0, gq_queue_size(&config, &small));
	CHECK(small < large && small % GQ_ALIGN == 0);
	config.drop_slots = 0;
	EXPECT(0, gq_queue_size(&config, &bytes));
	CHECK(bytes < small);
	EXPECT(GQ_ENULL, gq_queue_size(NULL, &bytes));
	EXPECT(GQ_ENULL, gq_queue_size(&config, NULL));
	config.mtu = 0;
	EXPECT(GQ_EVALUE, gq_queue_size(&config, &bytes));
	config.mtu = 1514;
	config.reserved = 1;
	EXPECT(GQ_EVALUE, gq_queue_size(&config, &bytes));
	config.reserved = 0;
	config.limit = 4194305;
	EXPECT(GQ_EVALUE, gq_queue_size(&config, &bytes));
	config.limit = 1;
	config.target = 5000000;
	EXPECT(GQ_EPARAM, gq_queue_size(&config, &bytes));
	config.kind = 42;
	EXPECT(GQ_EKIND, gq_queue_size(&config, &bytes));

	config = config_of("fifo:60ms");
	config.link_rate = 100000;
	EXPECT(GQ_EROOM, gq_queue_size(&config, &bytes));
	config.link_rate = 20000000;
	EXPECT(0, gq_queue_size(&config, &bytes));
	config.link_rate = UINT64_C(1000000000000);
	EXPECT(GQ_EVALUE, gq_queue_size(&config, &bytes));
	config = config_of("fq_codel");
	config.slots = 1;
	EXPECT(GQ_EVALUE, gq_queue_size(&config, &bytes));
}

static void placing(void)
{
	struct gq_config config = config_of("codel");
	struct place place = place_for(&config);
	struct gq_packet packet = packet_of(1, 100, 0);
	struct gq_queue *moved;
	uint64_t wake;

	EXPECT(GQ_ENULL, gq_queue_init(NULL, place.bytes, &config, 0, &place.queue));
	EXPECT(GQ_ENULL, gq_queue_init(place.memory, place.bytes, NULL, 0, &place.queue));
	EXPECT(GQ_ENULL, gq_queue_init(place.memory, place.bytes, &config, 0, NULL));
	EXPECT(GQ_EMEMORY, gq_queue_init(place.memory, place.bytes - 1, &config, 0, &place.queue));
	EXPECT(GQ_EALIGN,
	       gq_queue_init((char *)place.memory + 8, place.bytes, &config, 0, &place.queue));
	CHECK(place.queue == NULL);
	memset(place.memory, 0, place.bytes);
	EXPECT(GQ_EHANDLE, gq_enqueue((struct gq_queue *)place.memory, 0, &packet));
	EXPECT(GQ_EHANDLE, gq_enqueue((struct gq_queue *)((char *)place.memory + 1), 0, &packet));
	EXPECT(0, gq_queue_init(place.memory, place.bytes, &config, 5, &place.queue));
	CHECK((void *)place.queue == place.memory);
	EXPECT(0, gq_next_wake(place.queue, 5, &wake));

	moved = (struct gq_queue *)malloc(place.bytes);
	CHECK(moved != NULL);
	memcpy(moved, place.memory, place.bytes);
	EXPECT(GQ_EHANDLE, gq_next_wake(moved, 5, &wake));
	free(moved);
	free(place.raw);
}

static void words(void)
{
	int32_t code;

	CHECK(gq_abi_version() == GQ_ABI_VERSION);
	CHECK(strchr(gq_version(), '.') != NULL);
	CHECK(strcmp(gq_strerror(0), "no error") == 0);
	CHECK(strcmp(gq_strerror(GQ_ENULL), "a pointer is null") == 0);
	for (code = GQ_ERING; code < 0; code++) {
		CHECK(strcmp(gq_strerror(code), gq_strerror(GQ_ERING - 1)) != 0);
	}
}

static void hashes(void)
{
	struct gq_flow flow;
	uint32_t hash, other;

	memset(&flow, 0, sizeof flow);
	EXPECT(GQ_ESIZE, gq_flow_hash(&flow, 1, 2, &hash));
	flow.size = sizeof flow;
	EXPECT(GQ_EVALUE, gq_flow_hash(&flow, 1, 2, &hash));
	flow.version = 4;
	flow.protocol = 6;
	flow.source_port = 40000;
	flow.destination_port = 443;
	memcpy(flow.source, "\x0a\x00\x00\x01", 4);
	memcpy(flow.destination, "\x0a\x00\x00\x02", 4);
	EXPECT(0, gq_flow_hash(&flow, 1, 2, &hash));
	flow.source[15] = 9; /* after an address of version 4 */
	EXPECT(0, gq_flow_hash(&flow, 1, 2, &other));
	CHECK(hash == other);
	flow.version = 6;
	EXPECT(0, gq_flow_hash(&flow, 1, 2, &other));
	CHECK(hash != other);
	EXPECT(GQ_ENULL, gq_flow_hash(NULL, 1, 2, &hash));
	EXPECT(GQ_ENULL, gq_flow_hash(&flow, 1, 2, NULL));
}

/* The structs have the same length here as in the library: one byte less is too short. */
static void structs_are_equally_long(void)
{
	struct gq_config config = config_of("codel");
	struct place place = place_of(&config);
	struct gq_packet packet = packet_of(1, 100, 0);
	struct gq_stats stats;
	struct gq_counter counter;
	struct gq_drop drop;
	struct gq_flow flow;
	struct gq_bql bql;
	struct gq_bql_config bql_config;
	struct gq_bql_state state;
	uint32_t hash;
	int is_short;

	memset(&flow, 0, sizeof flow);
	flow.version = 4;
	EXPECT(0, gq_bql_init(&bql, sizeof bql, NULL, 0));
	for (is_short = 1; is_short >= 0; is_short--) {
		int32_t expected = is_short ? GQ_ESIZE : 0;

		config.size = (uint32_t)sizeof config - (uint32_t)is_short;
		packet.size = (uint32_t)sizeof packet - (uint32_t)is_short;
		stats.size = (uint32_t)sizeof stats - (uint32_t)is_short;
		counter.size = (uint32_t)sizeof counter - (uint32_t)is_short;
		drop.size = (uint32_t)sizeof drop - (uint32_t)is_short;
		flow.size = (uint32_t)sizeof flow - (uint32_t)is_short;
		bql_config.size = (uint32_t)sizeof bql_config - (uint32_t)is_short;
		state.size = (uint32_t)sizeof state - (uint32_t)is_short;
		EXPECT(expected, gq_config_default(GQ_CODEL, &config));
		EXPECT(expected, gq_dequeue(place.queue, 0, &packet));
		EXPECT(expected, gq_queue_stats(place.queue, &stats));
		EXPECT(is_short ? GQ_ESIZE : 1, gq_queue_counter(place.queue, 0, &counter));
		EXPECT(expected, gq_take_drops(place.queue, &drop, 1));
		EXPECT(expected, gq_flow_hash(&flow, 1, 2, &hash));
		EXPECT(expected, gq_bql_config_default(&bql_config));
		EXPECT(expected, gq_bql_state(&bql, &state));
	}
	free(place.raw);
}

int main(void)
{
	defaults_and_texts();
	long_texts();
	sizes();
	placing();
	words();
	structs_are_equally_long();
	hashes();
	return 0;
}
