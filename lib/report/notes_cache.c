/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notes on where the data was while it was measured: on storage, in the page cache, or in the
 * engine's own. Thresholds:
 *   - cold: at most 5 % of the database's pages in memory when the first operation begins,
 *     which is what an engine's index and the end of its log may take;
 *   - warm: 90 %, and less than one fault on storage in a thousand operations; what lies
 *     between is a time that depends on what was done before;
 *   - full: 10 % left, from where on file systems look longer for room, and devices, which
 *     have little left to clean with, write more than they are told to.
 *
 * Transparent huge pages have no note. They are for anonymous memory, and files are not mapped
 * with them; whether an engine's heap is faster or slower with them is for a comparison, and
 * the setting is told with the result.
 */
#include "base/units.h"
#include "report/note.h"

static bool
is_kept(const struct nb_result *result)
{
	return note_has_cap(result, NB_CAP_PERSISTENT);
}

/** A delete is not told how large the values are; the database was as large as it was. */
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
note_memory_files(const struct nb_result *result, char *note)
{
	if (is_kept(result) && result->sysinfo.is_memory_filesystem)
		note_write(note,
			"the database is on %s: no storage device was measured; take a --path on one",
			result->sysinfo.filesystem);
}

static void
note_small_data(const struct nb_result *result, char *note)
{
	uint64_t bytes = bytes_of_data(result);
	const char *data = UNITS_BYTES(bytes);
	const char *memory = UNITS_BYTES(result->sysinfo.memory_bytes);
	if (!is_kept(result) || result->sysinfo.is_memory_filesystem ||
		bytes / 2 >= result->sysinfo.memory_bytes)
		return;
	if (!note_is_read(result))
		note_write(note,
			"data of %s in memory of %s: the page cache takes the writes, the device may see them later; write more than twice the memory",
			data, memory);
	else if (result->measured.cold == COLD_NOT)
		note_write(note,
			"data of %s in memory of %s: reads come from memory; take more data, or make the run cold",
			data, memory);
	else
		note_write(note,
			"data of %s in memory of %s: though the run began cold, what was read once came from memory from then on; take more data",
			data, memory);
}

static void
note_small_cache(const struct nb_result *result, char *note)
{
	uint64_t bytes = bytes_of_data(result);
	if (!is_kept(result) || result->cache_bytes == 0 || bytes == 0 ||
		bytes >= result->cache_bytes)
		return;
	note_write(note,
		"data of %s fits into the engine's cache of %s: what lies below that was hardly measured; take a smaller --cache, or more data",
		UNITS_BYTES(bytes), UNITS_BYTES(result->cache_bytes));
}

static void
note_lukewarm(const struct nb_result *result, char *note)
{
	enum { COLD_PERCENT = 5, WARM_PERCENT = 90 };
	const struct measurement *measured = &result->measured;
	const struct residency *begin = &measured->residency_begin;
	double percent = resident_percent(begin);
	uint64_t faults = (measured->used.known & SYSTEM_PROCESS) != 0
		? measured->used.major_faults
		: 0;
	if (!is_kept(result) || !note_is_read(result) || measured->cold != COLD_NOT ||
		bytes_of_data(result) >= result->sysinfo.memory_bytes)
		return;
	if (begin->is_known && percent > COLD_PERCENT && percent < WARM_PERCENT)
		note_write(note,
			"neither warm nor cold: %.0f %% of the database was in memory when the first operation began; read it all once before, or make the run cold",
			percent);
	else if (faults > 100 && faults * 1000 > measured->usage_ops)
		note_write(note,
			"not warm: %llu pages were fetched from storage while the operations ran; read all of the database once before, or make the run cold",
			(unsigned long long)faults);
}

static void
note_not_cold(const struct nb_result *result, char *note)
{
	const struct measurement *measured = &result->measured;
	double before = resident_percent(&measured->residency_before);
	double begin = resident_percent(&measured->residency_begin);
	if ((result->flags & NB_RUN_COLD) == 0)
		return;
	if (!is_kept(result))
		note_write(note,
			"not cold, though that was asked: %s keeps its data in memory; take an engine that keeps files",
			result->engine.name);
	else if (measured->cold == COLD_NOT)
		return; /* a new database */
	else if (!measured->residency_begin.is_known)
		note_write(note,
			"whether it was cold is not known: what of the database is in memory cannot be seen here; run as the owner of its files");
	else if (begin > 5 && before > 5)
		note_write(note,
			"not cold, though that was asked: %.0f %% of the database stayed in memory; see whether another process has it open",
			before);
	else if (begin > 5)
		note_write(note,
			"not cold, though that was asked: opening read %.0f %% of the database before the first operation; its time is that of the opening",
			begin);
}

static void
note_full(const struct nb_result *result, char *note)
{
	const struct environment *environment = &result->environment;
	if (!is_kept(result) || environment->filesystem_bytes == 0 ||
		environment->free_bytes >= environment->filesystem_bytes / 10)
		return;
	note_write(note,
		"the file system is %.0f %% full (%s left): writes may be slower than on one with room; free some",
		100 -
			100 * (double)environment->free_bytes /
				(double)environment->filesystem_bytes,
		UNITS_BYTES(environment->free_bytes));
}

const struct note_rule notes_of_cache[] = {
	{"memory-files", note_memory_files},
	{"small-data", note_small_data},
	{"small-cache", note_small_cache},
	{"lukewarm", note_lukewarm},
	{"not-cold", note_not_cold},
	{"full", note_full},
	{NULL, NULL},
};
