/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of result files match their structures, and the rows with code work as intended.
 */
#include <stdlib.h>
#include <string.h>

#include "report/json_tables.h"
#include "unit.h"

TEST(names_match_reports_and_options)
{
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
		ck_assert_str_eq(json_name(&json_kinds, NULL, NULL, kind), nb_op_name(kind));
	ck_assert_uint_eq(json_kinds.count, NB_KINDS_MAX);
	for (uint32_t verb = 0; nb_verb_name(verb) != NULL; verb++)
		ck_assert_str_eq(json_name(&json_verbs, NULL, NULL, verb), nb_verb_name(verb));
	ck_assert_str_eq(json_name(&json_kinds, "put", NULL, 0), "put");
	ck_assert_str_eq(json_name(&json_kinds, "put", NULL, 1), "update");
	ck_assert_ptr_null(json_name(&json_kinds, NULL, NULL, NB_OP_KINDS));
}

/** Check the number of a row's names. For COUNTS, the member's size must agree with it. */
static void
assert_names(const struct json_field *table, const char *name, uint32_t count)
{
	const struct json_field *field = table;
	while (field->name != NULL && strcmp(field->name, name) != 0)
		field++;
	ck_assert_msg(field->name != NULL, "%s", name);
	ck_assert_uint_eq(field->names->count, count);
	if (field->type == JSON_T_COUNTS)
		ck_assert_uint_eq(field->size, count * field->element);
}

TEST(number_of_names_equals_that_of_values)
{
	assert_names(json_result_fields, "durability", NB_DUR_COMMIT + 1);
	assert_names(json_result_fields, "settle", NB_RUN_SETTLE_COMPACT + 1);
	/* bit flags; this is the highest one */
	assert_names(json_result_fields, "flags", (size_t)__builtin_ctz(NB_RUN_FORCE) + 1);
	assert_names(json_group_fields, "distribution", NB_DIST_KINDS);
	assert_names(json_group_fields, "arrivals", NB_ARRIVAL_POISSON + 1);
	assert_names(json_group_fields, "mix", NB_KINDS_MAX);
	assert_names(json_kind_fields, "answers", WORKER_ANSWERS);
	const struct json_field *durability = json_result_fields;
	while (strcmp(durability->name, "durability") != 0)
		durability++;
	for (uint32_t level = 0; level <= NB_DUR_COMMIT; level++)
		ck_assert_str_eq(json_name(durability->names, NULL, NULL, level),
			nb_durability_name(level));
}

/** In every reachable table, each COUNTS has a name for each of its numbers. */
static void
check_table(const struct json_field *table)
{
	for (const struct json_field *field = table; field->name != NULL; field++) {
		if (field->type == JSON_T_COUNTS)
			ck_assert_msg(field->size == field->names->count * field->element, "%s",
				field->name);
		if (field->type == JSON_T_NUMBER)
			ck_assert_msg(field->size == 4 || field->size == 8, "%s", field->name);
		if (field->type == JSON_T_FLAG)
			ck_assert_msg(field->size == 1 || field->size == 4, "%s", field->name);
		if (field->type == JSON_T_REAL)
			ck_assert_msg(field->size == sizeof(double), "%s", field->name);
		if (field->type == JSON_T_CHARS)
			ck_assert_msg(field->size > 8, "%s", field->name);
		if (field->type == JSON_T_TEXT || field->type == JSON_T_BORROWED ||
			field->type == JSON_T_HISTOGRAM)
			ck_assert_msg(field->size == sizeof(void *), "%s", field->name);
		if ((field->flags & FIELD_WITHIN) != 0)
			ck_assert_msg(
				field->most * field->element <= field->size, "%s", field->name);
		if (field->fields != NULL)
			check_table(field->fields);
	}
}

TEST(rows_fit_the_types_of_their_members)
{
	check_table(json_command_fields);
	check_table(json_sweep_fields);
	check_table(json_record_fields);
	check_table(json_result_fields);
	check_table(json_job_fields);
	check_table(json_group_fields);
	check_table(json_kind_fields);
}

/* ---- members missing in the tables ---- */

enum { ROOM = 1 << 14 };

/** Mark the bytes of a structure that a table covers. */
static void
cover(uint8_t covered[ROOM], const struct json_field *table)
{
	for (const struct json_field *field = table; field->name != NULL; field++) {
		ck_assert_uint_le(field->offset + field->size, ROOM);
		memset(covered + field->offset, 1, field->size);
		memset(covered + field->count_offset, 1, field->count_size);
		if (field->size == 0)
			cover(covered, field->fields); /* the members of a part */
	}
}

/** Members that are stored elsewhere in a file, or are meaningless in one. */
static bool
is_meant(const char *name, size_t offset)
{
	static const struct {
		const char *name;
		size_t offset;
	} meant[] = {{"measured", offsetof(struct measurement, owners)},
		{"measured", offsetof(struct measurement, counters.is_short)},
		{"measured", offsetof(struct measurement, hiccups)},
		/* expected values of rows_after */
		{"measured", offsetof(struct measurement, grown[TAO_OBJECTS])},
		{"measured", offsetof(struct measurement, grown[TAO_EDGES])},
		{"series", offsetof(struct series, counters.is_short)},
		/* memory of a series that grows */
		{"series", offsetof(struct series, room)},
		{"series", offsetof(struct series, bytes)},
		{"intervals", offsetof(struct nb_interval, kinds)},
		{"record", offsetof(struct record, run)},
		/* used by a page for the record that it shows */
		{"record", offsetof(struct record, picked_of)},
		{"record", offsetof(struct record, is_titled_by_action)}};
	for (size_t i = 0; i < sizeof(meant) / sizeof(*meant); i++) {
		if (strcmp(meant[i].name, name) == 0 && meant[i].offset == offset)
			return true;
	}
	return strcmp(name, "usage") == 0; /* only a few of the system's counts are stored */
}

/**
 * Check that the table covers the structure, except for gaps shorter than a word: padding and
 * spare members.
 */
static void
check_whole(const struct json_field *table, size_t size, bool is_sized, const char *name)
{
	uint8_t covered[ROOM] = {0};
	size_t gap = 0;
	ck_assert_uint_le(size, ROOM);
	cover(covered, table);
	for (size_t i = is_sized ? sizeof(size_t) : 0; i < size; i++) {
		gap = covered[i] != 0 || gap == sizeof(uint64_t) ? 0 : gap + 1;
		ck_assert_msg(gap < sizeof(uint64_t) || is_meant(name, i - gap + 1),
			"%s: no field has the member at offset %zu", name, i - gap + 1);
	}
}

/** Check all nested structures as well. */
static void
check_within(const struct json_field *table)
{
	for (const struct json_field *field = table; field->name != NULL; field++) {
		bool is_list = field->type == JSON_T_LIST;
		if (field->fields == NULL)
			continue;
		if (is_list || field->size > 0)
			check_whole(field->fields, is_list ? field->element : field->size,
				(field->flags & FIELD_SIZED) != 0, field->name);
		check_within(field->fields);
	}
}

TEST(no_member_is_forgotten)
{
	check_within(json_command_fields);
	check_within(json_sweep_fields);
	check_within(json_record_fields);
	check_within(json_result_fields);
	check_within(json_group_fields);
	check_within(json_series_fields);
	check_whole(json_series_fields, sizeof(struct series), false, "series");
	check_whole(json_group_fields, sizeof(struct job_result_group), false, "group");
	check_whole(json_kind_fields, sizeof(struct job_kind), false, "operation");
	check_whole(json_command_fields, sizeof(struct record_command), false, "command");
	check_whole(json_record_fields, sizeof(struct record), false, "record");
	check_whole(json_sweep_fields, sizeof(struct record_sweep), false, "sweep");
}

/* ---- rows with code ---- */

static const struct json_field *
row_of(const struct json_field *table, const char *name)
{
	while (strcmp(table->name, name) != 0)
		table++;
	return table;
}

/** Read JSON text with one row of a table. Returns the error text, "" if it is accepted. */
static const char *
said_of(const struct json_field *table, const char *name, const char *text, void *into)
{
	const struct json_field fields[] = {*row_of(table, name), {.name = NULL}};
	struct json_reader reader = {.file = "a.json"};
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
	ck_assert_msg(json != NULL, "%s", text);
	json_t *object = json_pack("{s:o}", name, json);
	json_read_fields(&reader, object, fields, into);
	ck_assert_ptr_null(reader.place);
	json_decref(object);
	return reader.rc == NB_OK ? "" : nb_error_text();
}

TEST(the_first_bytes_of_a_key_are_kept)
{
	static const char said[] =
		"a.json: key: must be a text of at most 32 hexadecimal bytes";
	static const char *const bad[] = {"\"0\"", "\"0x\"", "7",
		"\"000000000000000000000000000000000000000000000000000000000000000000\""};
	const struct json_field *cases = row_of(
		row_of(json_group_fields, "findings")->fields, "cases");
	const struct json_field *row = row_of(cases->fields, "key");
	struct job_case it = {.key_size = 3, .key = {0x00, 0xab, 0xff, 0x77}};
	json_t *json = row->write(NULL, &it);
	ck_assert_str_eq(json_string_value(json), "00abff");
	json_decref(json);
	it.key_size = 1000;
	json = row->write(NULL, &it);
	ck_assert_uint_eq(json_string_length(json), 2 * JOB_CASE_BYTES);
	json_decref(json);
	ck_assert_str_eq(said_of(row, "key", "\"0012\"", &it), "");
	ck_assert_uint_eq(it.key[1], 0x12);
	ck_assert_str_eq(said_of(row, "key", "null", &it), "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_str_eq(said_of(row, "key", bad[i], &it), said);
}

TEST(only_executed_operations_are_listed)
{
	struct json_writer writer = {.verb = NULL};
	const struct json_field *row = row_of(json_group_fields, "operations");
	struct job_result_group group = {.measured.wall_ns = 500000000}, read = {0};
	group.measured.kinds[NB_OP_RMW].ops = 7;
	group.measured.kinds[NB_OP_SCAN].answers[NB_CONFLICT] = 3;
	json_t *json = row->write(&writer, &group);
	char *text = json_dumps(json, JSON_COMPACT);
	ck_assert_str_eq(text,
		"[{\"operation\":\"scan\",\"throughput_ops_s\":0.0,\"ops\":0,\"records\":0,"
		"\"value_bytes\":0,\"answers\":{\"conflict\":3},\"service\":null,"
		"\"response\":null},"
		"{\"operation\":\"read-modify-write\",\"throughput_ops_s\":14.0,\"ops\":7,"
		"\"records\":0,\"value_bytes\":0,\"answers\":{},\"service\":null,"
		"\"response\":null}]");
	ck_assert_str_eq(said_of(row, "operations", text, &read), "");
	ck_assert_uint_eq(read.measured.kinds[NB_OP_RMW].ops, 7);
	ck_assert_uint_eq(read.measured.kinds[NB_OP_SCAN].answers[NB_CONFLICT], 3);
	free(text);
	json_decref(json);
}

TEST(a_series_must_fit_its_names_and_its_latencies_be_histograms)
{
	static const struct {
		const char *text, *said;
	} bad[] = {{"{\"samples\": [{}, {\"counters\": [1]}]}",
			   "a.json: series.samples[1]: has more counters than there are names"},
		{"{\"counters\": [{\"name\": \"a\"}], \"samples\": [{\"counters\": [1, 2]}]}",
			"a.json: series.samples[0]: has more counters than there are names"},
		{"{\"samples\": [{\"latencies\": [{}]}]}",
			"a.json: series.samples[0].latencies[0].hdr: is missing"},
		{"{\"samples\": [{\"latencies\": [{\"hdr\": \"x\"}]}]}",
			"a.json: series.samples[0].latencies[0].hdr: not a histogram: it is not base64"},
		{"{\"pulses\": [{\"ops\": [1, 4294967296]}]}",
			"a.json: series.pulses[0].ops[1]: must be at most 4294967295"},
		{"[]", "a.json: series: must be an object"}};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct measurement measured = {0};
		ck_assert_str_eq(
			said_of(json_measurement_fields, "series", bad[i].text, &measured),
			bad[i].said);
		series_destroy(&measured.series);
	}
}
