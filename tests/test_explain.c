/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each name in a report has an explanation: the columns of CSV output, and all names that the
 * sources of the reports contain.
 */
#include <dirent.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "record_rig.h"
#include "report/metric.h"
#include "unit.h"

/** Search as the command does. */
static bool
is_explained(const char *name)
{
	for (const struct nb_explanation *it = nb_explanations(); it->name != NULL; it++) {
		if (strcasecmp(it->name, name) == 0)
			return true;
	}
	return false;
}

static void
assert_explained(const char *name, const char *where)
{
	ck_assert_msg(is_explained(name), "'%s' of %s has no explanation", name, where);
}

TEST(each_name_has_one_meaningful_explanation)
{
	size_t count = 0;
	for (const struct nb_explanation *it = nb_explanations(); it->name != NULL; it++) {
		ck_assert_ptr_nonnull(it->what);
		ck_assert_ptr_nonnull(it->how);
		ck_assert_ptr_nonnull(it->where);
		ck_assert_uint_gt(strlen(it->what), 3);
		ck_assert_uint_gt(strlen(it->where), 1);
		/* the text is a phrase; the list shows its first part */
		ck_assert_int_ne(it->what[strlen(it->what) - 1], '.');
		ck_assert_uint_gt(strcspn(it->what, ".:;"), 0);
		for (const struct nb_explanation *other = nb_explanations(); other != it;
			other++)
			ck_assert_msg(
				strcmp(other->name, it->name) != 0, "'%s' twice", it->name);
		count++;
	}
	ck_assert_uint_gt(count, 150);
}

/* ---- reports as written ---- */

/** The fields of a line without quotes. */
static size_t
check_fields(char *line)
{
	size_t count = 0;
	for (char *field; (field = strsep(&line, ",")) != NULL; count++) {
		const char *kind = strstr(field, "_service_");
		if (kind == NULL)
			kind = strstr(field, "_response_");
		assert_explained(kind != NULL ? strchr(kind + 1, '_') + 1 : field, "CSV");
	}
	return count;
}

TEST(each_column_of_csv_is_explained)
{
	static const char *const files[] = {"operations", "series", "latency", "counters"};
	char dir[] = "/tmp/test_explain.XXXXXX", path[128];
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a", dir);
	ck_assert_int_eq(nb_results_write_csv_files(results, path), NB_OK);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char line[8192];
		snprintf(path, sizeof(path), "%s/a-%s.csv", dir, files[i]);
		FILE *in = fopen(path, "r");
		ck_assert_ptr_nonnull(in);
		ck_assert_ptr_nonnull(fgets(line, sizeof(line), in));
		line[strcspn(line, "\n")] = '\0';
		ck_assert_uint_ge(check_fields(line), 8);
		fclose(in);
		unlink(path);
	}
	ck_assert_int_eq(rmdir(dir), 0);
	nb_results_delete(results);
	results = record_rig_new();
	record_rig_add_versus(results);
	char *text = record_rig_written(results, "csv", 0);
	text[strcspn(text, "\n")] = '\0';
	ck_assert_uint_eq(check_fields(text), 18);
	free(text);
	nb_results_delete(results);
}

static bool
is_percentile(const char *name)
{
	size_t digits = strspn(name + 1, "0123456789.");
	return name[0] == 'p' && digits > 0 && name[1 + digits] == '\0';
}

TEST(percentiles_are_columns_of_the_reports_that_their_explanations_name)
{
	static const struct {
		const char *format, *before, *after; /* before and after a column's name */
	} columns[] = {{"text", "  ", "  "}, {"csv", "", "_ns"}, {"md", " ", " |"},
		{"html", "\n  \"", "\": "}}; /* the list from which its tables are made */
	char column[32];
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		char *text = record_rig_written(results, columns[i].format, 0);
		size_t count = 0;
		for (const struct nb_explanation *it = nb_explanations(); it->name != NULL;
			it++) {
			if (!is_percentile(it->name))
				continue;
			snprintf(column, sizeof(column), "%s%s%s", columns[i].before, it->name,
				columns[i].after);
			ck_assert_msg((strstr(it->where, columns[i].format) != NULL) ==
					(strstr(text, column) != NULL),
				"%s: %s", columns[i].format, it->name);
			count++;
		}
		ck_assert_uint_ge(count, 7);
		free(text);
	}
	nb_results_delete(results);
}

/* ---- names in the sources ---- */

/** Check that `group` of every match is an explained name. Returns the number of matches. */
static size_t
check_source(const char *text, const char *file, const char *pattern, size_t group)
{
	regex_t regex;
	regmatch_t groups[4];
	size_t count = 0;
	ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED), 0);
	while (regexec(&regex, text, 4, groups, 0) == 0) {
		const regmatch_t *it = &groups[group];
		char name[64];
		snprintf(name, sizeof(name), "%.*s", (int)(it->rm_eo - it->rm_so),
			text + it->rm_so);
		for (size_t end = strlen(name); end > 0 && name[end - 1] == ' '; end--)
			name[end - 1] = '\0';
		assert_explained(name, file);
		text += groups[0].rm_eo;
		count++;
	}
	regfree(&regex);
	return count;
}

static char *
read_source(const char *name)
{
	char path[512], *text = NULL;
	size_t room = 0;
	snprintf(path, sizeof(path), "%s/%s", SOURCES, name);
	FILE *in = fopen(path, "r");
	ck_assert_ptr_nonnull(in);
	ck_assert_int_gt(getdelim(&text, &room, '\0', in), 0);
	fclose(in);
	return text;
}

TEST(each_name_in_the_sources_is_explained)
{
	size_t lines = 0, columns = 0;
	DIR *dir = opendir(SOURCES);
	ck_assert_ptr_nonnull(dir);
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		const char *name = entry->d_name, *end = strrchr(name, '.');
		if (end == NULL || strcmp(end, ".c") != 0)
			continue;
		/* tables of engines and presets have no metrics */
		if (strcmp(name, "report_engines.c") == 0 ||
			strcmp(name, "report_presets.c") == 0)
			continue;
		char *text = read_source(name);
		/* "Key Len: %" PRIu64, "Min latency       : %.6f" */
		lines += check_source(text, name,
			"doc_paragraph\\([ \n\t]*doc, \"(\\\\n)?([A-Z][A-Za-z ]{1,18}) *:[ %\\]",
			2);
		lines += check_source(text, name,
			"(doc_line|doc_list|add_layers|add_amplification|add_words)\\("
			"doc,[ \n\t]*\"([^\"]+)\"",
			2);
		columns += check_source(
			text, name, "\\{\"([^\"]+)\",[ \n\t]*DOC_(LEFT|RIGHT),", 1);
		free(text);
	}
	closedir(dir);
	ck_assert_uint_ge(lines, 70);
	ck_assert_uint_ge(columns, 60);
	static const char *const others[] = {"t min", "t max", "ops count", "%", "latency",
		"Total", "seconds", "ops", "ops/s", "p50 us", "p99 us", "max us", "behind"};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_explained(others[i], "reports");
}

TEST(each_row_explains_itself)
{
	size_t notes = 0;
	for (const struct metric *it = metric_table; it->name != NULL; it++) {
		ck_assert(it->take != NULL);
		ck_assert_ptr_nonnull(it->what);
		ck_assert_ptr_nonnull(it->how);
		ck_assert_ptr_nonnull(it->where);
		ck_assert_ptr_eq(metric_find(it->name), it);
		ck_assert(it->title == NULL || metric_find(it->title) == it);
		ck_assert(it->line == NULL || metric_find(it->line) == it);
	}
	for (const struct nb_note_kind *it = nb_note_kinds(); it->id != NULL; it++)
		notes += it->how != NULL;
	ck_assert_uint_ge(notes, 40);
}
