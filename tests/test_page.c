/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The HTML page as C writes it: data, a text report and scripts in one file, for any results.
 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "record_rig.h"
#include "report/compare.h"
#include "report/page.h"
#include "unit.h"

#define EVIL "</script><script>alert(1)</script><!--\"'&\xFF"

static struct nb_results *results;
static char *page;

static void
begin(void)
{
	nb_results_delete(results);
	results = record_rig_new();
}

static void
write_page(void)
{
	free(page);
	results_find_actions(results);
	page = record_rig_written(results, "html", 0);
}

static size_t
count_of(const char *text, const char *what)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
		count++;
	return count;
}

/** The text between two texts; free it. NULL: the first is missing. */
static char *
between(const char *first, const char *last)
{
	const char *begin = strstr(page, first);
	if (begin == NULL)
		return NULL;
	begin += strlen(first);
	const char *end = strstr(begin, last);
	ck_assert_ptr_nonnull(end);
	return strndup(begin, (size_t)(end - begin));
}

/** A block of data, unescaped. NULL: it is missing. */
static char *
block(const char *id)
{
	char first[96];
	snprintf(first, sizeof(first), "<script type=\"application/json\" id=\"%s\">", id);
	char *text = between(first, "</script>");
	if (text == NULL)
		return NULL;
	ck_assert_ptr_null(strchr(text, '<'));
	char *to = text;
	for (const char *from = text; *from != '\0'; to++) {
		bool is_escaped = strncmp(from, "\\u003c", 6) == 0;
		*to = is_escaped ? '<' : *from;
		from += is_escaped ? 6 : 1;
	}
	*to = '\0';
	return text;
}

static json_t *
figures(void)
{
	char *text = block("figures");
	json_t *json = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(json);
	free(text);
	return json;
}

static void
assert_block(const char *id, char *wanted)
{
	char *is = block(id);
	ck_assert_ptr_nonnull(is);
	ck_assert_msg(
		strcmp(is, wanted) == 0, "%s differs from the output of the JSON writer", id);
	free(is);
	free(wanted);
}

/** The output of compare --format=json for these results. */
static char *
compared(const struct nb_compare_input *inputs, size_t count)
{
	struct nb_compare_options options = NB_COMPARE_OPTIONS_INIT;
	struct nb_comparison *comparison;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	options.force = 1;
	ck_assert_int_eq(nb_comparison_new(&comparison, inputs, count, &options), NB_OK);
	ck_assert_int_eq(nb_comparison_write(comparison, "json", out, 0), NB_OK);
	nb_comparison_delete(comparison);
	fclose(out);
	return text;
}

/* ---- data ---- */

TEST(results_equal_those_of_format_json)
{
	begin();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_curve(results);
	record_rig_add_put(results, "a<b>&", 1);
	write_page();
	assert_block("results", record_rig_written(results, "json", 0));
}

TEST(comparison_equals_that_of_compare)
{
	begin();
	record_rig_add_versus(results);
	write_page();
	assert_block("comparison", compared(&(struct nb_compare_input){results, "v.json"}, 1));
	ck_assert_ptr_null(block("baseline"));
}

TEST(baseline_is_compared_like_by_compare)
{
	struct nb_results *old = record_rig_new();
	record_rig_add_put(old, "leveldb", 2);
	begin();
	record_rig_add_put(results, "leveldb", 1);
	write_page();
	ck_assert_ptr_null(block("comparison"));
	ck_assert_ptr_null(block("baseline"));
	nb_results_set_baseline(results, old);
	write_page();
	const struct nb_compare_input inputs[] = {{old, "baseline"}, {results, "now"}};
	assert_block("baseline", compared(inputs, 2));
	ck_assert_ptr_null(block("comparison"));
	nb_results_delete(old);
}

TEST(a_baseline_of_several_engines_is_compared_engine_by_engine)
{
	struct nb_results *old = record_rig_new(), *same = record_rig_new();
	record_rig_add_put(old, "lmdb", 2);
	record_rig_add_put(old, "leveldb", 2);
	record_rig_add_put(same, "leveldb", 2);
	begin();
	record_rig_add_put(results, "leveldb", 1);
	nb_results_set_baseline(results, old);
	write_page();
	const struct nb_compare_input inputs[] = {{same, "baseline"}, {results, "now"}};
	assert_block("baseline", compared(inputs, 2));
	begin();
	record_rig_add_put(results, "gdbm", 1);
	nb_results_set_baseline(results, old);
	FILE *out = fopen("/dev/null", "w");
	ck_assert_int_eq(nb_results_write(results, "html", out, 0), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "none of the result's engines"));
	nb_results_set_baseline(results, same); /* two engines are compared */
	ck_assert_int_eq(nb_results_write(results, "html", out, 0), NB_OK);
	fclose(out);
	nb_results_delete(old);
	nb_results_delete(same);
}

TEST(figures_equal_those_of_the_other_reports)
{
	struct stalls stalls;
	begin();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_curve(results);
	write_page();
	stalls_find(&results->records[0], &stalls);
	json_t *all = figures(), *it = json_array_get(json_object_get(all, "results"), 0);
	json_t *told = json_object_get(it, "stalls");
	json_t *worst = json_object_get(told, "worst");
	ck_assert_uint_eq(stalls.count, 1);
	ck_assert_uint_eq(json_array_size(worst), stalls.count);
	json_t *stall = json_array_get(worst, 0);
	ck_assert_int_eq(json_integer_value(json_object_get(stall, "begin_ns")),
		(json_int_t)stalls.worst[0].begin_ns);
	ck_assert_str_eq(
		json_string_value(json_object_get(stall, "cause")), stalls.worst[0].cause);
	ck_assert_int_eq(json_integer_value(json_object_get(told, "slow_ns")),
		(json_int_t)stalls.slow_ns);
	const struct record_sweep *sweep = &results->records[0].sweep;
	ck_assert_int_eq(json_integer_value(json_object_get(it, "knee")),
		(json_int_t)nb_curve_knee(sweep->curve, sweep->curve_count));
	json_decref(all);
}

TEST(vs_that_was_refused_is_not_ranked)
{
	begin();
	record_rig_add_versus(results);
	write_page();
	json_t *ranked = figures();
	ck_assert(json_is_true(json_object_get(ranked, "is_ranked")));
	for (size_t i = 0; i < results->count; i++)
		if (results->records[i].contestant == 2)
			results->records[i].run->durability = NB_DUR_COMMIT;
	write_page();
	json_t *refused = figures();
	ck_assert(json_is_false(json_object_get(refused, "is_ranked")));
	char *comparison = block("comparison");
	ck_assert_ptr_nonnull(strstr(comparison, "differing durability"));
	free(comparison);
	json_decref(ranked);
	json_decref(refused);
}

TEST(vs_without_a_comparison_states_the_reason)
{
	begin();
	record_rig_add_put(results, "leveldb", 1)->contestant = 1;
	results->records[0].block = 1;
	ck_assert_int_eq(nb_results_add_failure(results, "gdbm", "killed"), NB_OK);
	results->records[1].contestant = 2;
	write_page();
	json_t *all = figures();
	const char *why = json_string_value(json_object_get(all, "refusal"));
	ck_assert_str_ne(why, "");
	json_decref(all);
}

/* ---- the text report ---- */

TEST(page_without_scripts_shows_the_text_report)
{
	char *escaped;
	size_t size;
	begin();
	record_rig_add_job(results, "a<b>", 1);
	write_page();
	char *text = record_rig_written(results, "text", 0);
	FILE *out = open_memstream(&escaped, &size);
	page_text(out, text);
	fclose(out);
	char *is = between("<noscript><pre>", "</pre></noscript>");
	ck_assert_ptr_nonnull(is);
	ck_assert_str_eq(is, escaped);
	free(is);
	free(escaped);
	free(text);
}

/* ---- the page without data ---- */

/** The page without data, the text report and comments. */
static char *
frame(void)
{
	char *text = strdup(page);
	static const char *const parts[][2] = {{"<noscript>", "</noscript>"},
		{"<script type=\"application/json\"", "</script>"}, {"<!--", "-->"},
		{"/*", "*/"}};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char *begin, *end;
		while ((begin = strstr(text, parts[i][0])) != NULL) {
			end = strstr(begin, parts[i][1]) + strlen(parts[i][1]);
			memmove(begin, end, strlen(end) + 1);
		}
	}
	return text;
}

TEST(page_contains_everything_it_needs)
{
	static const char *const ways[] = {"http:", "https:", "src=", "href=\"", "url(",
		"@import", "fetch(", "XMLHttpRequest", "import(", "WebSocket", "sendBeacon",
		"<link", "<img", "<iframe", "eval("};
	begin();
	record_rig_add_job(results, "leveldb", 1);
	write_page();
	char *text = frame();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		ck_assert_msg(strstr(text, ways[i]) == NULL, "%s", ways[i]);
	ck_assert_ptr_nonnull(strstr(text, "default-src 'none'"));
	ck_assert_uint_eq(count_of(text, "<script"), 1);
	free(text);
}

TEST(hostile_texts_stay_texts)
{
	begin();
	struct record *record = record_rig_add_job(results, "leveldb", 1);
	snprintf(record->name, sizeof(record->name), "%s", EVIL);
	snprintf(record->end, sizeof(record->end), "%s", EVIL);
	snprintf(record->run->environment.host, sizeof(record->run->environment.host), "%s",
		EVIL);
	write_page();
	char *text = frame();
	ck_assert_uint_eq(count_of(text, "<script"), 1);
	ck_assert_uint_eq(count_of(text, "</script"), 1);
	ck_assert_uint_eq(count_of(text, "</title>"), 1);
	ck_assert_ptr_null(strstr(text, "<script>alert"));
	free(text);
	assert_block("results", record_rig_written(results, "json", 0));
}

TEST(the_title_names_the_action_and_each_engine_once)
{
	static const struct {
		const char *engines[8], *job, *title;
	} cases[] = {{{"gdbm", "lmdb", "gdbm", "null", "qdbm", "sqlite", "tkrzw"}, NULL,
			     "put of gdbm, lmdb, null, qdbm, sqlite and 1 more - mininb"},
		{{"lmdb"}, "lmdb", "results of lmdb - mininb"}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		begin();
		for (const char *const *it = cases[c].engines; *it != NULL; it++)
			record_rig_add_put(results, *it, 1);
		if (cases[c].job != NULL)
			record_rig_add_job(results, cases[c].job, 1);
		free(results->command.action);
		results->command.action = NULL;
		write_page();
		char *title = between("<title>", "</title>");
		ck_assert_str_eq(title, cases[c].title);
		free(title);
	}
}

/* ---- bad input ---- */

TEST(no_results_and_a_failure_are_pages)
{
	begin();
	for (int has_failure = 0; has_failure < 2; has_failure++) {
		if (has_failure)
			ck_assert_int_eq(
				nb_results_add_failure(results, "gdbm", "killed"), NB_OK);
		write_page();
		assert_block("results", record_rig_written(results, "json", 0));
		ck_assert_ptr_nonnull(strstr(page, "</html>"));
		ck_assert((strstr(page, "of gdbm - mininb</title>") != NULL) ==
			(has_failure != 0));
	}
}

TEST(a_page_is_little_more_than_its_data)
{
	begin();
	for (int i = 0; i < 20; i++)
		record_rig_add_job(results, "leveldb", 1);
	write_page();
	char *json = record_rig_written(results, "json", 0);
	char *text = record_rig_written(results, "text", 0);
	ck_assert_uint_lt(strlen(page), strlen(json) + strlen(text) * 5 / 4 + 250000);
	free(json);
	free(text);
}

TEST(numbers_have_a_decimal_point_in_any_locale)
{
	if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "de_DE.utf8") == NULL)
		return;
	begin();
	record_rig_add_job(results, "leveldb", 1);
	write_page();
	json_decref(figures());
	setlocale(LC_ALL, "C");
	assert_block("results", record_rig_written(results, "json", 0));
}

TEST(a_stream_that_cannot_be_written_fails)
{
	begin();
	record_rig_add_job(results, "leveldb", 1);
	FILE *full = fopen("/dev/full", "w");
	ck_assert_int_eq(nb_results_write(results, "html", full, 0), NB_FAIL);
	fclose(full);
}
