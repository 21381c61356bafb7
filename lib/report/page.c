/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as an HTML page: one file that needs no network and no other file.
 *
 * The page contains data and scripts that draw it. It embeds the results and the comparison
 * as JSON, and figures that only C computes: stalls, amplification, the knee, and the
 * explanations of names. The scripts in page/ draw tables and charts and calculate no
 * statistics. Rejected: drawing SVG here, which a script would have to redraw to zoom.
 * Without JavaScript the page shows the text report.
 *
 * Its content policy permits nothing from outside. So even if a text became markup by
 * mistake, it could neither fetch nor send anything.
 */
#include "report/page.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/compare.h"
#include "report/json_fields.h"

struct page {
	const struct nb_results *results;
	const struct nb_comparison *comparison;    /* NULL: nothing to compare */
	const struct nb_comparison *with_baseline; /* NULL: no baseline */
	/* the reason why vs has no comparison; "" */
	const char *refusal;
	FILE *out;
};

/* ---- figures that only C computes ---- */

/* clang-format off */
#define NUMBER(s, name, member) FIELD_NUMBER(s, name, member, KEEP, "")
#define REAL(s, name, member) FIELD_REAL(s, name, member, KEEP, "")
#define LAYERS(way) { \
	NUMBER(record_figures, "logical_bytes", logical_##way##_bytes), \
	REAL(record_figures, "calls", way##_calls), REAL(record_figures, "storage", way##_storage), \
	REAL(record_figures, "device", way##_device), {.name = NULL}}
static const struct json_field stall_fields[] = {
	NUMBER(stall, "begin_ns", begin_ns),
	NUMBER(stall, "duration_ns", duration_ns),
	REAL(stall, "rate_ops_s", rate_ops_s),
	FIELD_CHARS(stall, "cause", cause, KEEP, ""),
	{.name = NULL},
};
static const struct json_field stalls_fields[] = {
	NUMBER(stalls, "longest_gap_ns", longest_gap_ns),
	NUMBER(stalls, "longest_gap_at_ns", longest_gap_at_ns),
	NUMBER(stalls, "slow_ns", slow_ns),
	NUMBER(stalls, "looked_ns", looked_ns),
	REAL(stalls, "median_ops_s", median_ops_s),
	FIELD_LIST(stalls, "worst", worst, count, stall_fields, STALLS_MAX, KEEP, "", .flags = FIELD_WITHIN | FIELD_FILLED),
	{.name = NULL},
};
static const struct json_field write_fields[] = LAYERS(write);
static const struct json_field read_fields[] = LAYERS(read);
static const struct json_field figures_fields[] = {
	FIELD_OBJECT(record_figures, "stalls", stalls, stalls_fields, KEEP, ""),
	FIELD_PART("write", write_fields, KEEP, ""),
	FIELD_PART("read", read_fields, KEEP, ""),
	NUMBER(record_figures, "live_bytes", live_bytes),
	REAL(record_figures, "space", space),
	REAL(record_figures, "cycles_op", cycles_op),
	REAL(record_figures, "instructions_op", instructions_op),
	REAL(record_figures, "cache_misses_op", cache_misses_op),
	{.name = NULL},
};
/* clang-format on */

static json_t *
record_json(struct json_writer *writer, const struct record *record)
{
	const struct record_sweep *sweep = &record->sweep;
	struct record_figures figures;
	char title[128], syncs[512];
	record_title(record, title, sizeof(title));
	json_t *object = json_pack(
		"{s:o, s:b}", "title", json_from_text(title), "is_point", record->is_point);
	if (sweep->curve_count > 0)
		json_put(writer, object, "knee",
			json_from_u64(nb_curve_knee(sweep->curve, sweep->curve_count)));
	if (record->run == NULL)
		return object;
	record_figures(record, &figures);
	result_syncs_text(record->run, syncs, sizeof(syncs));
	json_write_fields(writer, object, figures_fields, &figures);
	json_put(writer, object, "syncs", json_from_text(syncs));
	return object;
}

static int
write_figures(const struct page *page, FILE *out)
{
	struct json_writer writer = {.verb = NULL};
	json_t *records = json_array(), *terms = json_object();
	for (size_t i = 0; i < page->results->count; i++)
		json_add(&writer, records, record_json(&writer, &page->results->records[i]));
	for (const struct nb_explanation *it = nb_explanations(); it->name != NULL; it++)
		if (strstr(it->where, "html") != NULL)
			json_put(&writer, terms, it->name, json_from_text(it->what));
	json_t *figures = json_pack("{s:s, s:b, s:s, s:o, s:o}", "mininb", nb_version(),
		"is_ranked", page->comparison != NULL && !page->comparison->is_unranked,
		"refusal", page->refusal, "results", records, "terms", terms);
	writer.has_failed |= figures == NULL || json_dumpf(figures, out, JSON_INDENT(1)) != 0;
	json_decref(figures);
	return writer.has_failed ? error_memory() : NB_OK;
}

/* ---- blocks of data ---- */

enum { REPORT, RESULTS, FIGURES, COMPARISON, BASELINE, BLOCKS };

static int
write_block(const struct page *page, int block, FILE *out)
{
	const struct nb_comparison *comparison = block == BASELINE ? page->with_baseline
								   : page->comparison;
	if (block == REPORT)
		return write_text(page->results, out, 0);
	if (block == RESULTS)
		return write_json(page->results, out, 0);
	if (block == FIGURES)
		return write_figures(page, out);
	return comparison != NULL ? compare_write_json(comparison, out) : NB_OK;
}

/**
 * Write JSON inside a script element. A '<' is always inside a string, where \u003c means
 * the same and cannot end the script.
 */
static void
put_json(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '<')
			fputs("\\u003c", out);
		else
			fputc(*text, out);
	}
}

static int
put_block(const struct page *page, int block)
{
	static const char *const ids[] = {NULL, "results", "figures", "comparison", "baseline"};
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	if (memory == NULL)
		return error_memory();
	int rc = write_block(page, block, memory);
	if (fclose(memory) != 0 && rc == NB_OK)
		rc = error_memory();
	if (rc == NB_OK && block == REPORT) {
		fputs("<noscript><pre>", page->out);
		page_text(page->out, text);
		fputs("</pre></noscript>\n", page->out);
	} else if (rc == NB_OK && text[0] != '\0') {
		fprintf(page->out, "<script type=\"application/json\" id=\"%s\">", ids[block]);
		put_json(page->out, text);
		fputs("</script>\n", page->out);
	}
	free(text);
	return rc;
}

/* ---- the frame ---- */

static void
put_files(FILE *out, const char *suffix)
{
	for (const struct page_file *file = page_files; file->name != NULL; file++) {
		size_t length = strlen(file->name), end = strlen(suffix);
		if (length >= end && strcmp(file->name + length - end, suffix) == 0) {
			fwrite(file->text, 1, file->size, out);
			fputc('\n', out);
		}
	}
}

static const char *
engine_of(const struct record *record)
{
	return record->name[0] != '\0' ? record->name
		: record->run != NULL  ? record->run->engine.name
				       : record->driver;
}

static bool
is_named_before(const struct nb_results *results, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(engine_of(&results->records[i]),
			    engine_of(&results->records[index])) == 0)
			return true;
	return false;
}

/** The action of all results; "results" if they differ. */
static const char *
action_of(const struct nb_results *results)
{
	const char *action = NULL;
	for (size_t i = 0; i < results->count; i++) {
		const struct record *record = &results->records[i];
		if (record->run == NULL)
			continue;
		if (action != NULL && strcmp(action, record_action(record)) != 0)
			return "results";
		action = record_action(record);
	}
	return results->command.action != NULL ? results->command.action
		: action != NULL               ? action
					       : "results";
}

/** Write "run of leveldb, lmdb": each engine once. */
static void
put_title(const struct nb_results *results, FILE *out)
{
	enum { NAMED = 5 };
	size_t engines = 0;
	page_text(out, action_of(results));
	for (size_t i = 0; i < results->count; i++) {
		if (is_named_before(results, i) || engines++ >= NAMED)
			continue;
		fputs(engines == 1 ? " of " : ", ", out);
		page_text(out, engine_of(&results->records[i]));
	}
	if (engines > NAMED)
		fprintf(out, " and %zu more", engines - NAMED);
}

static void
put_head(const struct page *page)
{
	FILE *out = page->out;
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"generator\" content=\"mininb\">\n<title>",
		out);
	put_title(page->results, out);
	fputs(" - mininb</title>\n<style>\n", out);
	put_files(out, ".css");
	fputs("</style>\n</head>\n<body>\n<header><h1>", out);
	put_title(page->results, out);
	fputs("</h1></header>\n<main>\n", out);
}

static void
put_tail(FILE *out)
{
	fprintf(out,
		"</main>\n<footer><p>Made by mininb %s. Charts by uPlot.</p></footer>\n"
		"<!--\nuPlot, which is below:\n\n",
		nb_version());
	put_files(out, "LICENSE");
	fputs("-->\n<script>\n", out);
	put_files(out, ".js");
	fputs("</script>\n</body>\n</html>\n", out);
}

static int
put_page(const struct page *page)
{
	put_head(page);
	for (int block = REPORT; block < BLOCKS; block++) {
		int rc = put_block(page, block);
		if (rc != NB_OK)
			return rc;
	}
	put_tail(page->out);
	return NB_OK;
}

/* ---- comparisons ---- */

/** Compare results; NULL: not possible. For vs, *refusal is then the reason. */
static int
compare(struct nb_comparison **out, const char **refusal, const struct nb_results *results)
{
	*out = NULL;
	*refusal = "";
	int rc = results->count > 1 ? compare_versus(out, results) : NB_OK;
	if (rc != NB_ERR_USAGE)
		return rc;
	if (results_are_versus(results))
		*refusal = nb_error_text();
	return NB_OK;
}

static bool
has_engine(const struct nb_results *results, const char *name)
{
	for (size_t i = 0; i < results->count; i++)
		if (strcmp(record_name(&results->records[i]), name) == 0)
			return true;
	return false;
}

/** Pick the runs of `all` whose engine also occurs in `others`; free the records. */
static int
pick_common(struct nb_results *picked, const struct nb_results *all,
	const struct nb_results *others)
{
	*picked = *all;
	picked->count = 0;
	picked->records = calloc(all->count + 1, sizeof(*picked->records));
	if (picked->records == NULL)
		return error_memory();
	for (size_t i = 0; i < all->count; i++)
		if (has_engine(others, record_name(&all->records[i])))
			picked->records[picked->count++] = all->records[i];
	return NB_OK;
}

static bool
has_one_engine(const struct nb_results *results)
{
	for (size_t i = 1; i < results->count; i++)
		if (strcmp(record_name(&results->records[i]),
			    record_name(&results->records[0])) != 0)
			return false;
	return true;
}

/**
 * Compare each engine with its baseline. The engines may differ only if each file has one
 * engine.
 */
static int
compare_with_baseline(struct nb_comparison **out, const struct nb_results *results)
{
	const struct nb_results *baseline = results->baseline;
	struct nb_results before = {.records = NULL}, now = {.records = NULL};
	struct nb_compare_input inputs[] = {{&before, "baseline"}, {&now, "now"}};
	struct nb_compare_options options = NB_COMPARE_OPTIONS_INIT;
	*out = NULL;
	options.force = 1; /* the page lists the differences */
	if (baseline == NULL)
		return NB_OK;
	int rc = pick_common(&before, baseline, results);
	if (rc == NB_OK)
		rc = pick_common(&now, results, baseline);
	if (rc == NB_OK && now.count == 0) {
		inputs[0].results = baseline;
		inputs[1].results = results;
		if (!has_one_engine(baseline) || !has_one_engine(results))
			rc = error_set(NB_ERR_USAGE,
				"the baseline has none of the result's engines; compare files that have an engine in common");
	}
	if (rc == NB_OK)
		rc = nb_comparison_new(out, inputs, 2, &options);
	free(before.records);
	free(now.records);
	return rc;
}

void
nb_results_set_baseline(struct nb_results *results, const struct nb_results *baseline)
{
	results->baseline = baseline;
}

int
write_html(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct nb_comparison *comparison = NULL, *with_baseline = NULL;
	struct page page = {.results = results, .out = out};
	(void)flags;
	int rc = compare(&comparison, &page.refusal, results);
	if (rc == NB_OK)
		rc = compare_with_baseline(&with_baseline, results);
	page.comparison = comparison;
	page.with_baseline = with_baseline;
	if (rc == NB_OK)
		rc = put_page(&page);
	nb_comparison_delete(comparison);
	nb_comparison_delete(with_baseline);
	if (rc == NB_OK && ferror(out))
		rc = error_system("the result cannot be written");
	return rc;
}
