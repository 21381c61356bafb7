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

#include "base/error.h"
#include "ranks/ranks.h"
#include "report/merge_parts.h"
#include "report/record.h"

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
