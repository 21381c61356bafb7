/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as one table for programs: a row for each kind of operation of each group, with
 * service and with response times, and for all kinds of a group together; rows too for how
 * late the harness was, and for the hiccups of the machine. A run without a result has one
 * row, which says how it ended.
 *
 * Numbers are as they were measured, in the unit that ends the column's name, with a point.
 * A field is empty where something is not known, does not apply, or has too few samples.
 * Columns from "wall_ns" on are of the operations; those from "settled_ops_s" on are of the
 * whole run, and stand in each of its rows. A new column comes behind the last.
 *
 * Of vs it is the comparison; the rows of its runs are in PREFIX-operations.csv.
 */
#include <inttypes.h>
#include <string.h>

#include "report/compare.h"
#include "report/csv.h"
#include "report/walk.h"

/** What a cell is made of; of a run without a result, summary is that of its end. */
struct row {
	FILE *out;
	size_t count; /* rows that the run has so far */
	const struct walk_row *walk;
	struct nb_summary summary;
	struct record_figures figures;
};

struct column {
	const char *name;
	void (*write)(struct csv *csv, const struct row *row);
};

static void
write_result(struct csv *csv, const struct row *row)
{
	csv_count(csv, row->walk->index);
}

static void
write_title(struct csv *csv, const struct row *row)
{
	csv_text(csv, row->walk->title);
}

static void
write_driver(struct csv *csv, const struct row *row)
{
	csv_text(csv, row->walk->record->driver);
}

static void
write_version(struct csv *csv, const struct row *row)
{
	csv_text(csv, row->summary.version);
}

static void
write_label(struct csv *csv, const struct row *row)
{
	csv_text(csv, row->walk->record->label);
}

static void
write_block(struct csv *csv, const struct row *row)
{
	csv_known(csv, row->walk->record->block);
}

static void
write_action(struct csv *csv, const struct row *row)
{
	csv_text(csv, record_action(row->walk->record));
}

static void
write_durability(struct csv *csv, const struct row *row)
{
	if (row->summary.is_measured)
		csv_text(csv, nb_durability_name(row->summary.durability));
	else
		csv_empty(csv);
}

static void
write_group(struct csv *csv, const struct row *row)
{
	csv_text(csv, row->walk->group != NULL ? row->walk->group->name : "");
}

static void
write_phase(struct csv *csv, const struct row *row)
{
	if (row->walk->group != NULL)
		csv_count(csv, row->walk->group->phase);
	else
		csv_empty(csv);
}

static void
write_threads(struct csv *csv, const struct row *row)
{
	if (row->walk->group != NULL)
		csv_count(csv, row->walk->group->thread_count);
	else
		csv_empty(csv);
}

static void
write_background(struct csv *csv, const struct row *row)
{
	if (row->walk->group != NULL)
		csv_count(csv, row->walk->group->is_background);
	else
		csv_empty(csv);
}

static void
write_kind(struct csv *csv, const struct row *row)
{
	csv_text(csv, row->walk->kind);
}

static void
write_series(struct csv *csv, const struct row *row)
{
	csv_text(csv, row->walk->series);
}

/* ---- of the operations ---- */

static bool
has_operations(const struct row *row)
{
	return row->walk->what == WALK_KIND || row->walk->what == WALK_ALL;
}

static void
write_count(struct csv *csv, const struct row *row, uint64_t count)
{
	if (has_operations(row))
		csv_count(csv, count);
	else
		csv_empty(csv);
}

static void
write_wall(struct csv *csv, const struct row *row)
{
	write_count(csv, row, row->walk->group != NULL ? row->walk->group->wall_ns : 0);
}

static void
write_ops(struct csv *csv, const struct row *row)
{
	write_count(csv, row, row->walk->ops);
}

static void
write_rate(struct csv *csv, const struct row *row)
{
	if (has_operations(row))
		csv_real(csv, result_rate((double)row->walk->ops, row->walk->group->wall_ns));
	else
		csv_empty(csv);
}

static void
write_records(struct csv *csv, const struct row *row)
{
	write_count(csv, row, row->walk->records);
}

static void
write_bytes(struct csv *csv, const struct row *row)
{
	write_count(csv, row, row->walk->bytes);
}

static void
write_not_found(struct csv *csv, const struct row *row)
{
	write_count(csv, row, row->walk->answers[NB_NOT_FOUND]);
}

static void
write_conflicts(struct csv *csv, const struct row *row)
{
	write_count(csv, row, row->walk->answers[NB_CONFLICT]);
}

/* ---- of their times ---- */

static void
write_samples(struct csv *csv, const struct row *row)
{
	if (row->walk->histogram != NULL)
		csv_count(csv, nb_histogram_count(row->walk->histogram));
	else
		csv_empty(csv);
}

static void
write_mean(struct csv *csv, const struct row *row)
{
	if (row->walk->histogram != NULL)
		csv_real(csv, nb_histogram_mean(row->walk->histogram));
	else
		csv_empty(csv);
}

static void
write_min(struct csv *csv, const struct row *row)
{
	if (row->walk->histogram != NULL)
		csv_count(csv, nb_histogram_min(row->walk->histogram));
	else
		csv_empty(csv);
}

static void
write_max(struct csv *csv, const struct row *row)
{
	if (row->walk->histogram != NULL)
		csv_count(csv, nb_histogram_max(row->walk->histogram));
	else
		csv_empty(csv);
}

static void
write_percentile(struct csv *csv, const struct row *row, double percent)
{
	const struct nb_histogram *histogram = row->walk->histogram;
	if (histogram != NULL && nb_histogram_supports(histogram, percent, NULL))
		csv_count(csv, nb_histogram_percentile(histogram, percent));
	else
		csv_empty(csv);
}

#define PERCENTILE(name, percent) \
	static void write_##name(struct csv *csv, const struct row *row) \
	{ \
		write_percentile(csv, row, percent); \
	}

PERCENTILE(p50, 50)
PERCENTILE(p75, 75)
PERCENTILE(p90, 90)
PERCENTILE(p95, 95)
PERCENTILE(p99, 99)
PERCENTILE(p999, 99.9)
PERCENTILE(p9999, 99.99)
PERCENTILE(p99999, 99.999)

/* ---- of the whole run ---- */

/** Of these, 0 is known: it is what one looks for. NULL: they are not. */
static const struct measurement *
synced(const struct row *row)
{
	const struct nb_result *run = row->walk->record->run;
	bool is_known = run != NULL && (run->measured.used.known & SYSTEM_SYNCS) != 0;
	return is_known ? &run->measured : NULL;
}

static void
write_commits(struct csv *csv, const struct row *row)
{
	if (synced(row) != NULL)
		csv_count(csv, synced(row)->commits);
	else
		csv_empty(csv);
}

static void
write_syncs(struct csv *csv, const struct row *row)
{
	if (synced(row) != NULL)
		csv_count(csv, result_syncs(&synced(row)->used));
	else
		csv_empty(csv);
}

#define KNOWN(name, member) \
	static void write_##name(struct csv *csv, const struct row *row) \
	{ \
		csv_known(csv, (double)row->member); \
	}

KNOWN(settled, summary.settled_ops_s)
KNOWN(cpu, summary.cpu_ns_op)
KNOWN(data, summary.data_bytes)
KNOWN(memory, summary.max_resident_bytes)
KNOWN(cycles, figures.cycles_op)
KNOWN(instructions, figures.instructions_op)
KNOWN(cache_misses, figures.cache_misses_op)
KNOWN(live, figures.live_bytes)
KNOWN(logical_read, figures.logical_read_bytes)
KNOWN(logical_write, figures.logical_write_bytes)
KNOWN(write_calls, figures.write_calls)
KNOWN(write_storage, figures.write_storage)
KNOWN(write_device, figures.write_device)
KNOWN(read_calls, figures.read_calls)
KNOWN(read_storage, figures.read_storage)
KNOWN(read_device, figures.read_device)
KNOWN(space, figures.space)
KNOWN(longest_gap, figures.stalls.longest_gap_ns)
KNOWN(slow, figures.stalls.slow_ns)

static void
write_resident(struct csv *csv, const struct row *row)
{
	if (row->summary.is_measured && row->figures.resident_share >= 0)
		csv_real(csv, row->figures.resident_share);
	else
		csv_empty(csv);
}

static void
write_digest(struct csv *csv, const struct row *row)
{
	char digest[32] = "";
	if (row->summary.is_measured)
		snprintf(digest, sizeof(digest), "%016" PRIx64, row->summary.digest);
	csv_text(csv, digest);
}

static void
write_begun(struct csv *csv, const struct row *row)
{
	const struct nb_result *run = row->walk->record->run;
	csv_text(csv, run != NULL ? run->environment.begun : "");
}

static void
write_end(struct csv *csv, const struct row *row)
{
	csv_text(csv,
		row->summary.end[0] != '\0'       ? row->summary.end
			: row->summary.is_partial ? "partial"
						  : "done");
}

static const struct column columns[] = {
	{"result", write_result},
	{"title", write_title},
	{"driver", write_driver},
	{"version", write_version},
	{"label", write_label},
	{"block", write_block},
	{"action", write_action},
	{"durability", write_durability},
	{"group", write_group},
	{"phase", write_phase},
	{"threads", write_threads},
	{"is_background", write_background},
	{"kind", write_kind},
	{"series", write_series},
	{"wall_ns", write_wall},
	{"ops", write_ops},
	{"rate_ops_s", write_rate},
	{"records", write_records},
	{"value_bytes", write_bytes},
	{"not_found", write_not_found},
	{"conflicts", write_conflicts},
	{"samples", write_samples},
	{"mean_ns", write_mean},
	{"min_ns", write_min},
	{"p50_ns", write_p50},
	{"p75_ns", write_p75},
	{"p90_ns", write_p90},
	{"p95_ns", write_p95},
	{"p99_ns", write_p99},
	{"p99.9_ns", write_p999},
	{"p99.99_ns", write_p9999},
	{"p99.999_ns", write_p99999},
	{"max_ns", write_max},
	{"settled_ops_s", write_settled},
	{"cpu_ns_op", write_cpu},
	{"database_bytes", write_data},
	{"max_resident_bytes", write_memory},
	{"cycles_op", write_cycles},
	{"instructions_op", write_instructions},
	{"cache_misses_op", write_cache_misses},
	{"live_bytes", write_live},
	{"logical_read_bytes", write_logical_read},
	{"logical_write_bytes", write_logical_write},
	{"write_amplification_calls", write_write_calls},
	{"write_amplification_storage", write_write_storage},
	{"write_amplification_device", write_write_device},
	{"read_amplification_calls", write_read_calls},
	{"read_amplification_storage", write_read_storage},
	{"read_amplification_device", write_read_device},
	{"commits", write_commits},
	{"syncs", write_syncs},
	{"space_amplification", write_space},
	{"longest_gap_ns", write_longest_gap},
	{"slow_ns", write_slow},
	{"resident_share_at_begin", write_resident},
	{"stream_digest", write_digest},
	{"begun", write_begun},
	{"end", write_end},
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static int
write_row(void *to, const struct walk_row *walk)
{
	struct row *row = to;
	struct csv csv = {.out = row->out};
	row->walk = walk;
	row->count++;
	for (size_t i = 0; i < COLUMNS; i++)
		columns[i].write(&csv, row);
	csv_end(&csv);
	return NB_OK;
}

/** The only one of a run that has no times. */
static int
write_bare(const struct nb_results *results, size_t index, struct row *row)
{
	char title[WALK_TITLE];
	struct walk_row bare = {.what = WALK_HICCUPS,
		.index = index,
		.record = &results->records[index],
		.title = title,
		.kind = "",
		.series = ""};
	walk_title(results, index, title);
	return write_row(row, &bare);
}

static int
write_record(const struct nb_results *results, size_t index, FILE *out)
{
	const struct record *record = &results->records[index];
	struct row row = {.out = out};
	nb_results_summarize(results, index, &row.summary);
	if (record->run != NULL)
		record_figures(record, &row.figures);
	int rc = walk_record(results, index, write_row, &row);
	return rc == NB_OK && row.count == 0 ? write_bare(results, index, &row) : rc;
}

int
csv_write_operations(const struct nb_results *results, FILE *out)
{
	struct csv csv = {.out = out};
	int rc = NB_OK;
	for (size_t i = 0; i < COLUMNS; i++)
		csv_text(&csv, columns[i].name);
	csv_end(&csv);
	for (size_t i = 0; i < results->count && rc == NB_OK; i++)
		rc = write_record(results, i, out);
	return rc;
}

int
write_csv(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct nb_comparison *comparison;
	(void)flags;
	if (!results_are_versus(results) || compare_versus(&comparison, results) != NB_OK)
		return csv_write_operations(results, out);
	int rc = compare_write_csv(comparison, out);
	nb_comparison_delete(comparison);
	return rc;
}
