/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps of every kind of run on the main thread: opening the database, settling, closing, and
 * progress reports.
 *
 * A failed engine call leaves its error text in the slot of this thread. The slot is cleared
 * before each call, so that the text of an earlier call is not taken for it.
 *
 * If requested, the database is evicted from the page cache before open. In any case the run
 * measures the cached part: before open, before the first operation, and after close. The
 * second measurement reveals an engine that reads everything at open. It is then warm, however
 * cold its files were. None of this is timed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "run/procfs.h"
#include "run/run.h"
#include "run/sampler.h"
#include "run/syncs.h"

/** Pin this thread. `which` and `id` name it in a failure. */
static int
pin(size_t cpu, const char *which, uint32_t id)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	if (cpu < CPU_SETSIZE)
		CPU_SET(cpu, &one);
	if (pthread_setaffinity_np(pthread_self(), sizeof(one), &one) != 0)
		return error_set(
			NB_FAIL, "pinning: %s %u cannot run on CPU %zu", which, id, cpu);
	return NB_OK;
}

int
run_pin(uint32_t id)
{
	cpu_set_t allowed;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return error_system("pinning: sched_getaffinity");
	uint32_t skip = id % (uint32_t)CPU_COUNT(&allowed);
	size_t cpu = 0;
	while (!CPU_ISSET(cpu, &allowed) || skip-- > 0)
		cpu++;
	return pin(cpu, "worker", id);
}

int
run_pin_to(const char *cpus, uint32_t nth)
{
	uint64_t cpu = nth;
	if (procfs_list(cpus, &cpu) == 0)
		return error_set(
			NB_ERR_USAGE, "cpus: '%s' is not a list of CPUs such as 0-3,8", cpus);
	return pin(cpu, "thread", nth);
}

void
run_forget_text(void)
{
	error_set(NB_OK, "%s", "");
}

int
run_engine_failure(const struct nb_run *run, int rc, const char *what)
{
	if (nb_error_text()[0] == '\0' && rc > 0)
		error_set(NB_FAIL,
			"answered %d, but may answer only NB_OK (0) or a negative failure", rc);
	else if (nb_error_text()[0] == '\0')
		error_set(NB_FAIL, "failed without saying why");
	return error_prefix(rc < 0 ? rc : NB_FAIL, "%s: %s", run->engine->table.name, what);
}

void
run_tell(struct nb_run *run, uint64_t done, uint64_t total)
{
	if (run->options.progress == NULL)
		return;
	struct nb_progress progress = {.size = sizeof(progress),
		.what = run->phase_name,
		.done = done,
		.total = total,
		.elapsed_ns = clock_monotonic() - run->phase_begin_ns};
	if (run->phase_bound_ns > progress.elapsed_ns)
		progress.left_ns = run->phase_bound_ns - progress.elapsed_ns;
	sampler_tell(run->sampler, &progress);
	run->options.progress(run->options.progress_arg, &progress);
}

void
run_add_phase(struct nb_run *run, const char *name, uint64_t begin_ns)
{
	struct measurement *measured = &run->measured;
	uint32_t at = 0;
	while (at < measured->phase_count && strcmp(measured->phases[at].name, name) != 0)
		at++;
	if (at == RUN_PHASES_MAX)
		return;
	if (at == measured->phase_count)
		snprintf(measured->phases[measured->phase_count++].name,
			sizeof(measured->phases[at].name), "%s", name);
	measured->phases[at].ns += clock_monotonic() - begin_ns;
}

void
run_end_phases(struct nb_run *run)
{
	if (run->phase_name != NULL)
		run_add_phase(run, run->phase_name, run->phase_begin_ns);
	run->phase_begin_ns = clock_monotonic();
}

void
run_begin_phase(struct nb_run *run, const char *name)
{
	run_end_phases(run);
	process_return_to_directory(); /* an engine may have left it */
	run->phase_name = name;
	run->phase_bound_ns = 0;
	run->forgotten = 0;
}

/* ---- the page cache ---- */

bool
run_is_kept(const struct nb_run *run)
{
	return (run->engine->table.caps & NB_CAP_PERSISTENT) != 0 && !run->is_temporary;
}

bool
run_is_local(const struct nb_run *run)
{
	return run_is_kept(run) && run->servers.count == 0;
}

/**
 * Evict the database from memory if requested. With a memory limit, evict at least its files:
 * pages that another process had cached would not be charged to the limit.
 */
static int
cool(struct nb_run *run, uint32_t *how)
{
	bool is_cold = (run->options.flags & NB_RUN_COLD) != 0;
	if (!is_cold && run->options.memory == NULL)
		return NB_OK;
	run_begin_phase(run, "cool");
	run_tell(run, 0, 0);
	return residency_make_cold(
		run->path, is_cold ? RESIDENCY_DROP_CACHES : RESIDENCY_FILES_ONLY, how);
}

/**
 * Refuse a file system in memory. Its pages stay charged to their writer and cannot be evicted.
 */
static int
check_memory(const struct nb_run *run)
{
	if (run->options.memory == NULL || !run_is_kept(run) ||
		!run->sysinfo.is_memory_filesystem)
		return NB_OK;
	return error_set(NB_UNSUPPORTED,
		"memory: %s is on a file system in memory (%s), so a limit of memory would not hold for its files; use a --path on a device",
		run->path, run->sysinfo.filesystem);
}

int
run_cool_database(struct nb_run *run)
{
	struct measurement *measured = &run->measured;
	int rc = check_memory(run);
	if (rc == NB_OK && run->target != NULL && run->options.memory != NULL &&
		!sysinfo_is_empty_dir(run->path)) {
		uint32_t how;
		return residency_make_cold(run->path, RESIDENCY_FILES_ONLY, &how);
	}
	if (rc != NB_OK || !run_is_local(run))
		return rc;
	if (!measured->had_data) /* nothing to evict yet, but before reading back */
		return (run->options.flags & NB_RUN_COLD) != 0
			? residency_can_be_cold(run->path)
			: NB_OK;
	rc = cool(run, &measured->cold);
	if (rc == NB_OK)
		residency_look(&measured->residency_before, run->path);
	return rc;
}

void
run_look_begin(struct nb_run *run)
{
	process_return_to_directory(); /* opening a session may have changed it */
	if (run_is_local(run) && !run->measured.has_begun)
		residency_look(&run->measured.residency_begin, run->path);
}

void
run_look_after(struct nb_run *run)
{
	if (run_is_local(run))
		residency_look(&run->measured.residency_after, run->path);
}

/* ---- the database ---- */

static int
open_database(struct nb_run *run)
{
	return run->engine->table.open(&run->db, &run->open_args);
}

/** Set the largest number and size of requests in flight in a session. */
static void
find_inflight(const struct nb_run *run, struct nb_open_args *args)
{
	const struct nb_job *job = run->job;
	for (size_t g = 0; g <= job->group_count; g++) {
		const struct nb_group *group = g == 0 ? job->load : &job->groups[g - 1];
		uint64_t bytes = group->depth * run_request_bytes(run, group);
		if (group->depth == 1)
			continue;
		if (group->depth > args->inflight_ops)
			args->inflight_ops = group->depth;
		if (bytes > args->inflight_bytes)
			args->inflight_bytes = bytes;
	}
}

/** Open it; `flags` are NB_OPEN_*. */
static int
open_as(struct nb_run *run, const char *phase, uint32_t flags)
{
	run->open_args = (struct nb_open_args){.size = sizeof(run->open_args),
		.host = nb_engine_host(),
		.path = run->path,
		.options = run->values,
		.cache_bytes = run->options.cache_bytes,
		.records = run->workload.count,
		.key_size = run->workload.key_size,
		.value_size = run->workload.value_size,
		.sessions = run->options.threads,
		.flags = flags,
		.durability = run->durability,
		.targets = (const char *const *)run_addresses(run)->items,
		.target_count = (uint32_t)run_addresses(run)->count};
	find_inflight(run, &run->open_args);
	if (run->job->graph != NULL) {
		tao_schema_create(&run->schema, run->job->edges, run->workload.value_size);
		run->open_args.tables = run->schema.tables;
		run->open_args.table_count = TAO_TABLES;
	}
	run->db = NULL;
	run_begin_phase(run, phase);
	run_tell(run, 0, 0);
	int rc = run_call(run, "open", true, open_database);
	if (rc == NB_OK && run->db == NULL)
		rc = error_set(NB_FAIL, "gave no database");
	if (rc != NB_OK)
		run_dismiss_keeper(run, rc); /* the error text stays */
	if (run->left.is_left)
		return rc;
	return rc == NB_OK ? rc : run_engine_failure(run, rc, rc > 0 ? "open" : run->path);
}

static int
reset(struct nb_run *run)
{
	return run->engine->table.reset(run->db);
}

/**
 * Remove the data that earlier runs left on servers: for --fresh, and if the engine does not
 * keep data. In the latter case not if another shard may have loaded it.
 */
static int
reset_servers(struct nb_run *run)
{
	bool is_fresh = (run->options.flags & NB_RUN_FRESH) != 0 &&
		run->workload.verb == NB_VERB_PUT;
	bool is_unkept = !run_is_kept(run) && run->job->shards <= 1 &&
		run->engine->table.reset != NULL;
	if (run->servers.count == 0 || !(is_fresh || is_unkept))
		return NB_OK;
	int rc = run_call(run, "reset", true, reset);
	if (rc == NB_OK || run->left.is_left)
		return rc;
	return run_close_again(run, run_engine_failure(run, rc, "reset"));
}

int
run_open_database(struct nb_run *run)
{
	bool is_kept = run_is_kept(run);
	uint32_t flags = 0;
	if (run->workload.verb == NB_VERB_PUT || !is_kept)
		flags |= NB_OPEN_CREATE;
	if (run->workload.verb == NB_VERB_GET && is_kept)
		flags |= NB_OPEN_READ_ONLY;
	int rc = open_as(run, "open", flags);
	run->measured.open_ns = run->call_ns;
	if (rc == NB_OK)
		rc = reset_servers(run);
	if (rc == NB_OK)
		run_begin_load(run);
	return rc;
}

int
run_open_to_look(struct nb_run *run)
{
	return open_as(run, "open", NB_OPEN_READ_ONLY);
}

int
run_reopen_database(struct nb_run *run)
{
	uint32_t how = 0;
	int rc = cool(run, &how);
	if (rc == NB_OK)
		rc = open_as(run, "reopen", NB_OPEN_READ_ONLY);
	run->measured.is_reopened = rc == NB_OK;
	return rc == NB_OK || run->left.is_left
		? rc
		: error_prefix(rc, "the database cannot be opened again to read back");
}

static int
ask_counters(struct nb_run *run)
{
	return counters_collect(&run->told, &run->engine->table, run->db);
}

int
run_ask_counters(struct nb_run *run, struct counters *out)
{
	*out = (struct counters){0};
	if (run->engine->table.stats == NULL)
		return NB_OK;
	int rc = run_call(run, "stats", false, ask_counters);
	if (run->left.is_left)
		return rc; /* the abandoned call may still write to run->told */
	*out = run->told;
	run->told = (struct counters){0};
	return rc;
}

int
run_count_from(struct nb_run *run)
{
	if (run->is_counting)
		return NB_OK;
	int rc = run_ask_counters(run, &run->counted);
	run->is_counting = rc == NB_OK;
	return rc;
}

int
run_count_until(struct nb_run *run, int rc)
{
	struct counters now;
	char text[WORKER_TEXT]; /* of rc; the engine may set another text in between */
	if (!run->is_counting || run->left.is_left)
		return rc;
	snprintf(text, sizeof(text), "%s", nb_error_text());
	int counted = run_ask_counters(run, &now);
	if (counted == NB_OK)
		counted = counters_add_growth(&run->measured.counters, &run->counted, &now);
	if (!run->left.is_left) {
		counters_destroy(&now);
		counters_destroy(&run->counted);
		run->is_counting = false;
	}
	return rc == NB_OK ? counted : error_set(rc, "%s", text);
}

static int
flush(struct nb_run *run)
{
	return run->engine->table.flush(run->db, run->settle_upto);
}

int
run_settle(struct nb_run *run)
{
	const struct nb_engine *engine = &run->engine->table;
	static const uint32_t levels[] = {[NB_RUN_SETTLE_FLUSH] = NB_SETTLE_FLUSH,
		[NB_RUN_SETTLE_COMPACT] = NB_SETTLE_COMPACT};
	if (run->workload.verb == NB_VERB_GET || engine->flush == NULL)
		return NB_OK;
	run_begin_phase(run, "settle");
	run_tell(run, 0, 0);
	for (uint32_t upto = run->options.settle; upto > NB_RUN_SETTLE_NONE; upto--) {
		run->settle_upto = levels[upto];
		int rc = run_call(run, "flush", true, flush);
		run->measured.settle_ns = clock_monotonic() - run->phase_begin_ns;
		if (rc == NB_OK) {
			run->measured.settled = (int)upto;
			return NB_OK;
		}
		if (run->left.is_left)
			return rc;
		if (rc != NB_UNSUPPORTED)
			return run_engine_failure(run, rc, rc > 0 ? "flush" : "settling");
	}
	return NB_OK;
}

static int
close_database(struct nb_run *run)
{
	return run->engine->table.close(run->db);
}

/**
 * Close the database. Returns rc if that is a failure. *is_closed: whether the close succeeded.
 */
static int
close_after(struct nb_run *run, int rc, bool *is_closed)
{
	char text[WORKER_TEXT];
	snprintf(text, sizeof(text), "%s", nb_error_text());
	run_begin_phase(run, "close");
	run_tell(run, 0, 0);
	int closed = run_call(run, "close", true, close_database);
	uint64_t took_ns = run->call_ns;
	engine_count_messages();
	closed = run_dismiss_keeper(run, closed);
	run->call_ns = took_ns;
	*is_closed = closed == NB_OK;
	if (run->left.is_left)
		return rc == NB_OK ? closed : error_set(rc, "%s", text);
	if (closed != NB_OK)
		closed = run_engine_failure(run, closed, closed > 0 ? "close" : "closing");
	if (rc == NB_OK)
		return closed;
	if (closed != NB_OK)
		log_message(NB_LOG_WARNING, "%s", nb_error_text());
	return error_set(rc, "%s", text);
}

int
run_close_database(struct nb_run *run, int rc)
{
	bool is_closed;
	process_return_to_directory();
	if (run->durability == NB_DUR_COMMIT && run->workload.verb != NB_VERB_GET)
		syncs_look(run->path);
	rc = close_after(run, rc, &is_closed);
	run->measured.close_ns = run->call_ns;
	if (run_is_local(run) || run->target != NULL) /* the directory has no data otherwise */
		run->measured.data_bytes = sysinfo_allocated_bytes(run->path);
	run->measured.has_settled &= is_closed; /* closing is a part of settling */
	run->mark.is_closed = is_closed;
	return rc;
}

int
run_close_again(struct nb_run *run, int rc)
{
	bool is_closed;
	return close_after(run, rc, &is_closed);
}
