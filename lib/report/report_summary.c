/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results side by side. A summary is plain data of a fixed size: it crosses to
 * another process as it is, and outlives the run that it tells of.
 *
 * What makes rates incomparable is said before the table and not below it: a
 * different durability, a different stream of operations. A percentile that too
 * few samples support stays empty. Two tables and not one, since a terminal has 80 columns.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/table.h"
#include "base/units.h"
#include "report/record.h"

enum { SPEED_COLUMNS = 9, COST_COLUMNS = 6, PART_COLUMNS = 10, CELL_SIZE = 64, BAR_MARKS = 8 };

static uint64_t
percentile(const struct nb_histogram *service, double percent)
{
	uint64_t needed;
	return nb_histogram_supports(service, percent, &needed)
		? nb_histogram_percentile(service, percent)
		: 0;
}

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
		.p50_ns = percentile(measured->service, 50),
		.p99_ns = percentile(measured->service, 99),
		.p999_ns = percentile(measured->service, 99.9),
		.max_ns = nb_histogram_max(measured->service),
		.data_bytes = measured->data_bytes,
		.max_resident_bytes = measured->max_resident_bytes};
	snprintf(out->driver, sizeof(out->driver), "%s", result->engine.name);
	snprintf(out->version, sizeof(out->version), "%s", result->engine_version);
	if (result->is_of_processes)
		out->max_resident_bytes = 0;
}

/** The first measured one whose durability or stream is another than the first's. */
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

static void
write_warnings(const struct nb_summary *summaries, size_t count, FILE *out)
{
	if (find_other(summaries, count, true) != NULL)
		fputs("These did not do the same operations: the digests of their streams "
		      "differ.\n",
			out);
	if (find_other(summaries, count, false) == NULL)
		return;
	fputs("Durability differs, so these are not rates of the same work:", out);
	for (uint32_t level = NB_DUR_NONE; level <= NB_DUR_COMMIT; level++) {
		bool is_first = true;
		for (size_t i = 0; i < count; i++) {
			if (!summaries[i].is_measured || summaries[i].durability != level)
				continue;
			if (is_first)
				fprintf(out, " %s:", nb_durability_name(level));
			fprintf(out, " %s", summaries[i].driver);
			is_first = false;
		}
		fputs(is_first ? "" : ";", out);
	}
	fputs(" --durability asks for one level\n", out);
}

/** With its unit, since one column has microseconds and seconds. */
static void
format_time(char *cell, double ns)
{
	cell[0] = '\0';
	if (ns > 0)
		units_format_ns(cell, CELL_SIZE, ns);
}

static void
format_bar(char *cell, double rate, double highest)
{
	int marks = highest > 0 ? (int)(rate / highest * BAR_MARKS + 0.5) : 0;
	snprintf(cell, CELL_SIZE, "%.*s", marks, "##########");
}

static int
add_speed(struct table *table, const struct nb_summary *summary, double highest)
{
	char cells[SPEED_COLUMNS][CELL_SIZE] = {{0}};
	const char *row[SPEED_COLUMNS];
	snprintf(cells[0], CELL_SIZE, "%s", summary->driver);
	snprintf(cells[1], CELL_SIZE, "%.0f", summary->rate_ops_s);
	if (summary->settled_ops_s > 0)
		snprintf(cells[2], CELL_SIZE, "%.0f", summary->settled_ops_s);
	format_time(cells[3], (double)summary->p50_ns);
	format_time(cells[4], (double)summary->p99_ns);
	format_time(cells[5], (double)summary->p999_ns);
	format_time(cells[6], (double)summary->max_ns);
	format_time(cells[7], summary->cpu_ns_op);
	if (highest > 0)
		format_bar(cells[8], summary->rate_ops_s, highest);
	for (size_t i = 0; i < SPEED_COLUMNS; i++)
		row[i] = cells[i];
	return table_add(table, row);
}

/** How fast each was; of those that came to a first operation. */
static int
write_speed(const struct nb_summary *summaries, size_t count, FILE *out, bool has_bars)
{
	static const struct table_column columns[SPEED_COLUMNS] = {{"driver", false},
		{"ops/s", true}, {"settled", true}, {"p50", true}, {"p99", true},
		{"p99.9", true}, {"max", true}, {"CPU/op", true}, {"", false}};
	struct table table;
	double highest = 0;
	int rc = NB_OK;
	for (size_t i = 0; i < count && has_bars; i++)
		if (summaries[i].rate_ops_s > highest)
			highest = summaries[i].rate_ops_s;
	table_create(&table, columns, SPEED_COLUMNS - !has_bars);
	for (size_t i = 0; rc == NB_OK && i < count; i++)
		if (summaries[i].is_measured)
			rc = add_speed(&table, &summaries[i], highest);
	if (rc == NB_OK)
		rc = table_write(&table, out);
	table_destroy(&table);
	return rc;
}

static int
add_cost(struct table *table, const struct nb_summary *summary)
{
	char cells[COST_COLUMNS][CELL_SIZE] = {{0}};
	const char *row[COST_COLUMNS];
	snprintf(cells[0], CELL_SIZE, "%s", summary->driver);
	if (summary->is_measured) {
		snprintf(cells[1], CELL_SIZE, "%s", summary->version);
		snprintf(cells[2], CELL_SIZE, "%s", nb_durability_name(summary->durability));
		if (summary->data_bytes > 0)
			units_format_bytes(cells[3], CELL_SIZE, (double)summary->data_bytes);
		if (summary->max_resident_bytes > 0)
			units_format_bytes(
				cells[4], CELL_SIZE, (double)summary->max_resident_bytes);
	}
	for (size_t i = 0; i < COST_COLUMNS; i++)
		row[i] = cells[i];
	row[COST_COLUMNS - 1] = summary->end[0] != '\0' ? summary->end
		: summary->is_partial                   ? "partial"
							: "done";
	return table_add(table, row);
}

/** What that took and gave, and how each ended. */
static int
write_cost(const struct nb_summary *summaries, size_t count, FILE *out)
{
	static const struct table_column columns[COST_COLUMNS] = {{"driver", false},
		{"version", false}, {"durability", false}, {"database", true}, {"memory", true},
		{"end", false}};
	struct table table;
	int rc = NB_OK;
	table_create(&table, columns, COST_COLUMNS);
	for (size_t i = 0; rc == NB_OK && i < count; i++)
		rc = add_cost(&table, &summaries[i]);
	if (rc == NB_OK)
		rc = table_write(&table, out);
	table_destroy(&table);
	return rc;
}

static void
format_count(char *cell, uint64_t count)
{
	cell[0] = '\0';
	if (count > 0)
		snprintf(cell, CELL_SIZE, "%" PRIu64, count);
}

static int
add_part(struct table *table, const char *driver, const struct nb_summary_part *part)
{
	char cells[PART_COLUMNS][CELL_SIZE] = {{0}};
	const char *row[PART_COLUMNS];
	snprintf(cells[0], CELL_SIZE, "%s", driver);
	snprintf(cells[1], CELL_SIZE, "%s", part->name);
	format_count(cells[2], part->ops);
	format_count(cells[3], part->inserts);
	format_count(cells[4], part->reads);
	format_count(cells[5], part->updates);
	snprintf(cells[6], CELL_SIZE, "%.1f", part->ns_op);
	snprintf(cells[7], CELL_SIZE, "%.0f", part->rate_ops_s);
	format_time(cells[8], (double)part->p50_ns);
	format_time(cells[9], (double)part->p99_ns);
	for (size_t i = 0; i < PART_COLUMNS; i++)
		row[i] = cells[i];
	return table_add(table, row);
}

/** The groups of jobs, each engine's one below the other; nothing if there are none. */
static int
write_parts(const struct nb_summary *summaries, size_t count, FILE *out)
{
	static const struct table_column columns[PART_COLUMNS] = {{"driver", false},
		{"group", false}, {"ops", true}, {"inserts", true}, {"reads", true},
		{"updates", true}, {"ns/op", true}, {"ops/s", true}, {"p50", true},
		{"p99", true}};
	struct table table;
	size_t parts = 0;
	int rc = NB_OK;
	table_create(&table, columns, PART_COLUMNS);
	for (size_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < summaries[i].part_count && rc == NB_OK; j++, parts++)
			rc = add_part(&table, summaries[i].driver, &summaries[i].parts[j]);
	}
	if (rc == NB_OK && parts > 0) {
		fputc('\n', out);
		rc = table_write(&table, out);
	}
	table_destroy(&table);
	return rc;
}

int
nb_summaries_write_text(
	const struct nb_summary *summaries, size_t count, FILE *out, uint32_t flags)
{
	write_warnings(summaries, count, out);
	int rc = write_speed(summaries, count, out, (flags & NB_TEXT_BARS) != 0);
	fputc('\n', out);
	if (rc == NB_OK)
		rc = write_cost(summaries, count, out);
	if (rc == NB_OK)
		rc = write_parts(summaries, count, out);
	if (rc != NB_OK)
		return rc;
	if (fflush(out) != 0 || ferror(out))
		return error_system("the table cannot be written");
	return NB_OK;
}
