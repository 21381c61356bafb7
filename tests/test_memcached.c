/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The codec and the continuum of plugins/memcached. The replies come from memcached 1.6.18, the
 * servers of keys from libmemcached 1.1.4.
 */
#include "../plugins/memcached/memcached.h"

#include "unit.h"

static struct nb_db database = {.value_max = 1000, .target_count = 1};
static struct nb_session session = {.db = &database};

static struct nb_slice
slice(const char *text)
{
	return (struct nb_slice){text, strlen(text)};
}

/* ---- requests ---- */

/** The encoded request. */
static const char *
encoded(struct flying *flying, const struct nb_request *request)
{
	static char bytes[2000];
	*flying = (struct flying){
		.verb = request->verb, .operand = request->operand, .replies = 1};
	size_t bound = memcached_codec.bound(&session, flying, request);
	ck_assert_uint_gt(bound, 0);
	ck_assert_uint_le(bound, sizeof(bytes));
	char *end = memcached_codec.encode(&session, flying, request, bytes);
	ck_assert_uint_le((size_t)(end - bytes), bound);
	*end = '\0';
	return bytes;
}

TEST(requests_are_meta_commands)
{
	static const struct {
		uint32_t verb;
		const char *key, *value, *text;
	} rows[] = {{NB_REQ_GET, "key", "", "mg key v\r\n"},
		{NB_REQ_PUT, "key", "value", "ms key 5\r\nvalue\r\n"},
		{NB_REQ_PUT, "key", "", "ms key 0\r\n\r\n"},
		{NB_REQ_INSERT, "key", "0123456789", "ms key 10 ME\r\n0123456789\r\n"},
		{NB_REQ_DEL, "key", "", "md key\r\n"},
		{NB_REQ_MERGE, "key", "", "mg key v c\r\n"},
		{NB_REQ_GET, "a b", "", "mg YSBi b v\r\n"},
		{NB_REQ_PUT, "\x01", "v", "ms AQ== 1 b\r\nv\r\n"},
		{NB_REQ_INSERT, "\x7f\xff", "v", "ms f/8= 1 b ME\r\nv\r\n"},
		{NB_REQ_DEL, "\n\n\n\n", "", "md CgoKCg== b\r\n"},
		{NB_REQ_MERGE, "a b", "", "mg YSBi b v c\r\n"},
		{NB_REQ_GET, "\x80\xff~!", "", "mg \x80\xff~! v\r\n"}};
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct flying flying;
		const struct nb_request request = {.verb = rows[i].verb,
			.key = slice(rows[i].key),
			.value = slice(rows[i].value)};
		ck_assert_str_eq(encoded(&flying, &request), rows[i].text);
	}
}

TEST(longest_keys_fit_and_longer_ones_are_refused)
{
	static const struct {
		char byte;
		size_t size;
		bool is_sent;
	} rows[] = {{'x', 250, true}, {'x', 251, false}, {'\0', 186, true}, {'\0', 187, false},
		{' ', 250, false}, {'x', 0, false}};
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		char bytes[300], at[1000];
		struct flying flying = {.verb = NB_REQ_GET};
		const struct nb_request request = {.key = {bytes, rows[i].size}};
		memset(bytes, rows[i].byte, sizeof(bytes));
		size_t bound = memcached_codec.bound(&session, &flying, &request);
		ck_assert_int_eq(bound > 0, rows[i].is_sent);
		ck_assert_int_eq(flying.answer, rows[i].is_sent ? NB_OK : NB_UNSUPPORTED);
		if (!rows[i].is_sent)
			continue;
		char *end = memcached_codec.encode(&session, &flying, &request, at);
		ck_assert_uint_le((size_t)(end - at), bound);
		ck_assert_uint_le((size_t)((char *)memchr(at + 3, ' ', 400) - at) - 3, 250);
	}
}

TEST(values_that_the_server_refuses_are_not_sent)
{
	static const char bytes[1001];
	struct flying flying = {.verb = NB_REQ_PUT};
	struct nb_request request = {
		.verb = NB_REQ_PUT, .key = slice("k"), .value = {bytes, 1001}};
	ck_assert_uint_eq(memcached_codec.bound(&session, &flying, &request), 0);
	ck_assert_int_eq(flying.answer, NB_UNSUPPORTED);
	request.value.size = 1000;
	ck_assert_uint_ge(memcached_codec.bound(&session, &flying, &request), 1020);
}

/* ---- replies ---- */

/*
 * A reply cut at any place is incomplete. A complete reply is consumed exactly, whatever
 * follows it.
 */
static size_t
decode_cut(struct flying *flying, const char *reply, size_t size)
{
	char bytes[700];
	for (size_t cut = 1; cut < size; cut++) {
		struct flying again = *flying;
		size_t need = 0;
		char *exact = malloc(cut); /* sanitizers detect reads beyond it */
		memcpy(exact, reply, cut);
		size_t used = memcached_codec.decode(&session, &again, exact, cut, &need);
		free(exact);
		ck_assert_msg(used == 0, "%s cut at %zu", reply, cut);
		ck_assert(need == 0 || need == size);
	}
	size_t need = 0;
	memcpy(bytes, reply, size);
	memcpy(bytes + size, "HD\r\n", 4);
	return memcached_codec.decode(&session, flying, bytes, size + 4, &need);
}

TEST(replies_are_answers)
{
	static const struct {
		uint32_t verb;
		const char *reply;
		int32_t answer;
		const char *value;
	} rows[] = {{NB_REQ_GET, "EN\r\n", NB_NOT_FOUND, NULL},
		{NB_REQ_GET, "VA 2 \r\nhi\r\n", NB_OK, "hi"},
		{NB_REQ_GET, "VA 2\r\nhi\r\n", NB_OK, "hi"},
		{NB_REQ_GET, "VA 0 \r\n\r\n", NB_OK, ""},
		{NB_REQ_GET, "VA 4 \r\n\r\n\r\n\r\n", NB_OK, "\r\n\r\n"},
		{NB_REQ_PUT, "HD\r\n", NB_OK, NULL}, {NB_REQ_PUT, "HD \r\n", NB_OK, NULL},
		{NB_REQ_INSERT, "HD\r\n", NB_OK, NULL},
		{NB_REQ_INSERT, "NS\r\n", NB_EXISTS, NULL}, {NB_REQ_DEL, "HD\r\n", NB_OK, NULL},
		{NB_REQ_DEL, "NF\r\n", NB_NOT_FOUND, NULL},
		{NB_REQ_PUT, "SERVER_ERROR out of memory storing object\r\n", NB_FAIL, NULL}};
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct flying flying = {.verb = rows[i].verb, .replies = 1};
		size_t size = strlen(rows[i].reply);
		ck_assert_uint_eq(decode_cut(&flying, rows[i].reply, size), size);
		ck_assert_int_eq(flying.answer, rows[i].answer);
		ck_assert_int_eq(flying.value.data != NULL, rows[i].value != NULL);
		ck_assert_uint_eq(
			flying.value.size, rows[i].value != NULL ? strlen(rows[i].value) : 0);
	}
}

TEST(unexpected_replies_are_garbage)
{
	static const struct {
		uint32_t verb;
		const char *reply;
	} rows[] = {{NB_REQ_GET, "HD\r\n"}, {NB_REQ_GET, "NF\r\n"}, {NB_REQ_PUT, "NS\r\n"},
		{NB_REQ_PUT, "EN\r\n"}, {NB_REQ_DEL, "NS\r\n"}, {NB_REQ_PUT, "VA 1 \r\nx\r\n"},
		{NB_REQ_GET, "VA 1 \r\nxyz"}, {NB_REQ_GET, "VA x\r\n"}, {NB_REQ_GET, "VA \r\n"},
		{NB_REQ_GET, "VA 99999999999999999999 \r\n"}, {NB_REQ_GET, "\n"},
		{NB_REQ_GET, "END\r\n"}, {NB_REQ_GET, "ERROR\r\n"},
		{NB_REQ_PUT, "CLIENT_ERROR bad data chunk\r\n"},
		{NB_REQ_GET, "CLIENT_ERROR bad command line format\r\n"}};
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct flying flying = {.verb = rows[i].verb, .replies = 1};
		char bytes[100];
		size_t need = 0;
		strcpy(bytes, rows[i].reply);
		ck_assert_msg(memcached_codec.decode(&session, &flying, bytes, strlen(bytes),
				      &need) == CODEC_GARBAGE,
			"%s", rows[i].reply);
		if (strncmp(rows[i].reply, "CLIENT", 6) == 0)
			ck_assert_uint_eq(strlen(flying.error), strlen(rows[i].reply) - 2);
	}
	static char endless[600];
	struct flying flying = {.verb = NB_REQ_GET, .replies = 1};
	size_t need = 0;
	memset(endless, 'x', sizeof(endless));
	ck_assert_uint_eq(
		memcached_codec.decode(&session, &flying, endless, 600, &need), CODEC_GARBAGE);
}

/* ---- merges ---- */

static size_t
reply(struct flying *flying, const char *text, size_t size)
{
	flying->is_again = false;
	return decode_cut(flying, text, size);
}

/** The next command of a merge. */
static const char *
sent_again(struct flying *flying, const char *kept)
{
	static char bytes[500];
	ck_assert(flying->is_again);
	char *end = memcached_codec.again(&session, flying, kept, strlen(kept), bytes);
	ck_assert_uint_le((size_t)(end - bytes), strlen(kept) + CODEC_AGAIN_ROOM);
	*end = '\0';
	return bytes;
}

/*
 * The merge loses a race, the number is deleted, another client inserts it, then the merge
 * succeeds.
 */
TEST(merge_repeats_until_no_other_client_was_faster)
{
	static const char sum_of_7[] = "VA 8 c18446744073709551615\r\n\2\0\0\0\0\0\0\0\r\n";
	struct flying flying;
	struct nb_request request = {.verb = NB_REQ_MERGE, .key = slice("a b"), .operand = 5};
	char kept[100];
	strcpy(kept, encoded(&flying, &request));
	ck_assert(flying.is_kept);
	ck_assert_uint_eq(session.merges, 1);
	ck_assert_uint_eq(reply(&flying, sum_of_7, sizeof(sum_of_7) - 1), sizeof(sum_of_7) - 1);
	const char *sent = sent_again(&flying, kept);
	ck_assert_str_eq(sent, "ms YSBi 8 b C18446744073709551615\r\n\7");
	ck_assert_mem_eq(strchr(sent, '\7'), "\7\0\0\0\0\0\0\0\r\n", 10);
	reply(&flying, "EX\r\n", 4);
	ck_assert_str_eq(sent_again(&flying, kept), kept);
	reply(&flying, sum_of_7, sizeof(sum_of_7) - 1);
	reply(&flying, "NF\r\n", 4);
	ck_assert_str_eq(sent_again(&flying, kept), kept);
	reply(&flying, "EN\r\n", 4);
	ck_assert_str_eq(sent_again(&flying, kept), "ms YSBi 8 b ME\r\n\5");
	reply(&flying, "NS\r\n", 4);
	ck_assert_str_eq(sent_again(&flying, kept), kept);
	reply(&flying, "EN\r\n", 4);
	ck_assert_uint_eq(session.merges, 1);
	reply(&flying, "HD\r\n", 4);
	ck_assert(!flying.is_again);
	ck_assert_int_eq(flying.answer, NB_OK);
	ck_assert_uint_eq(session.merges, 0);
}

TEST(merge_of_a_value_that_is_not_a_counter_fails)
{
	struct flying flying = {.verb = NB_REQ_MERGE, .replies = 1};
	session.merges = 1;
	reply(&flying, "VA 3 c5\r\nabc\r\n", 14);
	ck_assert(!flying.is_again);
	ck_assert_int_eq(flying.answer, NB_FAIL);
	ck_assert_uint_eq(session.merges, 0);
}

/* ---- ketama ---- */

static const char *const servers[] = {
	"10.0.1.1:11211", "10.0.1.2:11211", "10.0.1.3:11212", "10.0.1.4:11213"};

/* From memcached_generate_hash() with MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED and these servers. */
TEST(ketama_is_that_of_libmemcached)
{
	static const struct {
		const char *key;
		uint32_t server;
	} rows[] = {{"a", 2}, {"b", 1}, {"foo", 3}, {"user6284781860667377211", 1},
		{"key-0", 1}, {"key-1", 2}, {"key-2", 0}, {"key-3", 2}, {"key-4", 2},
		{"key-5", 1}, {"key-6", 1}, {"key-7", 2}, {"key-8", 3}, {"key-9", 3},
		{"0123456789012345678901234567890123456789012345678901234567890123456789", 2}};
	struct ketama_point *points = ketama_new(servers, 4);
	uint32_t sum = 0, counts[4] = {0};
	for (size_t i = 0; i < UNIT_COUNT(rows); i++)
		ck_assert_uint_eq(ketama_server(points, 4, slice(rows[i].key)), rows[i].server);
	for (int i = 0; i < 20000; i++) {
		char key[32];
		snprintf(key, sizeof(key), "user%d", i);
		uint32_t server = ketama_server(points, 4, slice(key));
		counts[server]++;
		sum = sum * 31 + server;
	}
	static const uint32_t wanted[] = {4308, 4840, 5486, 5366};
	ck_assert_mem_eq(counts, wanted, sizeof(counts));
	ck_assert_uint_eq(sum, 25580390);
	free(points);
}
