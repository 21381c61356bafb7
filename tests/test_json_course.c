/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of records that are more than a table, each alone. */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "report/json_course.h"
#include "unit.h"

static struct json_reader reader;

static json_t *
parsed(const char *text)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
	ck_assert_msg(json != NULL, "%s", text);
	reader = (struct json_reader){.file = "a.json"};
	return json;
}

static void
read_key(struct job_case *into, const char *text, int rc)
{
	json_t *json = parsed(text);
	*into = (struct job_case){0};
	ck_assert_int_eq(json_read_case_key(&reader, json, into), rc);
	json_decref(json);
}

TEST(of_a_key_the_first_bytes_are_kept)
{
	struct job_case it = {.key_size = 3, .key = {0x00, 0xab, 0xff, 0x77}};
	json_t *json = json_write_case_key(NULL, &it);
	ck_assert_str_eq(json_string_value(json), "00abff");
	json_decref(json);
	it.key_size = 1000;
	json = json_write_case_key(NULL, &it);
	ck_assert_uint_eq(json_string_length(json), 2 * JOB_CASE_BYTES);
	json_decref(json);
	read_key(&it, "\"00abff\"", NB_OK);
	ck_assert_uint_eq(it.key[1], 0xab);
	read_key(&it, "null", NB_OK);
	read_key(&it, "\"0\"", NB_ERR_DATA);
	read_key(&it, "\"0x\"", NB_ERR_DATA);
	read_key(&it, "7", NB_ERR_DATA);
	read_key(&it, "\"000000000000000000000000000000000000000000000000000000000000000000\"",
		NB_ERR_DATA); /* 33 bytes */
}

TEST(operations_are_those_that_there_were)
{
	struct json_writer writer = {.verb = NULL};
	struct job_result_group group = {.measured.wall_ns = 500000000}, read = {0};
	group.measured.kinds[NB_OP_RMW].ops = 7;
	group.measured.kinds[NB_OP_SCAN].answers[NB_CONFLICT] = 3;
	json_t *json = json_write_operations(&writer, &group);
	char *text = json_dumps(json, JSON_COMPACT);
	ck_assert_str_eq(text,
		"[{\"operation\":\"scan\",\"throughput_ops_s\":0.0,\"ops\":0,\"records\":0,"
		"\"value_bytes\":0,\"answers\":{\"conflict\":3},\"service\":null,"
		"\"response\":null},"
		"{\"operation\":\"read-modify-write\",\"throughput_ops_s\":14.0,\"ops\":7,"
		"\"records\":0,\"value_bytes\":0,\"answers\":{},\"service\":null,"
		"\"response\":null}]");
	free(text);
	reader = (struct json_reader){.file = "a.json"};
	ck_assert_int_eq(json_read_operations(&reader, json, &read), NB_OK);
	ck_assert_ptr_null(reader.place);
	ck_assert_uint_eq(read.measured.kinds[NB_OP_RMW].ops, 7);
	ck_assert_uint_eq(read.measured.kinds[NB_OP_SCAN].answers[NB_CONFLICT], 3);
	json_decref(json);
}

static void
assert_refused(const char *text, const char *said)
{
	struct measurement measured = {0};
	json_t *json = parsed(text);
	ck_assert_int_eq(json_read_series(&reader, json, &measured), NB_ERR_DATA);
	ck_assert_str_eq(nb_error_text(), said);
	series_destroy(&measured.series);
	json_decref(json);
}

TEST(a_series_must_fit_its_names_and_its_latencies_be_histograms)
{
	assert_refused("{\"samples\": [{}, {\"counters\": [1]}]}",
		"a.json: samples[1]: has more counters than there are names");
	assert_refused("{\"counters\": [{\"name\": \"a\"}],"
		       " \"samples\": [{\"counters\": [1, 2]}]}",
		"a.json: samples[0]: has more counters than there are names");
	assert_refused("{\"samples\": [{\"latencies\": [{}]}]}",
		"a.json: samples[0].latencies[0].hdr: is missing");
	assert_refused("{\"samples\": [{\"latencies\": [{\"hdr\": \"x\"}]}]}",
		"a.json: samples[0].latencies[0]: hdr is not a histogram: it is not base64");
	assert_refused("{\"pulses\": [{\"ops\": [1, 4294967296]}]}",
		"a.json: pulses[0].ops[1]: must be at most 4294967295");
	assert_refused("[]", "a.json: must be an object");
}

TEST(a_series_is_read_as_it_was)
{
	struct json_writer writer = {.verb = "put"};
	struct nb_results *results = record_rig_new();
	struct measurement read = {0}, *was;
	was = &record_rig_add_put(results, "leveldb", 1)->run->measured;
	json_t *json = json_write_series(&writer, was);
	reader = (struct json_reader){.file = "a.json", .verb = "put"};
	ck_assert_int_eq(json_read_series(&reader, json, &read), NB_OK);
	ck_assert_ptr_null(reader.place);
	json_t *again = json_write_series(&writer, &read);
	ck_assert(json_equal(json, again));
	ck_assert_uint_eq(
		read.series.samples[2].used.user_ns, was->series.samples[2].used.user_ns);
	json_decref(json);
	json_decref(again);
	series_destroy(&read.series);
	nb_results_delete(results);
}
