/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts of objects and edges.
 *
 * Each insert or delete step that was answered NB_OK changes the number of rows by one. So the
 * counts before and after show whether rows were lost or duplicated. The engine's own count is
 * preferred, SELECT COUNT(*) for a server. Otherwise all keys are scanned, in order.
 *
 * The scan after the operations also checks the preconditions of added edges. If the engine
 * counts by itself, only the edges are scanned. A unique edge, bidirectional or not, must be
 * the only edge that begins at its object. So no object may have such an edge and a second one
 * if one of them was added. Loaded edges are not judged, because the load checks no
 * preconditions.
 *
 * Another process that writes to the same tables meanwhile would make the counts wrong.
 */
#include "run/rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "run/run.h"

static const char *const names[TAO_TABLES] = {[TAO_OBJECTS] = "objects", [TAO_EDGES] = "edges"};

/* ---- a scan ---- */

/** The edges that begin at the current object. */
struct scanned {
	uint8_t first[8];
	uint64_t edges, uniques, added;
	uint64_t broken; /* objects whose edges violate preconditions */
};

static void
end_object(struct scanned *at)
{
	at->broken += at->edges > 1 && at->uniques > 0 && at->added > 0;
	at->edges = at->uniques = at->added = 0;
}

static void
take_edge(const struct nb_run *run, struct scanned *at, struct nb_slice key)
{
	const uint8_t *bytes = key.data;
	uint64_t number = 0;
	uint32_t type = bytes[TAO_EDGE_KEY - 1];
	if (memcmp(at->first, bytes + 1, sizeof(at->first)) != 0)
		end_object(at);
	memcpy(at->first, bytes + 1, sizeof(at->first));
	at->edges++;
	at->uniques += type == TAO_UNIQUE || type == TAO_UNIQUE_BIDIRECTIONAL;
	at->added += tao_key_number(run->keys.graph, key, &number) &&
		number >= run->job->edges * TAO_PARTS;
}

/** Scan all keys, or those of edges. `counts` receives the number of rows read per table. */
static int
scan(struct nb_run *run, struct nb_session *session, uint64_t counts[TAO_TABLES])
{
	const struct nb_engine *engine = &run->engine->table;
	bool is_counted = run->counting->how == ROWS_BY_ENGINE;
	const struct nb_scan_args args = {
		.size = sizeof(args), .flags = NB_SCAN_KEYS_ONLY, .from = {"e", is_counted}};
	struct nb_slice key = {NULL, 0}, value = {NULL, 0};
	struct scanned at = {.edges = 0};
	int rc = engine->scan_open(session, &args);
	if (rc != NB_OK)
		return rc == NB_NOT_FOUND ? NB_OK : rc;
	while ((rc = engine->scan_next(session, &key, &value)) == NB_OK && !stop_requested()) {
		bool is_edge = key.size == TAO_EDGE_KEY && *(const char *)key.data == 'e';
		if (is_counted && !is_edge)
			break;
		counts[is_edge ? TAO_EDGES : TAO_OBJECTS]++;
		if (is_edge)
			take_edge(run, &at, key);
	}
	end_object(&at);
	int closed = engine->scan_close(session);
	if (rc != NB_OK && rc != NB_NOT_FOUND)
		return rc;
	if (closed != NB_OK || stop_requested())
		return closed;
	if (at.broken > 0)
		return error_set(NB_ERR_DATA,
			"%" PRIu64
			" objects have an added edge that contradicts another one: a unique edge has to be alone",
			at.broken);
	return NB_OK;
}

static int
scan_in_session(struct nb_run *run, uint64_t counts[TAO_TABLES])
{
	const struct nb_engine *engine = &run->engine->table;
	struct nb_session *session = NULL;
	int rc = engine->session_open(&session, run->db, 0);
	if (rc != NB_OK)
		return rc;
	rc = scan(run, session, counts);
	int closed = engine->session_close(session);
	return rc == NB_OK ? closed : rc;
}

static int
count_by_scan(struct nb_run *run)
{
	int rc = scan_in_session(run, run->counting->counts);
	if (rc == NB_OK && !stop_requested())
		run->counting->how = ROWS_BY_SCAN;
	return rc;
}

static int
count_by_engine(struct nb_run *run)
{
	int rc = NB_OK;
	for (uint32_t t = 0; t < TAO_TABLES && rc == NB_OK; t++)
		rc = run->engine->table.count(run->db, t, &run->counting->counts[t]);
	if (rc == NB_OK)
		run->counting->how = ROWS_BY_ENGINE;
	return rc;
}

/** Scan the edges. Several servers have no common order, so their edges are not checked. */
static int
scan_edges(struct nb_run *run)
{
	uint64_t counts[TAO_TABLES] = {0};
	return run->servers.count > 1 ? NB_OK : scan_in_session(run, counts);
}

/**
 * Check the edges after operations that may have added some, if the count did not scan them.
 */
static int
judge_edges(struct nb_run *run)
{
	const struct nb_engine *engine = &run->engine->table;
	bool is_after = run->counting == &run->measured.rows_after;
	if (!is_after || engine->scan_open == NULL || run->options.what == NB_JOB_LOAD ||
		!run->job->preconditions || stop_requested())
		return NB_OK;
	return run_call(run, "scan", true, scan_edges);
}

int
rows_count(struct nb_run *run, struct row_counts *rows)
{
	const struct nb_engine *engine = &run->engine->table;
	*rows = (struct row_counts){.how = ROWS_UNKNOWN};
	if (run->job->graph == NULL || run->options.verify_rate <= 0 || stop_requested() ||
		(engine->count == NULL && !engine_has_scan(engine)))
		return NB_OK;
	run->counting = rows;
	run_begin_phase(run, "count");
	run_tell(run, 0, 0);
	int rc = engine->count != NULL ? run_call(run, "count", true, count_by_engine)
				       : run_call(run, "scan", true, count_by_scan);
	if (rc == NB_OK && rows->how == ROWS_BY_ENGINE)
		rc = judge_edges(run);
	return rc == NB_OK || rc == NB_ERR_DATA || run->left.is_left
		? rc
		: run_engine_failure(run, rc, "counting rows");
}

/* ---- the verdict ---- */

void
rows_grown(const struct nb_run *run, int64_t grown[TAO_TABLES])
{
	memset(grown, 0, TAO_TABLES * sizeof(*grown));
	for (size_t g = 0; g < run->part_count; g++) {
		const struct job_part *part = &run->parts[g];
		for (uint32_t n = 0; part->workers != NULL && n < part->plan.threads; n++) {
			for (uint32_t t = 0; t < TAO_TABLES; t++)
				grown[t] += part->workers[n]->grown[t];
		}
	}
}

/** Whether an unconditional delete may be answered NB_OK without a row. */
static bool
has_blind_deletes(const struct nb_run *run)
{
	bool has_deletes = false;
	for (size_t g = 0; g < run->part_count; g++)
		has_deletes |= run->parts[g].plan.has_deletes;
	return has_deletes && run->job->graph_update == NB_UPDATE_BLIND;
}

/** The expected number of rows. False: not known. */
static bool
expect(const struct nb_run *run, uint32_t table, uint64_t *rows)
{
	const struct measurement *measured = &run->measured;
	bool is_load = run->options.what == NB_JOB_LOAD;
	*rows = is_load
		? run->job->edges * (table == TAO_OBJECTS ? 2 : 1)
		: measured->rows_before.counts[table] + (uint64_t)measured->grown[table];
	return measured->rows_after.how != ROWS_UNKNOWN &&
		(is_load ? !measured->had_data : measured->rows_before.how != ROWS_UNKNOWN);
}

int
rows_judge(const struct nb_run *run)
{
	const uint64_t *after = run->measured.rows_after.counts;
	if (run->job->graph == NULL || has_blind_deletes(run))
		return NB_OK;
	for (uint32_t t = 0; t < TAO_TABLES; t++) {
		uint64_t rows;
		if (expect(run, t, &rows) && rows != after[t])
			return error_set(NB_ERR_DATA,
				"%s: there are %" PRIu64 " rows instead of %" PRIu64
				": rows were lost or added by others",
				names[t], after[t], rows);
	}
	return NB_OK;
}
