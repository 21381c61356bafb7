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

enum { ENGINE_CELLS = 5 };

struct engine_row {
	char cells[ENGINE_CELLS][LIST_SIZE];
};

static int
show_row(void *shown, const struct nb_engine_ref *ref)
{
	struct engine_row *row = shown;
	const struct nb_engine *engine = &ref->table;
	snprintf(row->cells[0], LIST_SIZE, "%s", engine->name);
	snprintf(row->cells[1], LIST_SIZE, "%s", engine->version());
	snprintf(row->cells[2], LIST_SIZE, "%s", engine->licence);
	list_durabilities(row->cells[3], engine);
	list_capabilities(row->cells[4], engine);
	return NB_OK;
}

/** What is linked in needs no child. */
static int
look_at(const struct engine_site *site, struct engine_row *row)
{
	struct nb_engine_ref *ref;
	if (site->path != NULL)
		return engine_look(site->name, site->path, show_row, row, sizeof(*row));
	int rc = nb_engine_load(&ref, site->name);
	if (rc == NB_OK)
		rc = show_row(row, ref);
	nb_engine_unload(rc == NB_OK ? ref : NULL);
	return rc;
}

static int
add_sites(struct table *table, const struct engine_sites *sites, FILE *refused)
{
	int rc = NB_OK;
	for (size_t i = 0; i < sites->count && rc == NB_OK; i++) {
		struct engine_row row;
		const char *cells[ENGINE_CELLS];
		if (look_at(&sites->items[i], &row) != NB_OK) {
			if (stop_requested())
				return error_interrupted();
			fprintf(refused, "%s\n", nb_error_text());
			continue;
		}
		for (int cell = 0; cell < ENGINE_CELLS; cell++)
			cells[cell] = row.cells[cell];
		rc = table_add(table, cells);
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

/** Those of the list that were not found elsewhere either. */
static void
write_missing(FILE *out, const struct engine_sites *sites, const char *list)
{
	struct engine_missing missing;
	bool is_first = true;
	for (const char *at = list; (at = engine_missing_next(at, &missing)) != NULL;) {
		size_t i = 0;
		while (i < sites->count && strcmp(sites->items[i].name, missing.name) != 0)
			i++;
		if (i < sites->count)
			continue;
		fprintf(out, "%s%s: not built, %s\n", is_first ? "\n" : "", missing.name,
			missing.reason);
		is_first = false;
	}
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
		if (sites.hidden != NULL)
			fprintf(out, "\n%s", sites.hidden);
		write_missing(out, &sites, engines_missing);
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

/** Whether a user could see the two apart by what `mininb engines` says. */
static bool
is_alike(const struct nb_engine *a, const struct nb_engine *b)
{
	char verbs_a[LIST_SIZE], verbs_b[LIST_SIZE];
	list_verbs(verbs_a, a);
	list_verbs(verbs_b, b);
	return strcmp(verbs_a, verbs_b) == 0 && a->caps == b->caps &&
		a->durabilities == b->durabilities && a->auto_durability == b->auto_durability;
}

/** A row if the option, as typed, makes another engine of it. */
static int
add_variant(struct table *table, const char *driver, const struct nb_engine *engine,
	const char *typed)
{
	struct nb_engine_ref *ref;
	struct nb_option_value *values;
	int rc = nb_engine_load(&ref, driver);
	if (rc != NB_OK)
		return rc;
	rc = nb_engine_configure(&values, ref, &typed, 1);
	if (rc == NB_OK) {
		char caps[LIST_SIZE], durabilities[LIST_SIZE], verbs[LIST_SIZE];
		list_capabilities(caps, &ref->table);
		list_durabilities(durabilities, &ref->table);
		list_verbs(verbs, &ref->table);
		const char *row[] = {typed, durabilities, caps, verbs};
		if (!is_alike(engine, &ref->table))
			rc = table_add(table, row);
		nb_options_delete(values, &ref->table);
	}
	nb_engine_unload(ref);
	return rc;
}

/** What choices change in what the engine can do, if any does. */
static int
write_variants(FILE *out, const char *driver, const struct nb_engine *engine)
{
	static const struct table_column columns[] = {{"with", false}, {"durability", false},
		{"capabilities", false}, {"verbs", false}};
	int rc = NB_OK;
	if (engine->variant == NULL)
		return rc;
	struct table table;
	table_create(&table, columns, sizeof(columns) / sizeof(*columns));
	for (const struct nb_option *option = engine->options;
		rc == NB_OK && option != NULL && option->name != NULL; option++) {
		const char *choice = option->type == NB_OPT_CHOICE ? option->choices
			: option->type == NB_OPT_BOOL              ? "no|yes"
								   : "";
		while (rc == NB_OK && *choice != '\0') {
			char typed[LIST_SIZE];
			size_t length = strcspn(choice, "|");
			snprintf(typed, sizeof(typed), "%s=%.*s", option->name, (int)length,
				choice);
			rc = add_variant(&table, driver, engine, typed);
			choice += length + (choice[length] == '|');
		}
	}
	if (rc == NB_OK && table.cell_count > 0) {
		fputc('\n', out);
		rc = table_write(&table, out);
	}
	table_destroy(&table);
	return rc;
}

static int
write_engine(FILE *out, const char *driver, const struct nb_engine_ref *ref)
{
	int rc = NB_OK;
	const struct nb_engine *engine = &ref->table;
	char caps[LIST_SIZE], durabilities[LIST_SIZE], verbs[LIST_SIZE];
	list_capabilities(caps, engine);
	list_durabilities(durabilities, engine);
	list_verbs(verbs, engine);
	fprintf(out, "Driver: %s\nSummary: %s\nVersion: %s\nLicence: %s\nHome: %s\nBuild: %s\n",
		engine->name, engine->summary, engine->version(), engine->licence, engine->home,
		engine->build);
	fprintf(out, "File: %s\nVerbs: %s\nCapabilities: %s\nDurability: %s (* is auto%s)\n",
		ref->path, verbs, caps, durabilities,
		engine->auto_durability_at != NULL ? "; another where a sync costs more" : "");
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
		rc = write_variants(out, driver, engine);
	if (rc == NB_OK)
		rc = written(out);
	return rc;
}

/** The child finds out whether all of it can be written at all. */
static int
try_engine(void *shown, const struct nb_engine_ref *ref)
{
	(void)shown;
	FILE *nowhere = fopen("/dev/null", "we");
	int rc = nowhere == NULL ? error_system("/dev/null")
				 : write_engine(nowhere, ref->path, ref);
	if (nowhere != NULL)
		fclose(nowhere);
	return rc;
}

int
nb_engine_write_text(FILE *out, const char *driver)
{
	struct nb_engine_ref *ref;
	int rc = engine_look(driver, driver, try_engine, NULL, 0);
	if (rc == NB_OK)
		rc = nb_engine_load(&ref, driver);
	if (rc != NB_OK)
		return rc;
	rc = write_engine(out, driver, ref);
	nb_engine_unload(ref);
	return rc;
}
