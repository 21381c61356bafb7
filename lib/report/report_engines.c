/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engines as tables for people: what can be had, what each can do, which
 * options it has. Printed from the engines' own tables, so that it cannot say
 * anything else than what a run will find.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/table.h"
#include "run/engine.h"
#include "run/options.h"

static const struct {
	uint32_t bit;
	const char *name;
} capabilities[] = {{NB_CAP_ORDERED, "ordered"}, {NB_CAP_PERSISTENT, "persistent"},
	{NB_CAP_CONCURRENT, "concurrent"}, {NB_CAP_ATOMIC_BATCH, "atomic-batch"},
	{NB_CAP_SNAPSHOT, "snapshot"}, {NB_CAP_ZERO_COPY, "zero-copy"},
	{NB_CAP_MULTI_PROCESS, "multi-process"}, {NB_CAP_SYNTHETIC, "synthetic"}};

static const struct {
	const char *name;
	size_t offset;
} optional_verbs[] = {{"insert", offsetof(struct nb_engine, insert)},
	{"scan", offsetof(struct nb_engine, scan_open)},
	{"batch", offsetof(struct nb_engine, batch)},
	{"multi-get", offsetof(struct nb_engine, multi_get)},
	{"transactions", offsetof(struct nb_engine, begin)},
	{"async", offsetof(struct nb_engine, submit)},
	{"flush", offsetof(struct nb_engine, flush)},
	{"checkpoint", offsetof(struct nb_engine, checkpoint)},
	{"stats", offsetof(struct nb_engine, stats)}};

enum { LIST_SIZE = 256 };

static void
append(char *list, const char *separator, const char *word)
{
	size_t used = strlen(list);
	snprintf(list + used, LIST_SIZE - used, "%s%s", used > 0 ? separator : "", word);
}

static void
list_capabilities(char *list, const struct nb_engine *engine)
{
	list[0] = '\0';
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++)
		if ((engine->caps & capabilities[i].bit) != 0)
			append(list, " ", capabilities[i].name);
	if (list[0] == '\0')
		strcpy(list, "none");
}

static void
list_verbs(char *list, const struct nb_engine *engine)
{
	strcpy(list, "get put delete");
	for (size_t i = 0; i < sizeof(optional_verbs) / sizeof(*optional_verbs); i++) {
		const void *verb;
		memcpy(&verb, (const char *)engine + optional_verbs[i].offset, sizeof(verb));
		if (verb != NULL)
			append(list, " ", optional_verbs[i].name);
	}
}

/** The level that `auto` means is marked with a star. */
static void
list_durabilities(char *list, const struct nb_engine *engine)
{
	list[0] = '\0';
	for (uint32_t level = NB_DUR_NONE; level <= NB_DUR_COMMIT; level++) {
		if ((engine->durabilities & NB_DUR_BIT(level)) == 0)
			continue;
		char name[32];
		snprintf(name, sizeof(name), "%s%s", nb_durability_name(level),
			level == engine->auto_durability ? "*" : "");
		append(list, " ", name);
	}
}

static int
add_engine(struct table *table, const struct nb_engine *engine)
{
	char caps[LIST_SIZE], durabilities[LIST_SIZE];
	list_capabilities(caps, engine);
	list_durabilities(durabilities, engine);
	const char *row[] = {
		engine->name, engine->version(), engine->licence, durabilities, caps};
	return table_add(table, row);
}

static int
add_sites(struct table *table, const struct engine_sites *sites, FILE *refused)
{
	int rc = NB_OK;
	for (size_t i = 0; i < sites->count && rc == NB_OK; i++) {
		struct nb_engine_ref *ref;
		if (nb_engine_load(&ref, sites->items[i].name) != NB_OK) {
			fprintf(refused, "%s\n", nb_error_text());
			continue;
		}
		rc = add_engine(table, &ref->table);
		nb_engine_unload(ref);
	}
	return rc;
}

static int
written(FILE *out)
{
	if (fflush(out) != 0 || ferror(out))
		return error_system("the table cannot be written");
	return NB_OK;
}

int
nb_engines_write_text(FILE *out)
{
	static const struct table_column columns[] = {{"driver", false}, {"version", false},
		{"licence", false}, {"durability", false}, {"capabilities", false}};
	char *refusals = NULL;
	size_t refusals_size;
	struct engine_sites sites;
	int rc = engine_sites_create(&sites);
	if (rc != NB_OK)
		return rc;
	struct table table;
	table_create(&table, columns, sizeof(columns) / sizeof(*columns));
	FILE *refused = open_memstream(&refusals, &refusals_size);
	if (refused == NULL) {
		rc = error_system("engines");
		goto destroy_table;
	}
	rc = add_sites(&table, &sites, refused);
	fclose(refused);
	if (rc == NB_OK)
		rc = table_write(&table, out);
	if (rc == NB_OK) {
		fprintf(out,
			"\n* is what --durability=auto gives. "
			"'mininb engines --driver=NAME' shows an engine's options.\n%s%s",
			refusals_size > 0 ? "\n" : "", refusals);
		rc = written(out);
	}
	free(refusals);
destroy_table:
	table_destroy(&table);
	engine_sites_destroy(&sites);
	return rc;
}

static int
write_options(FILE *out, const struct nb_engine *engine)
{
	static const struct table_column columns[] = {
		{"option", false}, {"default", false}, {"values", false}, {"help", false}};
	struct nb_option_value *defaults; /* told as a result tells values: "yes", not "1" */
	int rc = nb_options_parse(&defaults, engine, NULL, 0);
	if (rc != NB_OK)
		return rc;
	struct table table;
	table_create(&table, columns, sizeof(columns) / sizeof(*columns));
	for (const struct nb_option *option = engine->options;
		rc == NB_OK && option != NULL && option->name != NULL; option++) {
		char type[LIST_SIZE], def[LIST_SIZE] = "engine's own";
		const struct nb_option_value *value = &defaults[option - engine->options];
		if (value->is_set)
			option_value_text(option, value, def, sizeof(def));
		const char *row[] = {option->name, def,
			option_type_text(option, type, sizeof(type)), option->help};
		rc = table_add(&table, row);
	}
	if (rc == NB_OK)
		rc = table_write(&table, out);
	table_destroy(&table);
	nb_options_delete(defaults, engine);
	return rc;
}

int
nb_engine_write_text(FILE *out, const char *driver)
{
	struct nb_engine_ref *ref;
	int rc = nb_engine_load(&ref, driver);
	if (rc != NB_OK)
		return rc;
	const struct nb_engine *engine = &ref->table;
	char caps[LIST_SIZE], durabilities[LIST_SIZE], verbs[LIST_SIZE];
	list_capabilities(caps, engine);
	list_durabilities(durabilities, engine);
	list_verbs(verbs, engine);
	fprintf(out, "Driver: %s\nSummary: %s\nVersion: %s\nLicence: %s\nHome: %s\nBuild: %s\n",
		engine->name, engine->summary, engine->version(), engine->licence, engine->home,
		engine->build);
	fprintf(out, "File: %s\nVerbs: %s\nCapabilities: %s\nDurability: %s (* is auto)\n",
		ref->path, verbs, caps, durabilities);
	if (engine->key_size_max != 0)
		fprintf(out, "Longest key: %llu\n", (unsigned long long)engine->key_size_max);
	if (engine->value_size_max != 0)
		fprintf(out, "Longest value: %llu\n",
			(unsigned long long)engine->value_size_max);
	if (engine->options == NULL || engine->options->name == NULL) {
		fputs("Options: none\n", out);
	} else {
		fputs("Options (-o NAME=VALUE):\n\n", out);
		rc = write_options(out, engine);
	}
	if (rc == NB_OK)
		rc = written(out);
	nb_engine_unload(ref);
	return rc;
}
