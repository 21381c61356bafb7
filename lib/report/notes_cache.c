/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notes on the location of the data during the run: on storage, in the page cache, or in
 * the engine's own cache. Thresholds:
 * - cold: at most 5 % of the database's pages in memory before the first operation, which
 *   an engine's index and the end of its log may take;
 * - warm: 90 %, and less than one fault on storage in a thousand operations. Between cold
 *   and warm, times depend on what was done before;
 * - full: 10 % left. Below that, file systems search longer for space, and devices with
 *   little free space for garbage collection write more than requested.
 *
 * Transparent huge pages have no note. They serve anonymous memory, and files are not
 * mapped with them. Whether they help an engine's heap is a question for a comparison; the
 * result has the setting.
 */
#include <inttypes.h>

#include "base/units.h"
#include "report/note.h"

/**
 * The bytes of all records. A delete does not know the sizes of values, so use those of the
 * database.
 */
static uint64_t
bytes_of_data(const struct nb_result *result)
{
	if (result->workload.verb == NB_VERB_DELETE)
		return result->measured.had_bytes;
	return result->workload.count *
		(result->workload.key_size + result->workload.value_size);
}

static double
resident_percent(const struct residency *residency)
{
	return residency->total_bytes > 0
		? 100 * (double)residency->resident_bytes / (double)residency->total_bytes
		: 0;
}

static void
note_small_data(struct nb_result *result)
{
	uint64_t bytes = bytes_of_data(result);
	const char *data = UNITS_BYTES(bytes);
	const char *memory = UNITS_BYTES(result->sysinfo.memory_bytes);
	if (result->sysinfo.is_memory_filesystem || result_is_elsewhere(result) ||
		bytes / 2 >= result->sysinfo.memory_bytes)
		return;
	note_add(result, false, "small-data", "data of %s in memory of %s: %s", data, memory,
		!note_is_read(result)
			? "the page cache takes the writes, and they may reach the device later; write more than twice the memory"
			: result->measured.cold == COLD_NOT
			? "reads come from memory; use more data, or --cold"
			: "the run began cold, but after the first read a page came from memory; use more data");
}

static void
note_small_cache(struct nb_result *result)
{
	uint64_t bytes = bytes_of_data(result);
	if (result->cache_bytes > 0 && bytes > 0 && bytes < result->cache_bytes)
		note_add(result, false, "small-cache",
			"data of %s fits into the engine's cache of %s: the layers below were hardly measured; use a smaller --cache, or more data",
			UNITS_BYTES(bytes), UNITS_BYTES(result->cache_bytes));
}

static void
note_lukewarm(struct nb_result *result)
{
	enum { COLD_PERCENT = 5, WARM_PERCENT = 90 };
	const struct measurement *measured = &result->measured;
	const struct residency *begin = &measured->residency_begin;
	double percent = resident_percent(begin);
	uint64_t faults = (measured->used.known & SYSTEM_PROCESS) != 0
		? measured->used.major_faults
		: 0;
	if (!note_is_read(result) || measured->cold != COLD_NOT ||
		bytes_of_data(result) >= result->sysinfo.memory_bytes)
		return;
	if (begin->is_known && percent > COLD_PERCENT && percent < WARM_PERCENT)
		note_add(result, false, "lukewarm",
			"neither warm nor cold: %.0f %% of the database was in memory before the first operation; read all of it first, or use --cold",
			percent);
	else if (faults > 100 && faults * 1000 > measured->usage_ops)
		note_add(result, false, "lukewarm",
			"not warm: %" PRIu64
			" pages were read from storage during the operations; read all of the database first, or use --cold",
			faults);
}

static void
note_not_cold(struct nb_result *result)
{
	const struct measurement *measured = &result->measured;
	double before = resident_percent(&measured->residency_before);
	double begin = resident_percent(&measured->residency_begin);
	if (measured->cold == COLD_NOT)
		return; /* a new database */
	if (!measured->residency_begin.is_known)
		note_add(result, false, "not-cold",
			"whether the run was cold is unknown: mininb cannot see which of its pages are in memory; run as the owner of the database's files");
	else if (begin > 5 && before > 5)
		note_add(result, false, "not-cold",
			"not cold, although --cold was given: %.0f %% of the database stayed in memory; check whether another process has it open",
			before);
	else if (begin > 5)
		note_add(result, false, "not-cold",
			"not cold, although --cold was given: opening the database read %.0f %% of it before the first operation; this time counts as opening",
			begin);
}

static void
note_full(struct nb_result *result)
{
	uint64_t bytes = result->environment.filesystem_bytes,
		 free_bytes = result->environment.free_bytes;
	if (bytes > 0 && free_bytes < bytes / 10)
		note_add(result, false, "full",
			"the file system is %.0f %% full (%s left): writes may be slower than with more free space; free some",
			100 - 100 * (double)free_bytes / (double)bytes,
			UNITS_BYTES(free_bytes));
}

void
notes_of_cache(struct nb_result *result)
{
	bool is_cold = (result->flags & NB_RUN_COLD) != 0;
	if (!note_has_cap(result, NB_CAP_PERSISTENT)) {
		if (is_cold)
			note_add(result, false, "not-cold",
				"not cold, although --cold was given: %s keeps its data in memory; use an engine that keeps files",
				result->engine.name);
		return;
	}
	if (result->sysinfo.is_memory_filesystem)
		note_add(result, false, "memory-files",
			"the database is on %s: no storage device was measured; use a --path on one",
			result->sysinfo.filesystem);
	note_small_data(result);
	note_small_cache(result);
	note_lukewarm(result);
	if (is_cold)
		note_not_cold(result);
	note_full(result);
}
