/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The course of a run, in phases that all threads execute together:
 *
 *     survey the keys, for put, get and delete
 *     measure the overhead of mininb, on the null engine
 *     evict the database from memory, if requested
 *     open the database                          timed
 *     load, if the engine keeps nothing          untimed
 *     for each phase of the run:
 *         ENTER      memory and session          each worker on its own thread
 *         OPERATE    all wait for the common start, then execute their operations
 *         LEAVE      session
 *     settle: flush, compact                     timed
 *     close the database                         timed
 *     evict it, if requested; open it again
 *     for each phase: ENTER, READ_BACK, LEAVE    check that writes had their effect, untimed
 *     close the database
 *
 * If the engine keeps nothing, each phase is read back before LEAVE. The engine's counters are
 * taken from the first OPERATE until it has settled, without the reading back.
 *
 * With several processes, the parent opens the database only after their end. It settles the
 * database and reads back their writes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "run/fault.h"
#include "run/sampler.h"
#include "run/run.h"

/* ---- parts ---- */

static int
create_workers(struct nb_run *run)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	for (size_t p = 0; p < run->active_count; p++) {
		struct job_part *part = run->active[p];
		part->workers = calloc(part->plan.threads, sizeof(struct job_worker *));
		if (part->workers == NULL)
			return error_memory();
		part->plan.halt = part->halt = &run->shared->halts[p];
		part->plan.gate = &run->shared->gate;
		part->plan.workers = part->workers;
		part->plan.may_spin = run->threads_max * run->options.procs <= (uint32_t)cpus;
		for (uint32_t t = 0; t < part->plan.threads; t++) {
			int rc = job_worker_new(
				&part->workers[t], &part->plan, t, run->options.procs > 1);
			if (rc != NB_OK)
				return rc;
			/*
			 * Touched now, because mininb's share does not cover growth during the
			 * run.
			 */
			if (run->options.memory != NULL)
				memset(&part->workers[t]->pulses, 0,
					sizeof(part->workers[t]->pulses));
		}
	}
	return NB_OK;
}

static void
delete_workers(struct job_part *part)
{
	for (uint32_t t = 0; part->workers != NULL && t < part->plan.threads; t++)
		job_worker_delete(part->workers[t]);
	free(part->workers);
	part->workers = NULL;
}

/** Set the total number of operations, and the time limit; 0: none. */
static void
find_bounds(struct nb_run *run)
{
	bool is_counted = true, is_timed = true;
	run->total = run->phase_bound_ns = 0;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		uint64_t own_ns = part->group->duration_ns;
		if (!part->is_foreground)
			continue;
		bool has_end = part->plan.end_ticks != UINT64_MAX;
		is_counted &= part->plan.count != UINT64_MAX && !has_end;
		is_timed &= has_end;
		run->total += job_own_count(&part->plan);
		run->phase_bound_ns = own_ns > run->phase_bound_ns ? own_ns
								   : run->phase_bound_ns;
	}
	run->total = is_counted ? run->total : 0;
	run->phase_bound_ns = is_timed ? run->phase_bound_ns : 0;
}

static void
watch_anew(struct nb_run *run)
{
	const struct nb_steady *asked = &run->options.steady;
	struct job_gate *gate = &run->shared->gate;
	gate->begin = UINT64_MAX;
	if (run->is_measured && run->measured.begun_at_ns == 0)
		gate->start_at_ns = run->options.start_at_ns;
	gate->is_opened_inside = run->options.procs == 1 || !run->is_measured;
	for (size_t p = 0; p < run->active_count; p++)
		gate->workers += run->active[p]->plan.threads;
	run->interval_ns = run->interval_ops = run->steady_ns = run->steady_ops = 0;
	run->partial_ns = 0;
	run->is_steady = run->was_cut = false;
	run->used = (struct system_counts){0};
	run->used_ns = run->told_life = 0;
	nb_histogram_reset(run->interval_before);
	if (asked->window_ns > 0)
		steady_create(&run->steady, 10, asked->slope, asked->band);
}

static void
add_stamping(struct stamping *sum, const struct stamping *more)
{
	if (sum->latency[0] == '\0')
		memcpy(sum->latency, more->latency, sizeof(sum->latency));
	sum->ops += more->ops;
	sum->stretches += more->stretches;
	sum->ns += more->ns;
}

/** CLOCK_REALTIME of the first measured operation; 0: none. */
static uint64_t
begun_at_ns(const struct nb_run *run)
{
	uint64_t first = UINT64_MAX;
	for (size_t p = 0; p < run->active_count; p++)
		for (uint32_t t = 0; t < run->active[p]->plan.threads; t++) {
			const struct job_worker *worker = run->active[p]->workers[t];
			if (worker->measured > 0 && worker->first_ticks < first)
				first = worker->first_ticks;
		}
	return first != UINT64_MAX
		? clock_real_ns() - clock_ns(&run->clock, clock_stamp(run->clock.kind) - first)
		: 0;
}

/** Sum up all parts, for notes and the classic figures. */
static int
collect(struct nb_run *run)
{
	struct measurement *sum = &run->measured;
	struct system_counts used = run->used;
	uint64_t wall_ns = 0, spin_ns = 0;
	if (sum->begun_at_ns == 0)
		sum->begun_at_ns = begun_at_ns(run);
	int rc = NB_OK;
	for (size_t p = 0; p < run->active_count && rc == NB_OK; p++) {
		struct job_part *part = run->active[p];
		rc = job_collect(run, part);
		spin_ns += part->measured.spin_ns;
		sum->is_partial |= part->measured.is_partial;
		sum->has_begun |= part->measured.has_begun;
		sum->ops += part->measured.ops;
		sum->usage_ops += part->measured.done;
		sum->commits += part->measured.commits;
		add_stamping(&sum->stamping, &part->measured.stamping);
		wall_ns = part->measured.wall_ns > wall_ns ? part->measured.wall_ns : wall_ns;
		for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
			const struct job_kind *from = &part->measured.kinds[kind];
			sum->value_bytes += from->bytes;
			for (int i = 0; i < WORKER_ANSWERS; i++)
				sum->answers[i] += from->answers[i];
			if (from->service != NULL)
				nb_histogram_merge(sum->service, from->service);
		}
		sum->findings.verified += part->measured.findings.verified;
	}
	sum->wall_ns += wall_ns;
	/*
	 * mininb's own spinning in the pacer is measured separately, and is not part of an
	 * operation.
	 */
	uint64_t spun_ns = spin_ns < used.user_ns ? spin_ns : used.user_ns;
	sum->usage_ns += run->used_ns;
	sum->usage.user_ns += used.user_ns - spun_ns;
	sum->usage.system_ns += used.system_ns;
	sum->usage.involuntary_switches += used.involuntary_switches;
	sum->usage.steal_ns += used.steal_ns;
	/*
	 * Nor does it belong to other processes, whose time is the busy time minus these two.
	 */
	sum->usage.busy_ns += used.busy_ns > spun_ns ? used.busy_ns - spun_ns : 0;
	return rc;
}

/** Run the operations, and measure the pauses of the machine meanwhile. */
static int
operate(struct nb_run *run)
{
	if (!run->is_measured)
		return phase_run_threads(run);
	if (run->options.procs > 1)
		return phase_run_processes(run); /* a thread would not survive the fork */
	int rc = hiccup_start(run->hiccup, HICCUP_INTERVAL_NS);
	if (rc != NB_OK)
		return rc;
	rc = phase_run_threads(run);
	hiccup_stop(run->hiccup);
	nb_histogram_merge(run->measured.hiccups, &run->hiccup->lateness);
	return rc;
}

/** Activate parts, and reset their shared state. run->process is 0. */
static void
activate(struct nb_run *run, struct job_part **parts, size_t count)
{
	memset(run->shared, 0, sizeof(*run->shared));
	run->active = parts;
	run->active_count = count;
	run->process = 0;
}

static int
run_active(struct nb_run *run, const char *what)
{
	watch_anew(run);
	int rc = create_workers(run);
	if (rc != NB_OK)
		return rc;
	run_begin_phase(run, what);
	find_bounds(run);
	run_tell(run, 0, run->total);
	rc = job_start_feeds(run);
	if (rc == NB_OK)
		rc = operate(run);
	rc = job_end_feeds(run, rc);
	int collected = run->is_measured ? collect(run) : job_collect(run, run->active[0]);
	if (rc == NB_OK)
		rc = collected;
	return rc == NB_OK && stop_requested() ? error_interrupted() : rc;
}

/** Run parts together, from opening their sessions to closing them. */
static int
run_parts(struct nb_run *run, struct job_part **parts, size_t count, const char *what,
	bool is_measured)
{
	activate(run, parts, count);
	run->is_parent = true;
	run->is_measured = is_measured;
	int rc = NB_OK;
	for (size_t p = 0; p < count && rc == NB_OK; p++)
		if (parts[p]->again_of != NULL)
			rc = run_begin_again(run, parts[p]);
	if (rc == NB_OK)
		rc = run_active(run, what);
	for (size_t g = 0; run->shared->gate.has_deletes != 0 && g < run->part_count; g++)
		run->parts[g].plan.has_deletes = true; /* of later phases */
	if (!run->left.is_left)                        /* else threads may still use them */
		run->active_count = 0;
	return rc;
}

static int
load_unkept(struct nb_run *run)
{
	struct job_part *loading = &run->loading;
	uint32_t caps = run->engine->table.caps;
	if (run->options.what == NB_JOB_LOAD || run->is_replay || run->job->records == 0 ||
		run_is_kept(run) || (caps & NB_CAP_SYNTHETIC) != 0)
		return NB_OK;
	uint64_t begin_ns = clock_monotonic();
	int rc = run_parts(run, &loading, 1, "load", false);
	run->measured.load_ns = clock_monotonic() - begin_ns;
	run->measured.is_loaded = true;
	return rc;
}

/** The first phase with groups from `from` on; UINT32_MAX: none. */
static uint32_t
next_phase(const struct nb_run *run, uint32_t from)
{
	uint32_t next = UINT32_MAX;
	for (size_t g = 0; g < run->part_count; g++) {
		uint32_t phase = run->parts[g].group->phase;
		if (phase >= from && phase < next)
			next = phase;
	}
	return next;
}

typedef int
phase_act(struct nb_run *run, struct job_part **parts, size_t count);

/** Call act for the parts of each phase in order, until one call fails. */
static int
each_phase(struct nb_run *run, phase_act *act)
{
	struct job_part *parts[NB_GROUPS_MAX];
	int rc = NB_OK;
	uint32_t phase = next_phase(run, 0);
	for (; phase != UINT32_MAX && rc == NB_OK; phase = next_phase(run, phase + 1)) {
		size_t count = 0;
		for (size_t g = 0; g < run->part_count; g++) {
			if (run->parts[g].group->phase == phase)
				parts[count++] = &run->parts[g];
		}
		run->phase = phase;
		rc = act(run, parts, count);
	}
	return rc;
}

static int
run_phase(struct nb_run *run, struct job_part **parts, size_t count)
{
	return run_parts(run, parts, count, run->action, true);
}

static int
run_phases(struct nb_run *run)
{
	struct job_part *loading = &run->loading;
	if (run->options.what == NB_JOB_LOAD)
		return run_parts(run, &loading, 1, run->action, true);
	int rc = each_phase(run, run_phase);
	run->measured.is_partial |= rc != NB_OK &&
		next_phase(run, run->phase + 1) != UINT32_MAX;
	return rc;
}

/* ---- reading back from the reopened database ---- */

bool
job_is_read_again(const struct nb_run *run)
{
	return run->has_writes && run_is_kept(run) && run->options.verify_rate > 0;
}

static int
read_back_phase(struct nb_run *run, struct job_part **parts, size_t count)
{
	int rc = NB_OK;
	activate(run, parts, count);
	run->is_parent = run->is_measured = false;
	for (size_t p = 0; p < count; p++) {
		parts[p]->plan.halt = &run->shared->breaks[p];
		for (uint32_t t = 0; t < parts[p]->plan.threads; t++)
			parts[p]->workers[t]->findings = (struct job_findings){.verified = 0};
	}
	uint32_t procs = parts[0]->plan.threads / parts[0]->group->threads;
	for (; run->process < procs && rc == NB_OK; run->process++)
		rc = phase_read_back(run);
	if (run->left.is_left)
		return rc; /* threads may still use them */
	for (size_t p = 0; p < count; p++)
		job_collect_read_back(run, parts[p]);
	run->active_count = 0;
	return rc == NB_OK && stop_requested() ? error_interrupted() : rc;
}

static int
read_back_again(struct nb_run *run)
{
	struct job_part *loading = &run->loading;
	int rc = stop_requested() ? error_interrupted() : run_reopen_database(run);
	if (rc != NB_OK)
		return rc;
	run_begin_phase(run, "verify");
	run_tell(run, 0, 0);
	rc = run->options.what == NB_JOB_LOAD ? read_back_phase(run, &loading, 1)
					      : each_phase(run, read_back_phase);
	return run_close_again(run, rc);
}

static void
look_at_memory(struct nb_run *run)
{
	run->measured.max_resident_bytes = sysinfo_max_resident_bytes();
	if (run->options.memory != NULL)
		memory_group_use(run->options.memory, &run->measured.memory);
}

/** Execute in one process, which has the database open throughout. */
static int
execute_here(struct nb_run *run)
{
	int rc = run_open_database(run);
	if (rc != NB_OK)
		return rc;
	rc = load_unkept(run);
	if (rc == NB_OK)
		rc = run_probe(run);
	if (rc == NB_OK && run->options.what != NB_JOB_LOAD)
		rc = rows_count(run, &run->measured.rows_before);
	if (rc == NB_OK)
		rc = batch_read(run);
	if (rc == NB_OK)
		rc = run_phases(run);
	if (rc == NB_OK)
		rc = run_settle(run);
	run->measured.has_settled = rc == NB_OK;
	rows_grown(run, run->measured.grown);
	if (rc == NB_OK)
		rc = rows_count(run, &run->measured.rows_after);
	rc = run_count_until(run, rc);
	look_at_memory(run);
	return run_close_database(run, rc);
}

/** Let the parent probe the records that the processes will use. */
static int
probe_for_procs(struct nb_run *run)
{
	if (!run_is_probed(run))
		return NB_OK;
	int rc = run_open_to_look(run);
	return rc == NB_OK ? run_close_again(run, run_probe(run)) : rc;
}

/**
 * Execute in several processes. The parent opens the database only to check and to settle it.
 */
static int
execute_procs(struct nb_run *run)
{
	int rc = probe_for_procs(run);
	if (rc == NB_OK)
		rc = run_phases(run);
	look_at_memory(run);
	if (rc != NB_OK || !run->has_writes)
		return rc;
	rc = run_open_database(run);
	if (rc != NB_OK)
		return rc;
	rc = run_settle(run);
	run->measured.has_settled = rc == NB_OK;
	return run_close_database(run, rc);
}

/** Bytes of the loaded records and those added since; 0: not known. */
static uint64_t
live_bytes(const struct nb_run *run)
{
	const struct nb_job *job = run->job;
	bool is_load = run->options.what == NB_JOB_LOAD;
	uint64_t records = is_load ? run->loading.measured.done : job->records;
	bool has_warmup = false;
	if (run->is_replay || (is_load && run->measured.had_data))
		return 0;
	for (size_t g = 0; g < run->part_count && !is_load; g++) {
		const struct nb_group *group = run->parts[g].group;
		if (group->weights[NB_OP_DELETE] > 0 || group->weights[NB_OP_UPSERT] > 0)
			return 0;
		has_warmup |= group->warmup_ns + group->warmup_count > 0;
		records += run->parts[g].measured.kinds[NB_OP_INSERT].ops;
	}
	if (has_warmup && records != job->records)
		return 0; /* the inserts of the warm-up are not counted */
	return (uint64_t)((double)records *
		((double)run->keys.key_size_max + sizes_mean(&run->sizes)));
}

/** Delete the workers of all parts and their shared memory. */
static void
delete_all_workers(struct nb_run *run)
{
	if (run->left.is_left)
		return; /* threads may still use them */
	delete_workers(&run->loading);
	for (size_t g = 0; g < run->part_count; g++)
		delete_workers(&run->parts[g]);
	munmap(run->shared, sizeof(*run->shared));
}

/** Prepare everything before the database is touched. */
static int
prepare(struct nb_run *run)
{
	int rc = NB_OK;
	if (run->classic != NULL) {
		rc = verb_survey(run);
	} else {
		run_begin_phase(run, "prepare");
		if (run->options.record_path != NULL)
			rc = job_try_record(run);
	}
	if (rc != NB_OK)
		return rc;
	run_begin_phase(run, "harness");
	rc = job_floor_measure(run);
	run_begin_phase(run, "prepare");
	return rc == NB_OK ? run_prepare_path(run) : rc;
}

/** Map memory that all processes share. */
static int
map_shared(struct nb_run *run)
{
	run->shared = mmap(NULL, sizeof(*run->shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return run->shared != MAP_FAILED ? NB_OK : error_system("out of memory");
}

/** Judge the data. If the run ended early, a difference is only a warning. */
static int
judge(const struct nb_run *run, int rc)
{
	char text[WORKER_TEXT];
	snprintf(text, sizeof(text), "%s", nb_error_text());
	int judged = run->classic != NULL ? verb_judge(run) : job_judge(run);
	if (rc == NB_OK)
		return judged == NB_OK ? rows_judge(run) : judged;
	if (judged != NB_OK)
		log_message(NB_LOG_WARNING, "%s", nb_error_text());
	return error_set(rc, "%s", text);
}

/** Record the drift between the clocks. */
static void
note_clock(struct nb_run *run, const struct clock_pair *begun)
{
	struct clock_pair now = clock_pair(&run->clock);
	run->measured.clock_drift = clock_drift(&run->clock, begun, &now);
	if (now.slept_ns > begun->slept_ns)
		run->measured.slept_ns = now.slept_ns - begun->slept_ns;
}

static int
execute(struct nb_run *run)
{
	int rc = prepare(run);
	sysinfo_create(&run->sysinfo, run->path);
	environment_read(&run->environment, run->path, "");
	if (rc == NB_OK)
		rc = run_cool_database(run);
	if (rc == NB_OK)
		rc = sampler_new(run, run->options.procs > 1);
	if (rc == NB_OK)
		rc = map_shared(run);
	if (rc == NB_OK)
		rc = run_start_target(run);
	if (rc != NB_OK)
		return rc;
	struct clock_pair begun = clock_pair(&run->clock);
	rc = run->options.procs > 1 ? execute_procs(run) : execute_here(run);
	note_clock(run, &begun);
	sampler_finish(run->sampler);
	run->measured.live_bytes = run->classic != NULL ? verb_live_bytes(run)
							: live_bytes(run);
	run_begin_phase(run, "inspect");
	run_look_after(run);
	if (rc == NB_OK && job_is_read_again(run))
		rc = read_back_again(run);
	run->measured.has_read_back = rc == NB_OK;
	rc = run_stop_target(run, rc);
	run_end_temporary(run);
	delete_all_workers(run);
	if (rc == NB_OK && run->options.record_path != NULL) {
		run_begin_phase(run, "record");
		rc = job_record(run);
	}
	if (run->classic != NULL) {
		verb_collect(run);
		if (rc == NB_OK)
			verb_survey_again(run);
	}
	run_end_phases(run);
	return judge(run, rc);
}

int
nb_run_execute(struct nb_run *run)
{
	if (run->phase_name != NULL)
		return error_set(NB_ERR_USAGE, "a run can be executed only once");
	process_note_directory();
	fault_begin();
	engine_forget_messages();
	int rc = execute(run);
	run_release_path(run);
	process_return_to_directory();
	fault_end();
	return rc;
}
