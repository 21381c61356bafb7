/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results side by side. A summary is plain data of a fixed size: it can be passed to
 * another process, and outlives the run that it describes.
 *
 * If rates are not comparable because of another durability or another stream of
 * operations, text prints that before the table. A percentile with too few samples is
 * empty. Text has two tables, because a terminal has 80 columns; Markdown has one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/histogram.h"
#include "base/units.h"
#include "report/report.h"
#include "report/walk.h"

enum { BAR_MARKS = 8 };

/* Views of the table of summaries. */
enum { SPEED = 4, COST = 8, BARS = 16 };

void
nb_result_summarize(const struct nb_result *result, struct nb_summary *out)
{
	const struct measurement *measured = &result->measured;
	struct record record = {.run = (struct nb_result *)result};
	*out = (struct nb_summary){.size = sizeof(*out),
		.verb = result->workload.verb,
		.threads = result->threads,
		.durability = result->durability,
		.is_measured = 1,
		.is_partial = measured->is_partial,
		.ops = measured->ops,
		.digest = result->digest,
		.rate_ops_s = result_rate((double)measured->ops, measured->wall_ns),
		.settled_ops_s = record_settled_rate(&record),
		.cpu_ns_op = record_cpu_ns_op(&record),
		.p50_ns = histogram_supported(measured->service, 50),
		.p99_ns = histogram_supported(measured->service, 99),
		.p999_ns = histogram_supported(measured->service, 99.9),
		.max_ns = nb_histogram_max(measured->service),
		.data_bytes = measured->data_bytes,
		.max_resident_bytes = measured->max_resident_bytes};
	snprintf(out->driver, sizeof(out->driver), "%s", result->engine.name);
	snprintf(out->version, sizeof(out->version), "%s", result->engine_version);
	if (result->is_of_processes)
		out->max_resident_bytes = 0;
	if (result->is_job)
		result_summarize_job(result, out);
}

/** The first summary whose durability or stream differs from that of the first measured one. */
static const struct nb_summary *
find_other(const struct nb_summary *summaries, size_t count, bool is_by_stream)
{
	const struct nb_summary *first = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct nb_summary *it = &summaries[i];
		if (!it->is_measured)
			continue;
		if (first == NULL)
			first = it;
		else if (is_by_stream ? it->digest != first->digest
				      : it->durability != first->durability)
			return it;
	}
	return NULL;
}

/** Append " none: lmdb tdb;" for each level. */
static void
add_levels(struct doc *doc, const struct nb_summary *summaries, size_t count)
{
	for (uint32_t level = NB_DUR_NONE; level <= NB_DUR_COMMIT; level++) {
		bool is_first = true;
		for (size_t i = 0; i < count; i++) {
			if (!summaries[i].is_measured || summaries[i].durability != level)
				continue;
			if (is_first)
				doc_more(doc, " %s:", nb_durability_name(level));
			doc_more(doc, " %s", summaries[i].driver);
			is_first = false;
		}
		doc_more(doc, "%s", is_first ? "" : ";");
	}
}

static void
add_warnings(struct doc *doc, const struct nb_summary *summaries, size_t count)
{
	if (find_other(summaries, count, true) != NULL)
		doc_paragraph(doc,
			"These did not do the same operations: the digests of their streams differ.");
	if (find_other(summaries, count, false) == NULL)
		return;
	doc_paragraph(doc, "Durability differs, so these are not rates of the same work:");
	add_levels(doc, summaries, count);
	doc_more(doc, " --durability asks for one level");
}

/** Add a row; only Markdown shows `title` and `action`. */
static void
add_summary(struct doc *doc, const struct nb_summary *summary, const char *title,
	const char *action, double highest)
{
	bool is_measured = summary->is_measured != 0;
	int marks = highest > 0 ? (int)(summary->rate_ops_s / highest * BAR_MARKS + 0.5) : 0;
	const char *level = is_measured ? nb_durability_name(summary->durability) : "";
	doc_row(doc);
	doc_cell(doc, "%s", title);
	doc_cell(doc, "%s", summary->driver);
	doc_cell(doc, "%s", is_measured ? summary->version : "");
	doc_cell(doc, "%s", is_measured ? action : "");
	doc_cell(doc, "%s", level);
	doc_cell(doc, "%.0f", summary->rate_ops_s);
	doc_cell_rate(doc, summary->rate_ops_s);
	doc_cell_if(doc, summary->settled_ops_s > 0, "%.0f", summary->settled_ops_s);
	doc_cell_rate(doc, summary->settled_ops_s);
	doc_cell_ns(doc, (double)summary->p50_ns);
	doc_cell_ns(doc, (double)summary->p99_ns);
	doc_cell_ns(doc, (double)summary->p999_ns);
	doc_cell_ns(doc, (double)summary->max_ns);
	doc_cell_ns(doc, summary->cpu_ns_op);
	doc_cell(doc, "%.*s", marks, "##########");
	doc_cell_bytes(doc, is_measured ? (double)summary->data_bytes : 0);
	doc_cell_bytes(doc, is_measured ? (double)summary->max_resident_bytes : 0);
	doc_cell(doc, "%s",
		summary->end[0] != '\0'       ? summary->end
			: summary->is_partial ? "partial"
					      : "done");
}

static void
begin_summaries(struct doc *doc, uint32_t view)
{
	enum { TEXT = SPEED | COST, MARKDOWN = DOC_MARKDOWN };
	static const struct doc_column columns[] = {{"engine", DOC_LEFT, MARKDOWN},
		{"driver", DOC_LEFT, TEXT}, {"version", DOC_LEFT, COST | MARKDOWN},
		{"action", DOC_LEFT, MARKDOWN}, {"durability", DOC_LEFT, COST | MARKDOWN},
		{"ops/s", DOC_RIGHT, SPEED}, {"ops/s", DOC_RIGHT, MARKDOWN},
		{"settled", DOC_RIGHT, SPEED}, {"settled", DOC_RIGHT, MARKDOWN},
		{"p50", DOC_RIGHT, SPEED | MARKDOWN}, {"p99", DOC_RIGHT, SPEED | MARKDOWN},
		{"p99.9", DOC_RIGHT, SPEED | MARKDOWN}, {"max", DOC_RIGHT, SPEED | MARKDOWN},
		{"CPU/op", DOC_RIGHT, SPEED | MARKDOWN}, {"", DOC_LEFT, BARS},
		{"database", DOC_RIGHT, COST | MARKDOWN},
		{"memory", DOC_RIGHT, COST | MARKDOWN}, {"end", DOC_LEFT, COST | MARKDOWN}};
	doc_table(doc, columns, view, 0);
}

/** Add the speed of each that executed at least one operation. */
static void
add_speed(struct doc *doc, const struct nb_summary *summaries, size_t count, bool has_bars)
{
	double highest = 0;
	for (size_t i = 0; i < count; i++)
		if (summaries[i].rate_ops_s > highest)
			highest = summaries[i].rate_ops_s;
	begin_summaries(doc, has_bars ? SPEED | BARS : SPEED);
	for (size_t i = 0; i < count; i++)
		if (summaries[i].is_measured)
			add_summary(doc, &summaries[i], "", "", highest);
}

/** Add the cost of each, and how it ended. */
static void
add_cost(struct doc *doc, const struct nb_summary *summaries, size_t count)
{
	begin_summaries(doc, COST);
	for (size_t i = 0; i < count; i++)
		add_summary(doc, &summaries[i], "", "", 0);
}

void
report_side_by_side(struct doc *doc, const struct nb_results *results)
{
	begin_summaries(doc, DOC_MARKDOWN);
	for (size_t i = 0; i < results->count; i++) {
		struct nb_summary summary;
		char title[WALK_TITLE];
		nb_results_summarize(results, i, &summary);
		walk_title(results, i, title);
		add_summary(doc, &summary, title, record_action(&results->records[i]), 0);
	}
	if (results->count > 0) {
		doc_gap(doc);
		doc_paragraph(doc, "Times are service times.");
	}
}

/** Add the groups of jobs, each engine's group below the other; nothing if there are none. */
static void
add_parts(struct doc *doc, const struct nb_summary *summaries, size_t count)
{
	static const struct doc_column columns[] = {{"driver", DOC_LEFT, 0},
		{"group", DOC_LEFT, 0}, {"ops", DOC_RIGHT, 0}, {"inserts", DOC_RIGHT, 0},
		{"reads", DOC_RIGHT, 0}, {"updates", DOC_RIGHT, 0}, {"ns/op", DOC_RIGHT, 0},
		{"ops/s", DOC_RIGHT, 0}, {"p50", DOC_RIGHT, 0}, {"p99", DOC_RIGHT, 0}};
	doc_table(doc, columns, 0, DOC_APART);
	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < summaries[i].part_count; j++) {
			const struct nb_summary_part *part = &summaries[i].parts[j];
			doc_row(doc);
			doc_cell(doc, "%s", summaries[i].driver);
			doc_cell(doc, "%s", part->name);
			doc_cell_count(doc, part->ops);
			doc_cell_count(doc, part->inserts);
			doc_cell_count(doc, part->reads);
			doc_cell_count(doc, part->updates);
			doc_cell(doc, "%.1f", part->ns_op);
			doc_cell(doc, "%.0f", part->rate_ops_s);
			doc_cell_ns(doc, (double)part->p50_ns);
			doc_cell_ns(doc, (double)part->p99_ns);
		}
}

void
report_summaries(
	struct doc *doc, const struct nb_summary *summaries, size_t count, uint32_t flags)
{
	add_warnings(doc, summaries, count);
	add_speed(doc, summaries, count, (flags & NB_TEXT_BARS) != 0);
	doc_gap(doc);
	add_cost(doc, summaries, count);
	add_parts(doc, summaries, count);
}

int
nb_summaries_write_text(
	const struct nb_summary *summaries, size_t count, FILE *out, uint32_t flags)
{
	struct doc doc = {0};
	report_summaries(&doc, summaries, count, flags);
	return doc_finish(&doc, NB_OK, DOC_TEXT, out, "cannot write a table");
}
