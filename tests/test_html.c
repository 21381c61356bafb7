/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages: one file, well formed, that tells what there is and survives what there is not. */
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "record_rig.h"
#include "report/html.h"
#include "unit.h"

#define EVIL "</script><script>alert(1)</script>\"'&\xFF\xE2\x80\xAE"
#define EVIL_NAME "</title><b>\"'\xFF"

static struct nb_results *results;
static char *page;

static void
write_page(void)
{
	free(page);
	results_find_actions(results);
	page = record_rig_written(results, "html", 0);
}

static void
begin(void)
{
	nb_results_delete(results);
	results = record_rig_new();
}

static void
assert_has(const char *what)
{
	ck_assert_msg(strstr(page, what) != NULL, "not there: %s", what);
}

static void
assert_lacks(const char *what)
{
	ck_assert_msg(strstr(page, what) == NULL, "is there: %s", what);
}

static size_t
count_of(const char *what)
{
	size_t count = 0;
	for (const char *at = page; (at = strstr(at, what)) != NULL; at += strlen(what))
		count++;
	return count;
}

/* ---- well-formed ---- */

static bool
is_void(const char *name)
{
	return strcmp(name, "meta") == 0 || strcmp(name, "br") == 0;
}

/** strcspn(), which the address sanitizer makes read the whole page each time. */
static size_t
length_until(const char *at, const char *ends)
{
	size_t length = 0;
	while (at[length] != '\0' && strchr(ends, at[length]) == NULL)
		length++;
	return length;
}

/** Each element is closed where it must be; attributes have quotes; ids are there once. */
static void
assert_well_formed(void)
{
	enum { DEPTH = 64, NAME = 24 };
	char open[DEPTH][NAME];
	size_t depth = 0;
	const char *at = strchr(page, '\n');
	while ((at = strchr(at, '<')) != NULL) {
		char name[NAME] = "";
		if (strncmp(at, "<!--", 4) == 0) {
			at = strstr(at, "-->");
			ck_assert_ptr_nonnull(at);
			continue;
		}
		bool is_end = at[1] == '/';
		size_t length = length_until(at + 1 + is_end, " >/\n");
		ck_assert_msg(length > 0 && length < NAME, "no tag: %.40s", at);
		snprintf(name, sizeof(name), "%.*s", (int)length, at + 1 + is_end);
		for (at += 1 + is_end + length; *at != '>'; at++) {
			ck_assert_msg(*at != '<' && *at != '\0', "<%s is not closed", name);
			if (*at == '"')
				at += 1 + length_until(at + 1, "\"");
		}
		if (is_end) {
			ck_assert_msg(depth > 0 && strcmp(open[depth - 1], name) == 0,
				"</%s> closes %s", name,
				depth > 0 ? open[depth - 1] : "nothing");
			depth--;
		} else if (at[-1] != '/' && !is_void(name)) {
			ck_assert_uint_lt(depth, DEPTH);
			memcpy(open[depth++], name, NAME);
		}
		if (!is_end && (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)) {
			char end[NAME + 4];
			snprintf(end, sizeof(end), "</%s", name);
			at = strstr(at, end);
			ck_assert_ptr_nonnull(at);
		}
	}
	ck_assert_uint_eq(depth, 0);
}

/** The data of all charts, by another's reader. */
static void
assert_data(void)
{
	static const char begins[] = "<script type=\"application/json\">";
	for (const char *at = page; (at = strstr(at, begins)) != NULL;) {
		json_error_t error;
		at += strlen(begins);
		const char *end = strstr(at, "</script>");
		json_t *data = json_loadb(at, (size_t)(end - at), 0, &error);
		ck_assert_msg(data != NULL, "%s", error.text);
		json_t *columns = json_object_get(data, "data");
		size_t points = json_array_size(json_array_get(columns, 0));
		for (size_t i = 0; i < json_array_size(columns); i++)
			ck_assert_uint_eq(json_array_size(json_array_get(columns, i)), points);
		json_decref(data);
	}
}

static void
assert_good(void)
{
	assert_well_formed();
	assert_data();
}

/* ---- whole ones ---- */

START_TEST(a_job_has_all_its_parts)
{
	begin();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_curve(results);
	write_page();
	assert_good();
	assert_has("<html lang=\"en\">");
	assert_has("Why these numbers may be wrong");
	assert_has("closed loop: each operation waits for the one before");
	assert_has("In words");
	assert_has("<b>10k ops/s</b>"); /* 280000 in 28 s */
	assert_has("Latency over throughput");
	assert_has("Throughput over time");
	assert_has("The longest stalls");
	assert_has("<figcaption>compactions</figcaption>");
	assert_has("read 90\xC2\xA0%, scan 10\xC2\xA0%</td>");
	assert_has("<td>2k ops/s offered</td>");
	assert_has("readers: read, response");
	assert_has("Response times, of what had a rate");
	assert_has("<figcaption>Resident memory</figcaption>");
	assert_has("Amplification");
	assert_has("How much of the database was in the page cache");
	assert_has("hardware counters: this machine has none");
	assert_has("Throughput of each thread");
	assert_has("Hiccups of the machine");
	assert_has("0123456789abcdef");
	assert_has("AMD EPYC 7B13");
	assert_has("mininb run --driver=leveldb --workload=ycsb-a --durability=process "
		   "&#39;--path=/tmp/a b&#39;");
	assert_has("mininb rerun FILE");
	assert_has("[readers]");
	ck_assert(strstr(page, "Why these numbers") < strstr(page, "10k ops/s"));
}
END_TEST

START_TEST(each_sweep_has_its_curve)
{
	begin();
	struct nb_results *more = record_rig_new();
	record_rig_add_job(more, "lm<db", 1);
	record_rig_add_curve(more);
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_curve(results);
	ck_assert_int_eq(nb_results_append(results, more), NB_OK);
	nb_results_delete(more);
	write_page();
	assert_good();
	ck_assert_uint_eq(count_of("<section id=\"curve\">"), 1);
	ck_assert_uint_eq(
		count_of("<figcaption>Latency over throughput: leveldb</figcaption>"), 1);
	ck_assert_uint_eq(
		count_of("<figcaption>Latency over throughput: lm&lt;db</figcaption>"), 1);
	ck_assert_uint_eq(count_of("Capacity in a closed loop: "), 2);
	ck_assert_uint_eq(count_of("<caption>Points of the curve"), 2);
}
END_TEST

/** The columns of a chart's data, by the figure's caption; to be given to json_decref(). */
static json_t *
data_of(const char *caption)
{
	static const char begins[] = "<script type=\"application/json\">";
	char figure[128];
	snprintf(figure, sizeof(figure), "<figcaption>%s</figcaption>", caption);
	const char *at = strstr(page, figure);
	ck_assert_msg(at != NULL, "no chart %s", caption);
	at = strstr(at, begins) + strlen(begins);
	json_t *all = json_loadb(at, (size_t)(strstr(at, "</script>") - at), 0, NULL);
	json_t *columns = json_incref(json_object_get(all, "data"));
	json_decref(all);
	return columns;
}

static void
assert_value(const json_t *columns, size_t column, size_t index, double wanted)
{
	double is = json_number_value(json_array_get(json_array_get(columns, column), index));
	ck_assert_msg(fabs(is - wanted) < 1e-3 * fabs(wanted) + 1e-9, "%zu, %zu: %g, not %g",
		column, index, is, wanted);
}

/* What the rig puts into each second is told a second: samples of 1 s, a pulse of 20 ms. */
START_TEST(charts_tell_what_was_measured)
{
	begin();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_curve(results);
	write_page();
	json_t *columns = data_of("compactions");
	assert_value(columns, 0, 12, 12.5); /* in the middle of its second */
	assert_value(columns, 1, 12, 7);
	assert_value(columns, 1, 13, 0);
	json_decref(columns);
	columns = data_of("CPU time"); /* 0.5 s user and 0.2 s system, each on the other */
	assert_value(columns, 1, 5, 0.5);
	assert_value(columns, 2, 5, 0.7);
	json_decref(columns);
	columns = data_of("Resident memory");
	assert_value(columns, 1, 29, 69.0 * 1048576);
	assert_value(columns, 2, 29, 75.0 * 1048576);
	json_decref(columns);
	columns = data_of("Queue: operations due and not done");
	assert_value(columns, 1, 12, 3000);
	assert_value(columns, 1, 11, 0);
	json_decref(columns);
	columns = data_of(
		"Operations per second"); /* 1499 pulses, 3 to a point: 200, 201, 202 */
	assert_value(columns, 0, 0, 0.03);
	assert_value(columns, 1, 0, 201 / 0.02);
	assert_value(columns, 2, 0, 200 / 0.02);
	assert_value(columns, 3, 0, 202 / 0.02);
	assert_value(columns, 1, 205, 0); /* in the stall, at 12.3 s */
	json_decref(columns);
	columns = data_of("Latency over throughput");
	assert_value(columns, 0, 9, 99000);
	assert_value(columns, 4, 0, 20000);
	json_decref(columns);
}
END_TEST

/* Service times of each kind are the histogram's percentiles: at 90 %, 1 / (1 - 0.9) = 10. */
START_TEST(counters_that_are_not_known_are_not_drawn_as_0)
{
	begin();
	struct record *record = record_rig_add_job(results, "leveldb", 1);
	struct series *series = &record->run->measured.series;
	series->samples[12].counter_count = 0;
	series->samples[13].counters[0] = 7;
	write_page();
	json_t *columns = data_of("compactions");
	ck_assert(json_is_null(json_array_get(json_array_get(columns, 1), 12)));
	assert_value(columns, 1, 13, 3.5); /* of two seconds */
	assert_value(columns, 1, 14, 0);
	json_decref(columns);
}
END_TEST

START_TEST(percentiles_are_those_of_the_histograms)
{
	begin();
	struct record *record = record_rig_add_put(results, "lmdb", 1);
	const struct nb_histogram *service = record->run->measured.service;
	write_page();
	json_t *columns = data_of("Each kind of operation");
	assert_value(columns, 0, 12, 10);
	assert_value(columns, 1, 12, (double)nb_histogram_percentile(service, 90));
	assert_value(columns, 0, 36, 1000);
	assert_value(columns, 1, 36, (double)nb_histogram_percentile(service, 99.9));
	/* 100000 operations: ten lie beyond 99.99 %, and there it ends */
	ck_assert_uint_eq(json_array_size(json_array_get(columns, 0)), 49);
	assert_value(columns, 0, 48, 10000);
	json_decref(columns);
}
END_TEST

START_TEST(a_page_needs_nothing_from_elsewhere)
{
	begin();
	record_rig_add_job(results, "leveldb", 1);
	write_page();
	assert_has("default-src 'none'");
	assert_lacks(" src=");
	assert_lacks("@import");
	assert_lacks("url(");
	assert_lacks("<link");
	assert_has("Permission is hereby granted, free of charge"); /* of uPlot's licence */
}
END_TEST

START_TEST(a_classic_action_has_a_page)
{
	begin();
	record_rig_add_put(results, "lmdb", 1);
	write_page();
	assert_good();
	assert_has("<b>25k ops/s</b>"); /* 100000 in 4 s */
	assert_has("put, service");
	assert_lacks("side by side");
}
END_TEST

START_TEST(each_chart_is_named)
{
	begin();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_put(results, "lmdb", 2);
	write_page();
	size_t drawings = count_of("<svg role=\"img\"");
	ck_assert_uint_gt(drawings, 25);
	ck_assert_uint_eq(count_of("<figure "), drawings);
	ck_assert_uint_eq(count_of("<desc id="), drawings);
	ck_assert_uint_eq(count_of("<title id="), drawings);
	for (size_t i = 0; i < drawings; i++) {
		char id[32];
		snprintf(id, sizeof(id), "id=\"c%zu\"", i);
		ck_assert_uint_eq(count_of(id), 1);
	}
	ck_assert_uint_eq(count_of("<table>"), count_of("<caption>"));
	ck_assert_uint_eq(count_of("<h1>"), 1);
}
END_TEST

START_TEST(headings_skip_no_level)
{
	begin();
	record_rig_add_job(results, "leveldb", 1);
	write_page();
	int level = 0;
	for (const char *at = page; (at = strstr(at, "<h")) != NULL; at++) {
		if (!isdigit((unsigned char)at[2]))
			continue;
		int next = at[2] - '0';
		ck_assert_msg(next <= level + 1, "h%d after h%d: %.60s", next, level, at);
		level = next;
	}
}
END_TEST

/* ---- several ---- */

START_TEST(results_side_by_side_share_their_notes)
{
	begin();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_put(results, "lmdb", 2);
	write_page();
	assert_good();
	assert_has("Results side by side");
	ck_assert_uint_eq(count_of("closed loop: each operation waits"), 1);
	assert_has("<b>all</b>: closed loop");
	assert_lacks("cannot be ranked");
}
END_TEST

START_TEST(results_that_differ_have_names_that_differ)
{
	begin();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_put(results, "leveldb", 2); /* which may move the first one */
	struct record *put = &results->records[0], *get = &results->records[1];
	get->run->workload.verb = NB_VERB_GET;
	write_page();
	assert_good();
	assert_has("<a href=\"#r0\">leveldb put</a>");
	assert_has("<a href=\"#r1\">leveldb get</a>");
	assert_has("<h1>results of leveldb</h1>");
	get->run->workload.verb = NB_VERB_PUT;
	free(put->run->engine_path);
	free(get->run->engine_path);
	put->run->engine_path = strdup("/old/before.so");
	get->run->engine_path = strdup("/new/after.so");
	write_page();
	assert_has("<a href=\"#r0\">leveldb before.so</a>");
	assert_has("<a href=\"#r1\">leveldb after.so</a>");
}
END_TEST

START_TEST(long_names_of_bars_keep_their_end)
{
	begin();
	for (unsigned rate = 13000; rate < 13002; rate++) {
		struct record *record = record_rig_add_put(results, "leveldb", 1);
		snprintf(record->label, sizeof(record->label), "at %u ops/s", rate);
	}
	write_page();
	assert_good();
	assert_has(">leveldb at</tspan>");
	assert_has(">13000 ops/s</tspan>");
	assert_has(">13001 ops/s</tspan>");
}
END_TEST

START_TEST(response_times_are_compared_where_there_was_a_rate)
{
	begin();
	record_rig_add_job(results, "leveldb", 1)->block = 1;
	write_page();
	assert_has(">response p99</th>");
	record_rig_add_job(results, "leveldb", 2)->block = 2;
	write_page();
	assert_good();
	assert_has("<h1>run of leveldb</h1>");
	assert_has("<a href=\"#r1\">leveldb (2)</a>");
	assert_has("Response times of what had a rate, by percentile");
	begin();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_put(results, "lmdb", 1);
	write_page();
	assert_lacks(">response p99</th>");
	assert_lacks("Response times of what had a rate");
}
END_TEST

START_TEST(a_note_of_one_names_it)
{
	begin();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_job(results, "lmdb", 2);
	write_page();
	assert_has("<b>lmdb run</b>: readers: the harness itself");
}
END_TEST

START_TEST(notes_of_one_kind_are_folded_up)
{
	begin();
	for (int i = 0; i < 3; i++) {
		struct nb_result *run =
			record_rig_add_put(results, i < 2 ? "lmdb" : "gdbm", 1)->run;
		struct result_note *note = &run->notes[1];
		free(note->text);
		ck_assert_int_gt(asprintf(&note->text, "others used %d %%", 10 * (i + 1)), 0);
	}
	write_page();
	assert_good();
	assert_has("<li><b>lmdb</b>: others used 10 %<details><summary>the same of "
		   "others</summary>"
		   "<ul>\n<li><b>lmdb</b>: others used 20 %</li>\n"
		   "<li><b>gdbm</b>: others used 30 %</li>\n</ul></details></li>");
	/* what engines say is of any kind */
	for (size_t i = 0; i < 3; i++)
		strcpy(results->records[i].run->notes[1].id, "engine");
	write_page();
	assert_lacks("the same of others");
	ck_assert_uint_eq(count_of(": others used "), 3);
}
END_TEST

START_TEST(what_cannot_be_ranked_says_so)
{
	begin();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_put(results, "lmdb", 2)->run->durability = NB_DUR_COMMIT;
	write_page();
	ck_assert_uint_eq(count_of("These cannot be ranked"), 1);
	assert_has("durability differs");
	record_rig_add_put(results, "gdbm", 2)->run->digest++;
	write_page();
	ck_assert_uint_eq(count_of("These cannot be ranked"), 2);
	assert_has("the digests of their streams differ");
	/* points of a sweep are of different rates, as was asked for, and others are not */
	begin();
	record_rig_add_put(results, "leveldb", 1);
	struct record *point = record_rig_add_put(results, "leveldb", 2);
	point->run->digest++;
	snprintf(point->label, sizeof(point->label), "at 9 ops/s");
	write_page();
	ck_assert_uint_eq(count_of("These cannot be ranked"), 1);
	record_rig_add_curve(results);
	write_page();
	ck_assert_uint_eq(count_of("These cannot be ranked"), 0);
	record_rig_add_put(results, "lmdb", 2)->run->digest += 2;
	write_page();
	ck_assert_uint_eq(count_of("These cannot be ranked"), 1);
}
END_TEST

START_TEST(different_actions_are_not_ranked_against_each_other)
{
	begin();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_job(results, "leveldb", 1)->run->digest++;
	write_page();
	assert_good();
	assert_lacks("cannot be ranked");
	assert_has("<h3>put</h3>");
	assert_has("<h3>run</h3>");
}
END_TEST

/** What stands between two parts of the page. */
static char *
part_of(const char *from, const char *to)
{
	const char *begins = strstr(page, from);
	ck_assert_msg(begins != NULL, "not there: %s", from);
	const char *ends = strstr(begins, to);
	ck_assert_msg(ends != NULL, "not there: %s", to);
	return strndup(begins, (size_t)(ends - begins));
}

START_TEST(vs_is_ranked_phase_by_phase_and_each_contestant_is_one)
{
	begin();
	record_rig_add_versus(results);
	write_page();
	assert_good();
	assert_lacks("cannot be ranked");
	assert_lacks("one repetition");
	assert_has("put: lmdb is 2.0 times faster than leveldb in throughput (95 % CI 1.9 to ");
	assert_has("run: lmdb is 2.0 times faster than leveldb in throughput (95 % CI 1.9 to ");
	ck_assert_uint_eq(count_of("class=\"result\""), 4);
	assert_has("which has the median throughput of 4.");
	char *put = part_of("<h3>put</h3>", "<h3>run</h3>");
	const char *best = strstr(put, "<th scope=\"row\">lmdb</th><td class=\"n\">4</td>");
	ck_assert_ptr_nonnull(best);
	ck_assert_ptr_nonnull(strstr(best, "<td>better</td>"));
	ck_assert_ptr_nonnull(strstr(best, "<th scope=\"row\">leveldb</th><td class=\"n\">4<"));
	free(put);
	char *side = part_of("id=\"results\"", "<h3>run</h3>");
	ck_assert_ptr_nonnull(strstr(side, "leveldb put"));
	ck_assert_ptr_null(strstr(side, "leveldb run"));
	free(side);
}
END_TEST

START_TEST(vs_that_was_refused_has_no_verdict_on_its_page)
{
	begin();
	record_rig_add_versus(results);
	for (size_t i = 0; i < results->count; i++)
		if (results->records[i].contestant == 2)
			results->records[i].run->durability = NB_DUR_COMMIT;
	write_page();
	assert_good();
	assert_has("<strong>These cannot be ranked:</strong> differing durability");
	assert_lacks("times faster than");
}
END_TEST

START_TEST(thirteen_engines_have_room)
{
	static const char *const names[] = {"berkeleydb", "fptree", "gdbm", "kyotocabinet",
		"leveldb", "lmdb", "memory", "null", "qdbm", "rocksdb", "sqlite", "tkrzw",
		"wiredtiger"};
	begin();
	for (size_t i = 0; i < 13; i++)
		record_rig_add_put(results, names[i], 1 + (double)i);
	write_page();
	assert_good();
	for (size_t i = 0; i < 13; i++) {
		char id[64];
		snprintf(id, sizeof(id), "<a href=\"#r%zu\">%s</a>", i, names[i]);
		assert_has(id);
	}
	ck_assert_uint_lt(strlen(page), 1200000);
}
END_TEST

/* ---- what is not there ---- */

START_TEST(no_results_are_a_page)
{
	begin();
	write_page();
	assert_good();
	assert_has("There are no results.");
}
END_TEST

START_TEST(a_failure_is_told)
{
	begin();
	ck_assert_int_eq(nb_results_add_failure(results, "gdbm", "killed by signal 11"), NB_OK);
	write_page();
	assert_good();
	assert_has("no result. killed by signal 11");
	record_rig_add_put(results, "lmdb", 1);
	nb_results_set_end(results, "interrupted");
	write_page();
	assert_good();
	assert_has(">no result</td>");
	assert_has("It did not end well:</strong> interrupted");
}
END_TEST

START_TEST(a_run_without_a_series_says_so)
{
	begin();
	struct record *record = record_rig_add_put(results, "lmdb", 1);
	series_destroy(&record->run->measured.series);
	record->run->measured.series = (struct series){0};
	write_page();
	assert_good();
	assert_has("What happened over time was not kept.");
	assert_lacks("Latency over time");
}
END_TEST

START_TEST(printed_intervals_stand_in_for_a_series)
{
	begin();
	struct record *record = record_rig_add_put(results, "lmdb", 1);
	series_destroy(&record->run->measured.series);
	record->run->measured.series = (struct series){0};
	struct nb_interval intervals[] = {
		{.end_ns = 1000000000, .duration_ns = 1000000000, .rate_ops_s = 100},
		{.end_ns = 2000000000, .duration_ns = 1000000000, .rate_ops_s = 300}};
	ck_assert_int_eq(nb_results_set_intervals(results, intervals, 2), NB_OK);
	write_page();
	assert_good();
	assert_has("\"data\":[[0.5,1.5],[100,300]]");
}
END_TEST

START_TEST(one_sample_is_enough)
{
	begin();
	struct record *record = record_rig_add_put(results, "lmdb", 1);
	struct series *series = &record->run->measured.series;
	struct sample first = series->samples[0]; /* of the warm-up */
	series->samples[0] = series->samples[3];
	series->samples[3] = first;
	while (series->count > 1)
		sample_destroy(&series->samples[--series->count]);
	series->pulses[0].count = 1;
	write_page();
	assert_good();
	assert_has("<figcaption>Operations per second</figcaption>");
	assert_has("<h3>Latency over time</h3>");
	assert_lacks("nan");
	series->pulses[0].count = 0;
	write_page();
	assert_good();
}
END_TEST

START_TEST(a_zero_sample_divides_nothing)
{
	begin();
	struct record *record = record_rig_add_put(results, "lmdb", 1);
	for (size_t i = 0; i < record->run->measured.series.count; i++)
		record->run->measured.series.samples[i].duration_ns = 0;
	record->run->measured.wall_ns = 0;
	write_page();
	assert_good();
	assert_lacks(":nan");
	assert_lacks(":inf");
}
END_TEST

START_TEST(a_damaged_histogram_is_left_out)
{
	begin();
	struct record *record = record_rig_add_put(results, "lmdb", 1);
	struct sample *sample = &record->run->measured.series.samples[3];
	free(sample->latencies[0].hdr);
	sample->latencies[0].hdr = strdup("HISTFAAA no such thing");
	write_page();
	assert_good();
	assert_has("<h3>Latency over time</h3>");
}
END_TEST

/* ---- what others wrote ---- */

START_TEST(hostile_texts_stay_texts)
{
	begin();
	struct record *record = record_rig_add_job(results, EVIL_NAME, 1);
	struct nb_result *run = record->run;
	snprintf(record->label, sizeof(record->label), "%s", EVIL);
	snprintf(run->environment.host, sizeof(run->environment.host), "%s", EVIL);
	snprintf(run->environment.cpu, sizeof(run->environment.cpu), "%s", EVIL);
	snprintf(record->job->groups[0].name, sizeof(record->job->groups[0].name), "%s", EVIL);
	free(run->options[0].name);
	run->options[0].name = strdup(EVIL);
	free(run->notes[0].text);
	run->notes[0].text = strdup(EVIL);
	struct counter *counter = &run->measured.series.counters.items[0];
	free(counter->name);
	free(counter->unit);
	counter->name = strdup(EVIL);
	counter->unit = strdup(EVIL);
	free(results->command.job);
	results->command.job = strdup(EVIL);
	results->command.words[1][0] = '\'';
	ck_assert_int_eq(nb_results_add_failure(results, EVIL, EVIL), NB_OK);
	write_page();
	assert_good();
	assert_lacks("<script>alert");
	assert_lacks("\xFF");
	assert_lacks("\xE2\x80\xAE");
	assert_lacks("</title><b>");
	assert_has("&lt;script&gt;alert(1)");
	assert_has("\\u003Cscript\\u003Ealert(1)");
	assert_has("&#39;&#39;\\&#39;&#39;-driver=leveldb&#39;");
}
END_TEST

/* ---- size ---- */

/** Ten minutes, as the sampler would have left them. */
static void
lengthen(struct series *series)
{
	size_t count = series->count;
	for (uint64_t second = count; second < 600; second++) {
		struct sample copy = series->samples[second % count];
		copy.end_ns = (second + 1) * UINT64_C(1000000000);
		copy.counters = malloc(copy.counter_count * sizeof(*copy.counters));
		memcpy(copy.counters, series->samples[second % count].counters,
			copy.counter_count * sizeof(*copy.counters));
		copy.latencies = malloc((copy.latency_count + 1) * sizeof(*copy.latencies));
		for (size_t i = 0; i < copy.latency_count; i++) {
			copy.latencies[i] = series->samples[second % count].latencies[i];
			copy.latencies[i].hdr = strdup(copy.latencies[i].hdr);
		}
		copy.used.minor_faults = second * second % 997;
		copy.counters[1] += second * second % 9973 * 100;
		ck_assert_int_eq(series_add(series, &copy), NB_OK);
	}
	struct pulses *pulses = series->pulses;
	pulses->pulse_ns = 40000000;
	pulses->count = 15000;
	pulses->ops = realloc(pulses->ops, pulses->count * sizeof(*pulses->ops));
	ck_assert_ptr_nonnull(pulses->ops);
	for (size_t i = 0; i < pulses->count; i++)
		pulses->ops[i] = i == 7777 ? 0 : 400 + (uint32_t)(i * i % 97);
}

START_TEST(ten_minutes_are_small_and_keep_their_stalls)
{
	begin();
	struct record *record = record_rig_add_job(results, "leveldb", 1);
	lengthen(&record->run->measured.series);
	write_page();
	assert_good();
	ck_assert_uint_lt(strlen(page), 500000);
	/* the one pulse without an operation is the low end of one of 600 points */
	const char *data = strstr(page, "\"lines\":[[\"operations/s\",0]]");
	ck_assert_ptr_nonnull(data);
	data = strstr(data, "\"data\":[");
	size_t points = 0, zeros = 0;
	const char *columns[4];
	for (size_t i = 0; i < 4; i++)
		columns[i] = data = strchr(data + (i == 0 ? 8 : 1), '[');
	for (const char *at = columns[2]; *at != ']'; at++) {
		points += *at == ',';
		zeros += strncmp(at, ",0,", 3) == 0;
	}
	ck_assert_uint_ge(points, 300);
	ck_assert_uint_le(points, 601);
	ck_assert_uint_eq(zeros, 1);
}
END_TEST

START_TEST(numbers_have_a_point_in_any_language)
{
	char *plain;
	begin();
	record_rig_add_put(results, "lmdb", 1);
	write_page();
	plain = strdup(page);
	if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "C.UTF-8") == NULL) {
		free(plain);
		return;
	}
	write_page();
	setlocale(LC_ALL, "C");
	ck_assert_str_eq(page, plain);
	free(plain);
}
END_TEST

START_TEST(a_stream_that_cannot_be_written_fails)
{
	begin();
	record_rig_add_put(results, "lmdb", 1);
	FILE *full = fopen("/dev/full", "we");
	ck_assert_ptr_nonnull(full);
	ck_assert_int_eq(nb_results_write(results, "html", full, 0), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "No space left on device"));
	fclose(full);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("html", a_job_has_all_its_parts, each_sweep_has_its_curve,
		charts_tell_what_was_measured, counters_that_are_not_known_are_not_drawn_as_0,
		percentiles_are_those_of_the_histograms, a_page_needs_nothing_from_elsewhere,
		a_classic_action_has_a_page, each_chart_is_named, headings_skip_no_level,
		results_side_by_side_share_their_notes,
		results_that_differ_have_names_that_differ, long_names_of_bars_keep_their_end,
		response_times_are_compared_where_there_was_a_rate, a_note_of_one_names_it,
		notes_of_one_kind_are_folded_up, what_cannot_be_ranked_says_so,
		different_actions_are_not_ranked_against_each_other,
		vs_is_ranked_phase_by_phase_and_each_contestant_is_one,
		vs_that_was_refused_has_no_verdict_on_its_page, thirteen_engines_have_room,
		no_results_are_a_page, a_failure_is_told, a_run_without_a_series_says_so,
		printed_intervals_stand_in_for_a_series, one_sample_is_enough,
		a_zero_sample_divides_nothing, a_damaged_histogram_is_left_out,
		hostile_texts_stay_texts, ten_minutes_are_small_and_keep_their_stalls,
		numbers_have_a_point_in_any_language, a_stream_that_cannot_be_written_fails);
}
