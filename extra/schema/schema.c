/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schema of result files, from the tables that write and read them.
 *
 *     schema FRAME >result.schema.json
 *
 * FRAME is the schema without what a table says. In it `"fields": NAME` stands for the members
 * of a table, `"names": NAME` for the names of kinds of operations, `more` for the members that
 * only a run with a result has, and `custom` has the types of members that code writes.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "report/json_tables.h"
#include "report/metric.h"

static const struct {
	const char *name;
	const struct json_field *fields;
	bool is_definition, is_sparse; /* its numbers may be left out */
} tables[] = {
	{"command", json_command_fields, false, false},
	{"record", json_record_fields, false, false},
	{"result", json_result_fields, false, false},
	{"sweep", json_sweep_fields, false, false},
	{"option", json_option_fields, true, false},
	{"counter", json_counter_fields, true, false},
	{"system", json_system_fields, true, true},
	{"levels", json_level_fields, true, true},
	{"residency", json_residency_fields, true, false},
	{"thread", json_thread_fields, true, false},
	{"operation", json_kind_fields, true, false},
	{"group", json_group_fields, true, false},
	{"latency", json_latency_fields, true, false},
	{"sample", json_sample_fields, true, false},
	{"series", json_series_fields, true, false},
	{"measured", json_measurement_fields, true, false},
	{"environment", json_environment_fields, true, false},
	{"engine", json_engine_fields, true, false},
	{"job", json_job_fields, true, false},
};

enum { TABLES = sizeof(tables) / sizeof(*tables), TEXT_SIZE = 512 };

static json_t *frame;

static json_t *
reference(const char *name)
{
	return json_pack("{s:o}", "$ref", json_sprintf("#/$defs/%s", name));
}

static json_t *
typed(const char *type, bool is_or_null)
{
	return is_or_null ? json_pack("{s:[s,s]}", "type", type, "null")
			  : json_pack("{s:s}", "type", type);
}

static json_t *
object_of(const struct json_field *fields, bool is_sparse);

/** A definition of the frame, or the members themselves. */
static json_t *
structure(const struct json_field *fields)
{
	for (size_t i = 0; i < TABLES; i++)
		if (tables[i].is_definition && tables[i].fields == fields)
			return reference(tables[i].name);
	return object_of(fields, false);
}

static json_t *
list(json_t *element, bool is_or_null)
{
	json_t *schema = typed("array", is_or_null);
	json_object_set_new(schema, "items", element);
	return schema;
}

/* ---- names ---- */

static json_t *
enumeration(const struct json_names *names)
{
	json_t *array = json_array();
	for (uint32_t i = 0; i < names->count; i++) {
		const char *name = json_name(names, NULL, NULL, i);
		if (name != NULL)
			json_array_append_new(array, json_string(name));
	}
	for (uint32_t verb = 0; names->are_kinds && verb <= NB_VERB_GET; verb++)
		json_array_append_new(array, json_string(nb_verb_name(verb)));
	return json_pack("{s:o}", "enum", array);
}

/** Names of the kinds of operations: mininb's own, and those that the job defines. */
static json_t *
kinds(void)
{
	json_t *own = json_pack("{s:s, s:s, s:s}", "type", "string", "pattern",
		"^[a-z][a-z0-9-]{0,22}$", "description",
		"a kind of the job's own, one of kinds");
	return json_pack("{s:[o,o]}", "anyOf", enumeration(&json_kinds), own);
}

static json_t *
bits(const struct json_names *names)
{
	json_t *other = json_pack("{s:s, s:s, s:s}", "type", "string", "pattern", "^bit[0-9]+$",
		"description", "one that mininb had no name for");
	return list(json_pack("{s:[o,o]}", "anyOf", enumeration(names), other), false);
}

static json_t *
counts(const struct json_field *field)
{
	json_t *names = enumeration(field->names), *properties = json_object();
	json_t *array = json_object_get(names, "enum");
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *name = json_string_value(json_array_get(array, i));
		json_t *number = reference("number");
		json_object_set_new(number, "description",
			json_sprintf("%s: %s; left out if it is 0", field->name, name));
		json_object_set_new(properties, name, number);
	}
	json_decref(names);
	json_t *others = field->names->are_kinds ? reference("number") : json_false();
	return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties,
		"additionalProperties", others);
}

/* ---- members ---- */

static json_t *
schema_of(const struct json_field *field)
{
	bool is_filled = (field->flags & FIELD_FILLED) != 0;
	bool is_there = is_filled || (field->flags & (FIELD_WITHIN | FIELD_MUST)) != 0;
	switch (field->type) {
	case JSON_T_NUMBER:
		return reference("number");
	case JSON_T_FLAG:
		return typed("boolean", false);
	case JSON_T_REAL:
		return typed("number", true);
	case JSON_T_HASH:
		return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9a-f]{16}$");
	case JSON_T_CHARS:
	case JSON_T_BORROWED:
		return typed("string", false);
	case JSON_T_TEXT:
		return typed("string", !is_filled);
	case JSON_T_NAME:
		return field->names->are_kinds ? kinds() : enumeration(field->names);
	case JSON_T_BITS:
		return bits(field->names);
	case JSON_T_COUNTS:
		return counts(field);
	case JSON_T_NUMBERS:
		return list(reference("number"), true);
	case JSON_T_TEXTS:
		return list(typed("string", false), true);
	case JSON_T_OBJECT:
		return (field->flags & FIELD_OF_JOB) == 0
			? structure(field->fields)
			: json_pack("{s:[o,o]}", "anyOf", structure(field->fields),
				  typed("null", false));
	case JSON_T_LIST:
		return list(field->fields != NULL ? structure(field->fields)
						  : typed("string", false),
			!is_there);
	case JSON_T_HISTOGRAM:
		return json_pack(
			"{s:[o,o]}", "anyOf", reference("histogram"), typed("null", false));
	case JSON_T_CUSTOM:
		break;
	}
	return json_deep_copy(json_object_get(json_object_get(frame, "custom"), field->name));
}

/** With the unit that its name ends in, if the text does not say it. */
static void
describe(json_t *schema, const char *name, const char *text, const char *end)
{
	static const struct {
		const char *suffix, *said, *unit;
	} units[] = {{"_ns", "ns", "ns"}, {"_bytes", "byte", "bytes"}};
	const char *unit = NULL;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t length = strlen(name), tail = strlen(units[i].suffix);
		if (length > tail && strcmp(name + length - tail, units[i].suffix) == 0 &&
			strstr(text, units[i].said) == NULL)
			unit = units[i].unit;
	}
	json_object_set_new(schema, "description",
		json_sprintf("%s%s%s%s", text, unit != NULL ? ", in " : "",
			unit != NULL ? unit : "", end));
}

/** The members, and their names in `required` but for those that may be left out. */
static void
add_members(
	json_t *properties, json_t *required, const struct json_field *fields, bool is_sparse)
{
	for (const struct json_field *field = fields; field->name != NULL; field++) {
		json_t *schema = schema_of(field);
		describe(schema, field->name, field->what,
			field->type == JSON_T_REAL ? ". null: not a finite number." : "");
		/* of a trace there may be none */
		if (strcmp(field->name, "distribution") == 0)
			json_array_append_new(json_object_get(schema, "enum"), json_null());
		json_object_set_new(properties, field->name, schema);
		/* older files do not have weights */
		bool is_optional = (is_sparse && field->type == JSON_T_NUMBER) ||
			(field->flags & FIELD_IF_USED) != 0 ||
			strcmp(field->name, "weight") == 0;
		if (!is_optional)
			json_array_append_new(required, json_string(field->name));
	}
}

static json_t *
object_of(const struct json_field *fields, bool is_sparse)
{
	json_t *properties = json_object(), *required = json_array();
	add_members(properties, required, fields, is_sparse);
	return json_pack("{s:s, s:o, s:b, s:o}", "type", "object", "properties", properties,
		"additionalProperties", 0, "required", required);
}

static void
add_metrics(json_t *properties, json_t *required)
{
	for (const struct metric *it = metric_table; it->name != NULL; it++) {
		if (it->json == NULL)
			continue;
		json_t *schema = typed("number", true);
		describe(schema, it->name, it->what,
			"; derived. null: not a finite number. 0: not known.");
		json_object_set_new(properties, it->json, schema);
		json_array_append_new(required, json_string(it->json));
	}
}

/* ---- the frame ---- */

static void
fill(json_t *schema);

/** Add the properties of the frame itself after those of the table. */
static void
add_own(json_t *properties, json_t *required, json_t *own)
{
	const char *name;
	json_t *member;
	json_object_foreach(own, name, member)
	{
		fill(member);
		json_object_set(properties, name, member);
		json_array_append_new(required, json_string(name));
	}
}

static void
fill_fields(json_t *schema, const char *name, json_t *properties, json_t *required)
{
	for (size_t i = 0; i < TABLES; i++)
		if (strcmp(tables[i].name, name) == 0)
			add_members(
				properties, required, tables[i].fields, tables[i].is_sparse);
	json_object_del(schema, "fields");
}

/** The members of a run that has a result, all of which are required then. */
static void
fill_more(json_t *schema, json_t *more, json_t *properties, json_t *required)
{
	json_t *all = json_copy(required);
	add_metrics(properties, all);
	fill_fields(more, json_string_value(json_object_get(more, "fields")), properties, all);
	add_own(properties, all, json_object_get(more, "properties"));
	json_object_set_new(schema, "if",
		json_pack("{s:{s:{s:s}}}", "properties", "action", "type", "string"));
	json_object_set_new(schema, "then", json_pack("{s:o}", "required", all));
	json_object_del(schema, "more");
}

/** Put the tables' members where the frame names them. */
static void
fill(json_t *schema)
{
	json_t *fields = json_object_get(schema, "fields");
	const char *name;
	json_t *member;
	if (json_object_get(schema, "names") != NULL) {
		json_object_del(schema, "names");
		json_t *names = kinds();
		json_object_update(schema, names);
		json_decref(names);
	}
	if (fields == NULL) {
		json_object_foreach(schema, name, member) fill(member);
		return;
	}
	json_t *properties = json_object(), *required = json_array();
	add_own(properties, required, json_object_get(schema, "properties"));
	fill_fields(schema, json_string_value(fields), properties, required);
	json_object_set_new(schema, "properties", properties);
	json_object_set_new(schema, "required", required);
	json_object_set_new(schema, "additionalProperties", json_false());
	if (json_object_get(schema, "more") != NULL)
		fill_more(schema, json_object_get(schema, "more"), properties, required);
}

int
main(int argc, char **argv)
{
	json_error_t error;
	frame = argc == 2 ? json_load_file(argv[1], 0, &error) : NULL;
	if (frame == NULL) {
		fprintf(stderr, "schema: %s\n", argc == 2 ? error.text : "schema FRAME");
		return 2;
	}
	fill(json_object_get(frame, "custom"));
	json_t *custom = json_incref(json_object_get(frame, "custom"));
	fill(json_object_get(frame, "properties"));
	fill(json_object_get(frame, "$defs"));
	json_object_del(frame, "custom");
	bool is_bad = json_dumpf(frame, stdout, JSON_INDENT(1)) != 0 || fflush(stdout) != 0;
	json_decref(custom);
	json_decref(frame);
	return is_bad;
}
