/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps that every kind of run goes through on the main thread: opening the database,
 * settling, closing, and telling how far it is.
 *
 * A verb of the engine's that fails has its text in the slot of this thread; what an
 * earlier call left there must not be taken for it, so it is cleared before.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "run/run.h"
#include "run/sampler.h"
#include "run/syncs.h"

/** `which` says who, for a failure. */
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

/** The next "8" or "0-3" of a list. False at its end, or if it is none. */
static bool
next_range(const char **at, unsigned long *from, unsigned long *to)
{
	char *end;
	if (**at < '0' || **at > '9')
		return false;
	*from = *to = strtoul(*at, &end, 10);
	if (*end == '-')
		*to = strtoul(end + 1, &end, 10);
	*at = *end == ',' ? end + 1 : end;
	return *to >= *from && (*end == ',' || *end == '\0');
}

int
run_pin_to(const char *cpus, uint32_t nth)
{
	unsigned long from, to, count = 0;
	for (const char *at = cpus; next_range(&at, &from, &to);)
		count += to - from + 1;
	if (count == 0)
		return error_set(NB_ERR_USAGE, "cpus: '%s' is no list like 0-3,8", cpus);
	unsigned long skip = nth % count;
	for (const char *at = cpus; next_range(&at, &from, &to);) {
		if (skip <= to - from)
			return pin(from + skip, "thread", nth);
		skip -= to - from + 1;
	}
	return NB_FAIL;
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

static int
open_database(struct nb_run *run)
{
	return run->engine->table.open(&run->db, &run->open_args);
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
		.durability = run->durability};
	run->db = NULL;
	run_begin_phase(run, phase);
	run_tell(run, 0, 0);
	int rc = run_call(run, "open", true, open_database);
	if (rc == NB_OK && run->db == NULL)
		rc = error_set(NB_FAIL, "gave no database");
	if (rc != NB_OK)
		run_dismiss_keeper(run, rc); /* its text stays */
	if (run->left.is_left)
		return rc;
	return rc == NB_OK ? rc : run_engine_failure(run, rc, rc > 0 ? "open" : run->path);
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
		run_begin_load(run);
	return rc;
}

int
run_reopen_database(struct nb_run *run)
{
	int rc = run_cool_again(run);
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
run_ask_counters(struct nb_run *run)
{
	if (run->engine->table.stats == NULL) {
		counters_destroy(&run->told);
		return NB_OK;
	}
	counters_destroy(&run->told);
	return run_call(run, "stats", false, ask_counters);
}

/** They are the caller's now. */
static struct counters
take_told(struct nb_run *run)
{
	struct counters told = run->told;
	run->told = (struct counters){0};
	return told;
}

int
run_count_from(struct nb_run *run)
{
	if (run->is_counting)
		return NB_OK;
	int rc = run_ask_counters(run);
	if (rc == NB_OK)
		run->counted = take_told(run);
	run->is_counting = rc == NB_OK;
	return rc;
}

int
run_count_until(struct nb_run *run, int rc)
{
	char text[WORKER_TEXT]; /* of rc; the engine may say something in between */
	if (!run->is_counting || run->left.is_left)
		return rc;
	snprintf(text, sizeof(text), "%s", nb_error_text());
	int counted = run_ask_counters(run);
	if (run->left.is_left)
		return rc == NB_OK ? counted : error_set(rc, "%s", text);
	if (counted == NB_OK)
		counted = counters_add_growth(
			&run->measured.counters, &run->counted, &run->told);
	counters_destroy(&run->counted);
	run->is_counting = false;
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

/** Close it, after what returned rc: that failure comes first. *is_closed: it was. */
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
	if (run_is_kept(run)) /* else it would be the empty directory */
		run->measured.data_bytes = sysinfo_allocated_bytes(run->path);
	run->measured.has_settled &= is_closed; /* closing is a part of it */
	run->mark.is_closed = is_closed;
	return rc;
}

int
run_close_again(struct nb_run *run, int rc)
{
	bool is_closed;
	return close_after(run, rc, &is_closed);
}

void
run_clock_begin(struct nb_run *run)
{
	run->clock_begun = clock_pair(&run->clock);
}

void
run_clock_end(struct nb_run *run)
{
	const struct clock_pair *begun = &run->clock_begun;
	struct clock_pair now = clock_pair(&run->clock);
	run->measured.clock_drift = clock_drift(&run->clock, begun, &now);
	run->measured.slept_ns = now.slept_ns > begun->slept_ns ? now.slept_ns - begun->slept_ns
								: 0;
}
