/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands in a result file, for those who look at it by other means than ours. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "unit.h"

#include <jansson.h>

/** Parsed; takes the results. */
static json_t *
document_of(struct nb_results *results)
{
	char *text = record_rig_written(results, "json", 0);
	json_error_t error;
	json_t *document = json_loads(text, 0, &error);
	ck_assert_msg(document != NULL, "%d: %s", error.line, error.text);
	free(text);
	nb_results_delete(results);
	return document;
}

static const json_t *
result_of(const json_t *document, size_t index)
{
	return json_array_get(json_object_get(document, "results"), index);
}

static const json_t *
first(const json_t *object, const char *name)
{
	const json_t *array = json_object_get(object, name);
	ck_assert_uint_gt(json_array_size(array), 0);
	return json_array_get(array, 0);
}

static json_int_t
integer(const json_t *object, const char *name)
{
	const json_t *json = json_object_get(object, name);
	ck_assert_msg(json_is_integer(json), "%s", name);
	return json_integer_value(json);
}

static const char *
string(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	ck_assert_msg(text != NULL, "%s", name);
	return text;
}

TEST(a_document_says_what_it_is)
{
	json_t *document = document_of(record_rig_new());
	ck_assert_str_eq(string(document, "format"), "mininb-result");
	ck_assert_int_eq(integer(document, "version"), NB_RESULTS_VERSION);
	ck_assert_str_eq(string(document, "mininb"), nb_version());
	ck_assert_uint_eq(json_array_size(json_object_get(document, "results")), 0);
	ck_assert_str_eq(
		string(json_object_get(document, "command"), "directory"), "/home/user");
	json_decref(document);
}

TEST(latencies_are_at_the_same_place_of_every_kind_of_run)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_job(results, "leveldb", 1);
	json_t *document = document_of(results);
	static const char *const actions[] = {"put", "run"},
				 *const groups[] = {"put", "readers"},
				 *const operations[] = {"put", "read"};
	static const json_int_t ops[] = {100000, 50400};
	for (size_t i = 0; i < 2; i++) {
		const json_t *result = result_of(document, i);
		const json_t *group = first(result, "groups");
		const json_t *operation = first(group, "operations");
		ck_assert_str_eq(string(result, "action"), actions[i]);
		ck_assert_str_eq(string(group, "name"), groups[i]);
		ck_assert_str_eq(string(operation, "operation"), operations[i]);
		ck_assert_int_eq(integer(operation, "ops"), ops[i]);
		ck_assert_int_eq(
			integer(json_object_get(operation, "service"), "count"), ops[i]);
		ck_assert_int_gt(integer(json_object_get(operation, "service"), "p99_ns"), 0);
		const json_t *series = json_object_get(
			json_object_get(result, "measured"), "series");
		const json_t *latency = first(
			json_array_get(json_object_get(series, "samples"), 3), "latencies");
		ck_assert_str_eq(string(latency, "operation"), operations[i]);
	}
	json_decref(document);
}

TEST(rates_are_those_of_the_report)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1);
	json_t *document = document_of(results);
	const json_t *result = result_of(document, 0);
	/* 100000 in 4 s; in 4.302 s with settling and closing; 3000 + 900 ns of CPU each */
	ck_assert(json_real_value(json_object_get(result, "throughput_ops_s")) == 25000);
	ck_assert(fabs(json_real_value(json_object_get(result, "settled_throughput_ops_s")) -
			  23245.0023) < 1e-4);
	ck_assert(json_real_value(json_object_get(result, "cpu_ns_op")) == 3900);
	json_decref(document);
}

TEST(a_run_without_a_result_has_no_action)
{
	struct nb_results *results = record_rig_new();
	ck_assert_int_eq(nb_results_add_failure(results, "lmdb", "killed by signal 9"), NB_OK);
	json_t *document = document_of(results);
	const json_t *result = result_of(document, 0);
	ck_assert(json_is_null(json_object_get(result, "action")));
	ck_assert_str_eq(string(result, "end"), "killed by signal 9");
	ck_assert_ptr_null(json_object_get(result, "measured"));
	json_decref(document);
}

TEST(what_cannot_be_a_number_is_null)
{
	struct nb_results *results = record_rig_new();
	struct nb_result *run = record_rig_add_put(results, "leveldb", 1)->run;
	run->verify_rate = NAN;
	run->measured.floor_op_ns = INFINITY;
	json_t *document = document_of(results);
	const json_t *result = result_of(document, 0);
	ck_assert(json_is_null(json_object_get(result, "verify_rate")));
	ck_assert(json_is_null(
		json_object_get(json_object_get(result, "measured"), "floor_op_ns")));
	json_decref(document);
}

TEST(a_sample_leaves_out_what_is_0)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1);
	json_t *document = document_of(results);
	const json_t *measured = json_object_get(result_of(document, 0), "measured");
	const json_t *sample = first(json_object_get(measured, "series"), "samples");
	ck_assert_ptr_null(json_object_get(json_object_get(sample, "used"), "cycles"));
	ck_assert_ptr_nonnull(json_object_get(json_object_get(sample, "used"), "user_ns"));
	ck_assert_int_eq(integer(json_object_get(measured, "used"), "cycles"), 0);
	json_decref(document);
}

TEST(plain_elements_stand_on_one_line)
{
	struct nb_results *results = record_rig_new();
	results->list_count = 2;
	char *text = record_rig_written(results, "json", 0);
	ck_assert_ptr_nonnull(strstr(text,
		"\n  \"words\": [\"run\", \"--driver=leveldb\", \"--workload=ycsb-a\", "
		"\"--durability=process\", \"--path=/tmp/a b\"],\n"));
	ck_assert_ptr_nonnull(strstr(text,
		"\n  \"options\": [\n   {\"name\": \"driver\", \"value\": \"leveldb\"},\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n \"list_count\": 2,\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n \"results\": []\n}\n"));
	free(text);
	nb_results_delete(results);
}

TEST(a_real_number_has_no_more_digits_than_it_takes)
{
	struct nb_results *results = record_rig_new();
	struct nb_result *run = record_rig_add_put(results, "leveldb", 1)->run;
	run->clock.step_ns = 0.41;
	run->clock.read_ns = 1.0 / 3;
	run->verify_rate = 0.1 + 0.2; /* 0.30000000000000004, as everybody knows */
	char *text = record_rig_written(results, "json", 0);
	ck_assert_ptr_nonnull(strstr(text, "\"step_ns\": 0.41\n"));
	ck_assert_ptr_nonnull(strstr(text, "\"read_ns\": 0.3333333333333333,"));
	ck_assert_ptr_nonnull(strstr(text, "\"verify_rate\": 0.30000000000000004,"));
	free(text);
	nb_results_delete(results);
}

TEST(a_full_disk_is_told)
{
	struct nb_results *results = record_rig_new();
	FILE *full = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(full);
	record_rig_add_put(results, "leveldb", 1);
	ck_assert_int_eq(nb_results_write(results, "json", full, 0), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "the result cannot be written"));
	fclose(full);
	nb_results_delete(results);
}
