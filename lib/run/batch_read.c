/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The batch read: TAOBench reads the keys of all edges before a run, to fill the pool that its
 * operations choose from. mininb computes the edges (workload/tao_graph.h), so it needs no pool
 * and the scan is only measured, if the job asks for it.
 *
 * As in the original, each page is a scan of BATCH_READ_PAGE keys from the last one on. The time
 * of a page is that of opening the scan, its keys, and closing it. One session reads all pages
 * one after the other. The original divides the shards among its threads, and leaves some out
 * if their number does not divide 50.
 */
#include "run/batch_read.h"

#include <string.h>

#include "base/error.h"
#include "run/run.h"

int
batch_read_check(const struct nb_run *run)
{
	const struct nb_engine *engine = &run->engine->table;
	if (!run->job->batch_read || run->options.what == NB_JOB_LOAD)
		return NB_OK;
	if (run->job->graph == NULL)
		return error_set(NB_ERR_USAGE,
			"batch-read: only a social graph has edges to read; set graph");
	if (run->options.procs > 1)
		return error_set(
			NB_ERR_USAGE, "batch-read: one process reads the edges; omit --procs");
	if (!engine_has_scan(engine))
		return error_set(NB_UNSUPPORTED,
			"batch-read needs ordered scans, which %s does not have", engine->name);
	return NB_OK;
}

/**
 * Read a page of keys from `begin` on. *count: the number of edges. `from` holds the last one.
 */
static int
read_page(const struct nb_engine *engine, struct nb_session *session,
	uint8_t from[TAO_EDGE_KEY + 1], struct nb_slice *begin, uint32_t *count)
{
	const struct nb_scan_args args = {.size = sizeof(args),
		.flags = NB_SCAN_KEYS_ONLY,
		.from = *begin,
		.limit = BATCH_READ_PAGE};
	struct nb_slice key = {NULL, 0}, value = {NULL, 0};
	int rc = engine->scan_open(session, &args);
	if (rc != NB_OK)
		return rc;
	for (*count = 0; *count < BATCH_READ_PAGE; ++*count) {
		rc = engine->scan_next(session, &key, &value);
		if (rc != NB_OK || key.size != TAO_EDGE_KEY || *(const char *)key.data != 'e')
			break;
		memcpy(from, key.data, TAO_EDGE_KEY);
	}
	int closed = engine->scan_close(session);
	/* the smallest key after the last one */
	*begin = (struct nb_slice){from, TAO_EDGE_KEY + 1};
	return rc == NB_OK || rc == NB_NOT_FOUND ? closed : rc;
}

static int
read_pages(struct nb_run *run, struct nb_session *session)
{
	struct batch_read *read = &run->measured.batch_read;
	uint8_t from[TAO_EDGE_KEY + 1] = "e";
	struct nb_slice begin = {from, 1};
	uint32_t count = BATCH_READ_PAGE;
	int rc = NB_OK;
	while (rc == NB_OK && count == BATCH_READ_PAGE && !stop_requested()) {
		uint64_t begin_ns = clock_monotonic();
		rc = read_page(&run->engine->table, session, from, &begin, &count);
		uint64_t ns = clock_monotonic() - begin_ns;
		read->ns += ns;
		read->longest_ns = ns > read->longest_ns ? ns : read->longest_ns;
		read->edges += count;
		read->pages++;
	}
	return rc == NB_OK && stop_requested() ? error_interrupted() : rc;
}

static int
read_in_session(struct nb_run *run)
{
	const struct nb_engine *engine = &run->engine->table;
	struct nb_session *session = NULL;
	int rc = engine->session_open(&session, run->db, 0);
	if (rc != NB_OK)
		return rc;
	rc = read_pages(run, session);
	int closed = engine->session_close(session);
	return rc == NB_OK ? closed : rc;
}

int
batch_read(struct nb_run *run)
{
	if (!run->job->batch_read || run->options.what == NB_JOB_LOAD)
		return NB_OK;
	if (stop_requested())
		return error_interrupted();
	run_begin_phase(run, "batch read");
	run_tell(run, 0, 0);
	int rc = run_call(run, "scan", true, read_in_session);
	return rc == NB_OK || rc == NB_ERR_INTERRUPTED || run->left.is_left
		? rc
		: run_engine_failure(run, rc, "batch read");
}
