/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engines as tables for people: the list, the abilities of each, and its options. They
 * are printed from the engines' own tables, so they agree with a run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "report/doc.h"
#include "run/engine.h"
#include "run/options.h"

static const struct {
	uint32_t bit;
	const char *name;
} capabilities[] = {{NB_CAP_ORDERED, "ordered"}, {NB_CAP_PERSISTENT, "persistent"},
	{NB_CAP_CONCURRENT, "concurrent"}, {NB_CAP_ATOMIC_BATCH, "atomic-batch"},
	{NB_CAP_SNAPSHOT, "snapshot"}, {NB_CAP_ZERO_COPY, "zero-copy"},
	{NB_CAP_MULTI_PROCESS, "multi-process"}, {NB_CAP_SYNTHETIC, "synthetic"},
	{NB_CAP_REMOTE, "remote"}, {NB_CAP_SERIALIZABLE, "serializable"},
	{NB_CAP_COPIES, "copies-on-submit"}};

static const struct {
	const char *name;
	size_t offset;
} optional_verbs[] = {{"insert", offsetof(struct nb_engine, insert)},
	{"scan", offsetof(struct nb_engine, scan_open)},
	{"batch", offsetof(struct nb_engine, batch)},
	{"multi-get", offsetof(struct nb_engine, multi_get)},
	{"transactions", offsetof(struct nb_engine, begin)},
	{"execute", offsetof(struct nb_engine, execute)},
	{"merge", offsetof(struct nb_engine, merge)},
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

/** The abilities of an engine as lists of words. A child process returns it in this form. */
struct abilities {
	char name[LIST_SIZE], version[LIST_SIZE], licence[LIST_SIZE];
	char durabilities[LIST_SIZE]; /* with a star at the level of `auto` */
	char caps[LIST_SIZE], verbs[LIST_SIZE];
};

static int
find_abilities(void *found, const struct nb_engine_ref *ref)
{
	struct abilities *to = found;
	const struct nb_engine *engine = &ref->table;
	*to = (struct abilities){.verbs = "get put delete"};
	snprintf(to->name, LIST_SIZE, "%s", engine->name);
	snprintf(to->version, LIST_SIZE, "%s", engine->version());
	snprintf(to->licence, LIST_SIZE, "%s", engine->licence);
	for (uint32_t level = NB_DUR_NONE; level <= NB_DUR_COMMIT; level++) {
		if ((engine->durabilities & NB_DUR_BIT(level)) == 0)
			continue;
		append(to->durabilities, " ", nb_durability_name(level));
		if (level == engine->auto_durability)
			append(to->durabilities, "", "*");
	}
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++)
		if ((engine->caps & capabilities[i].bit) != 0)
			append(to->caps, " ", capabilities[i].name);
	if (to->caps[0] == '\0')
		append(to->caps, "", "none");
	for (size_t i = 0; i < sizeof(optional_verbs) / sizeof(*optional_verbs); i++) {
		const void *verb;
		memcpy(&verb, (const char *)engine + optional_verbs[i].offset, sizeof(verb));
		if (verb != NULL)
			append(to->verbs, " ", optional_verbs[i].name);
	}
	return NB_OK;
}

/** Find the abilities of an engine. A linked-in engine needs no child process. */
static int
look_at(const struct engine_site *site, struct abilities *found)
{
	struct nb_engine_ref *ref;
	if (site->path != NULL)
		return engine_look(
			site->name, site->path, find_abilities, found, sizeof(*found));
	int rc = nb_engine_load(&ref, site->name);
	if (rc == NB_OK)
		rc = find_abilities(found, ref);
	nb_engine_unload(rc == NB_OK ? ref : NULL);
	return rc;
}

/**
 * Add a row for each engine. For an engine that cannot be loaded, add its error to
 * `refused` instead.
 */
static int
add_sites(struct doc *doc, const struct engine_sites *sites, struct doc *refused)
{
	static const struct doc_column columns[] = {{"driver", DOC_LEFT, 0},
		{"version", DOC_LEFT, 0}, {"licence", DOC_LEFT, 0}, {"durability", DOC_LEFT, 0},
		{"capabilities", DOC_LEFT, 0}};
	doc_table(doc, columns, 0, 0);
	for (size_t i = 0; i < sites->count; i++) {
		struct abilities found;
		if (look_at(&sites->items[i], &found) == NB_OK) {
			doc_texts(doc, found.name, found.version, found.licence,
				found.durabilities, found.caps);
		} else if (stop_requested()) {
			return error_interrupted();
		} else {
			doc_paragraph(refused, "%s", nb_error_text());
		}
	}
	return NB_OK;
}

/** Add the engines of the list that were not built and were not found elsewhere. */
static void
add_missing(struct doc *doc, const struct engine_sites *sites, const char *list)
{
	struct engine_missing missing;
	bool is_first = true;
	for (const char *at = list; (at = engine_missing_next(at, &missing)) != NULL;) {
		size_t i = 0;
		while (i < sites->count && strcmp(sites->items[i].name, missing.name) != 0)
			i++;
		if (i < sites->count)
			continue;
		doc_paragraph(doc, "%s%s: not built, %s", is_first ? "\n" : "", missing.name,
			missing.reason);
		is_first = false;
	}
}

int
nb_engines_write_text(FILE *out)
{
	struct engine_sites sites;
	struct doc doc = {0}, rest = {0};
	int rc = engine_sites_create(&sites);
	if (rc != NB_OK)
		return rc;
	rc = add_sites(&doc, &sites, &rest);
	doc_paragraph(&doc,
		"\n* is what --durability=auto gives. 'mininb engines --driver=NAME' shows an engine's options.");
	if (rest.count > 0)
		doc_gap(&doc);
	if (sites.hidden != NULL) /* lines */
		doc_paragraph(&rest, "\n%.*s", (int)strlen(sites.hidden) - 1, sites.hidden);
	add_missing(&rest, &sites, engines_missing);
	engine_sites_destroy(&sites);
	rc = doc_finish(&doc, rc, DOC_TEXT, out, "cannot write a table");
	return doc_finish(&rest, rc, DOC_TEXT, out, "cannot write a table");
}

static void
add_options(
	struct doc *doc, const struct nb_engine *engine, const struct nb_option_value *defaults)
{
	static const struct doc_column columns[] = {{"option", DOC_LEFT, 0},
		{"default", DOC_LEFT, 0}, {"values", DOC_LEFT, 0}, {"help", DOC_LEFT, 0}};
	doc_table(doc, columns, 0, 0);
	for (const struct nb_option *option = engine->options; option->name != NULL; option++) {
		char type[LIST_SIZE], def[LIST_SIZE] = "engine's own";
		const struct nb_option_value *value = &defaults[option - engine->options];
		if (value->is_set)
			option_value_text(option, value, def, sizeof(def));
		doc_texts(doc, option->name, def, option_type_text(option, type, sizeof(type)),
			option->help);
	}
}

/** Add a row if the option, as typed, changes the engine's abilities. */
static int
add_variant(
	struct doc *doc, const char *driver, const struct abilities *plain, const char *typed)
{
	struct nb_engine_ref *ref;
	struct nb_option_value *values;
	struct abilities found;
	int rc = nb_engine_load(&ref, driver);
	if (rc != NB_OK)
		return rc;
	rc = nb_engine_configure(&values, ref, &typed, 1);
	if (rc == NB_OK) {
		rc = find_abilities(&found, ref);
		if (memcmp(&found, plain, sizeof(found)) != 0)
			doc_texts(doc, typed, found.durabilities, found.caps, found.verbs);
		nb_options_delete(values, &ref->table);
	}
	nb_engine_unload(ref);
	return rc;
}

/** Add a row for each choice of an option that changes the engine's abilities. */
static int
add_variants(struct doc *doc, const char *driver, const struct nb_engine *engine,
	const struct abilities *plain)
{
	static const struct doc_column columns[] = {{"with", DOC_LEFT, 0},
		{"durability", DOC_LEFT, 0}, {"capabilities", DOC_LEFT, 0},
		{"verbs", DOC_LEFT, 0}};
	int rc = NB_OK;
	if (engine->variant == NULL)
		return rc;
	doc_table(doc, columns, 0, DOC_APART);
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
			rc = add_variant(doc, driver, plain, typed);
			choice += length + (choice[length] == '|');
		}
	}
	return rc;
}

static void
add_engine(struct doc *doc, const struct nb_engine_ref *ref, const struct abilities *found)
{
	const struct nb_engine *engine = &ref->table;
	doc_paragraph(doc,
		"Driver: %s\nSummary: %s\nVersion: %s\nLicence: %s\nHome: %s\nBuild: %s",
		engine->name, engine->summary, engine->version(), engine->licence, engine->home,
		engine->build);
	doc_paragraph(doc,
		"File: %s\nVerbs: %s\nCapabilities: %s\nDurability: %s (* is auto%s)",
		ref->path, found->verbs, found->caps, found->durabilities,
		engine->auto_durability_at != NULL ? "; another where a sync costs more" : "");
	if (engine->key_size_max != 0)
		doc_paragraph(doc, "Longest key: %" PRIu64, engine->key_size_max);
	if (engine->value_size_max != 0)
		doc_paragraph(doc, "Longest value: %" PRIu64, engine->value_size_max);
}

static int
write_engine(FILE *out, const char *driver, const struct nb_engine_ref *ref)
{
	const struct nb_engine *engine = &ref->table;
	bool has_options = engine->options != NULL && engine->options->name != NULL;
	struct nb_option_value *defaults; /* as in a result: "yes", not "1" */
	struct abilities found;
	struct doc doc = {0};
	int rc = nb_options_parse(&defaults, engine, NULL, 0);
	if (rc == NB_OK)
		rc = find_abilities(&found, ref);
	if (rc != NB_OK)
		return rc;
	add_engine(&doc, ref, &found);
	doc_paragraph(&doc, has_options ? "Options (-o NAME=VALUE):\n" : "Options: none");
	if (has_options)
		add_options(&doc, engine, defaults);
	nb_options_delete(defaults, engine);
	rc = add_variants(&doc, driver, engine, &found);
	return doc_finish(&doc, rc, DOC_TEXT, out, "cannot write a table");
}

/** In the child: find out whether everything can be printed. */
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
