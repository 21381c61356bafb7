/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges the results of all ranks.
 *
 * It first converts times of other machines to the clock of rank 0. The error of that is
 * the error of the clock comparison before the operations, plus the drift of the clocks
 * until the end.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "ranks/ranks.h"
#include "report/merge_parts.h"
#include "report/record.h"
#include "run/run.h"

/** The offset of the rank's clock to rank 0's clock, and its error. */
static struct clock_offset
offset_of(const struct rank *rank)
{
	struct clock_offset offset = rank->before;
	if (rank->before.error_ns > 0 && rank->after.error_ns > 0) {
		double moved_ns = fabs(rank->after.ns - rank->before.ns);
		double noise_ns = rank->before.error_ns + rank->after.error_ns;
		offset.error_ns += moved_ns > noise_ns ? moved_ns : 0;
	}
	return offset;
}

static void
set_clock(struct record *record, const struct rank *rank)
{
	struct clock_offset offset = offset_of(rank);
	struct measurement *measured = &record->run->measured;
	measured->clock_offset_ns = offset.ns;
	measured->clock_error_ns = offset.error_ns;
	if (measured->begun_at_ns > 0)
		measured->begun_at_ns -= (uint64_t)(int64_t)offset.ns;
}

/** Append the result of a rank, or the reason why it has none. */
static int
add_rank(struct nb_results *all, const struct rank *rank, uint32_t k, uint32_t count)
{
	struct nb_results *own = NULL;
	char name[32];
	int rc = NB_OK;
	snprintf(name, sizeof(name), "rank %" PRIu32, k);
	if (rank->json_size > 0)
		rc = results_parse(&own, rank->json, rank->json_size, name);
	if (rc == NB_OK && own != NULL && own->count > 0 && own->records[0].run != NULL) {
		struct record *record = &own->records[0];
		set_clock(record, rank);
		if (rank->status != 0)
			snprintf(record->end, sizeof(record->end), "%s", rank->end);
		record->run->measured.is_partial |= !rank->has_ended;
		rc = nb_results_append(all, own);
	} else if (rc == NB_OK) {
		struct record *record = results_append(all);
		rc = record != NULL ? NB_OK : NB_FAIL;
		if (record != NULL) {
			snprintf(record->label, sizeof(record->label), "%" PRIu32 "/%" PRIu32,
				k, count);
			snprintf(record->name, sizeof(record->name), "%s", rank->host);
			snprintf(record->end, sizeof(record->end), "%s",
				rank->end[0] != '\0' ? rank->end : "has no result yet");
		}
	}
	nb_results_delete(own);
	return rc;
}

int
nb_ranks_merge(struct nb_results **out, struct nb_ranks *ranks)
{
	struct nb_results *all;
	int rc = nb_results_new(&all);
	if (rc != NB_OK)
		return rc;
	for (uint32_t k = 0; k < ranks->count && rc == NB_OK; k++)
		rc = add_rank(all, &ranks->of[k], k, ranks->count);
	if (rc == NB_OK)
		rc = results_merge_some(out, all);
	nb_results_delete(all);
	if (rc != NB_OK)
		return rc;
	ranks->news = 0;
	const char *failure = nb_ranks_failure(ranks);
	if (failure != NULL)
		nb_results_set_end(*out, failure);
	else if (!ranks->is_over)
		nb_results_set_end(*out,
			"unfinished: mininb wrote this result while the run was under way");
	return NB_OK;
}

bool
ranks_merge_is_due(const struct nb_ranks *ranks, uint64_t now_ns)
{
	return nb_ranks_news(ranks) >= ranks->count &&
		now_ns - ranks->merged_ns >= PARTIAL_SHARE * ranks->merge_cost_ns;
}

int
nb_ranks_write_partial(struct nb_ranks *ranks, const char *path)
{
	uint64_t now_ns = clock_monotonic(), begin_ns = clock_thread_cpu_ns();
	bool is_failure = !ranks->was_failure_written && nb_ranks_failure(ranks) != NULL;
	struct nb_results *merged;
	if (!is_failure && !ranks_merge_is_due(ranks, now_ns))
		return 0;
	ranks->was_failure_written |= is_failure;
	int rc = nb_ranks_merge(&merged, ranks);
	if (rc == NB_ERR_USAGE) /* no rank has a result yet */
		return 0;
	if (rc == NB_OK) {
		rc = nb_results_write_file(merged, "json", path, 0);
		nb_results_delete(merged);
	}
	ranks->merged_ns = now_ns;
	ranks->merge_cost_ns = clock_thread_cpu_ns() - begin_ns;
	return rc == NB_OK ? 1 : rc;
}
