/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks an engine's durability claim against the counted syncs.
 *
 * At `commit` a write is acknowledged when it is on storage, so a sync began after the
 * write and ended before its answer. One sync can serve all writes that wait for it, one
 * per thread. So n writes by t threads need at least n/t syncs. With fewer syncs, at least
 * n - t * syncs writes were acknowledged before they were durable. This is a lower bound:
 * counting does not detect an engine that syncs often enough, but the wrong files.
 *
 * Writes and syncs are counted from the first operation to the end of the last one,
 * including the warm-up. With several processes the syncs of opening and closing are
 * included, in favour of the engine. If data may have become durable in ways that are not
 * counted, there is no finding.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/note.h"
#include "run/syncs.h"

enum { NAMES = 4 };

uint64_t
result_syncs(const struct system_counts *counts)
{
	return counts->fsync_calls + counts->fdatasync_calls + counts->msync_calls +
		counts->sync_calls;
}

uint64_t
result_unsynced(const struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	uint64_t syncs = result_syncs(&measured->used), commits = measured->commits;
	uint64_t threads = result->threads > 0 ? result->threads : 1;
	if ((measured->used.known & SYSTEM_SYNCS) == 0 || result->durability != NB_DUR_COMMIT ||
		measured->durable_by != 0 || syncs >= commits)
		return 0;
	return syncs * threads < commits ? commits - syncs * threads : 0;
}

/* ---- the line ---- */

/** List the calls: "2000 fdatasync, 3 fsync"; "" if there were none. */
static void
name_calls(const struct system_counts *counts, char *text, size_t size)
{
	const struct {
		const char *name;
		uint64_t count;
	} calls[NAMES] = {{"fsync", counts->fsync_calls},
		{"fdatasync", counts->fdatasync_calls}, {"msync", counts->msync_calls},
		{"sync or syncfs", counts->sync_calls}};
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < NAMES && used < size; i++) {
		if (calls[i].count > 0)
			used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64 " %s",
				used > 0 ? ", " : "", calls[i].count, calls[i].name);
	}
}

/** Other ways in which data may have become durable. */
static const char *
elsewhere(uint32_t durable_by)
{
	static const struct {
		uint32_t bit;
		const char *text;
	} ways[] = {
		{SYNCS_PERSISTENT_MEMORY,
			"; and in persistent memory (MAP_SYNC), where instructions make data durable"},
		{SYNCS_DSYNC_FILE,
			"; also written through a file open with O_DSYNC, each write of which is synced"},
		{SYNCS_IO_URING, "; an io_uring may have synced, too"}};
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if ((durable_by & ways[i].bit) != 0)
			return ways[i].text;
	}
	return "";
}

static bool
is_level_of_syncs(const struct nb_result *result)
{
	return result->durability == NB_DUR_PERIODIC || result->durability == NB_DUR_COMMIT;
}

void
result_syncs_text(const struct nb_result *result, char *text, size_t size)
{
	const struct measurement *measured = &result->measured;
	char calls[128], later[160] = "", per_write[64] = "", after[128];
	uint64_t syncs = result_syncs(&measured->used);
	bool is_write = !note_is_read(result), is_known = measured->used.known & SYSTEM_SYNCS;
	text[0] = '\0';
	if (!is_known && is_write && is_level_of_syncs(result) &&
		measured->syncs_missing[0] != '\0')
		snprintf(text, size, "not known: %s", measured->syncs_missing);
	if (!is_known)
		return;
	name_calls(&measured->used, calls, sizeof(calls));
	name_calls(&measured->used_after, after, sizeof(after));
	if (syncs == 0 && after[0] == '\0' && !(is_write && is_level_of_syncs(result)))
		return;
	if (measured->commits > 0 && syncs > 0)
		snprintf(per_write, sizeof(per_write), ", %.3g per write",
			(double)syncs / (double)measured->commits);
	else if (measured->commits > 0)
		snprintf(per_write, sizeof(per_write), " for %" PRIu64 " writes",
			measured->commits);
	if (after[0] != '\0')
		snprintf(later, sizeof(later), "; then until closed %s", after);
	snprintf(text, size, "%s%s%s%s", syncs > 0 ? calls : "none", per_write, later,
		elsewhere(result->durability == NB_DUR_COMMIT && syncs < measured->commits
				? measured->durable_by
				: 0));
}

/* ---- the note ---- */

void
notes_of_claims(struct nb_result *result)
{
	uint64_t unsynced = result_unsynced(result),
		 syncs = result_syncs(&result->measured.used);
	if (unsynced == 0)
		return;
	if (syncs == 0)
		note_add(result, false, "claims-without-syncs",
			"%s claims commit (writes survive power loss), but acknowledged %" PRIu64
			" writes without one sync, and not in persistent memory: power loss may take them all. The level is process at most; compare it as process",
			result->engine.name, unsynced);
	else
		note_add(result, false, "claims-without-syncs",
			"%s claims commit (writes survive power loss), but acknowledged %" PRIu64
			" writes with %" PRIu64
			" syncs, each of which can be for %s: at least %" PRIu64
			" of the writes were not yet durable, and power loss may take them. The level is not commit; compare it as periodic or process",
			result->engine.name, result->measured.commits, syncs,
			result->threads > 1 ? "one write of each thread" : "one write",
			unsynced);
}
