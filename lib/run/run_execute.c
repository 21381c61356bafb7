/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The course of a run, in phases that all threads go through together:
 *
 *     survey the keys, measure the harness       main thread
 *     put the database out of memory, if asked   main thread
 *     open the database                          main thread, timed
 *     ENTER      memory and session              each worker on its own thread
 *     LOAD       data for an engine that keeps none, untimed
 *     the engine's counters                      main thread, workers parked
 *     OPERATE    the operations                  what is measured
 *     settle     flush, compact                  main thread, workers parked, timed
 *     the engine's counters, again               main thread, workers parked
 *     LEAVE      session                         each worker
 *     close the database                         main thread, timed
 *     out of memory, if asked; open it again     main thread
 *     ENTER_AGAIN, READ_BACK, LEAVE              whether writes had their effect, untimed
 *     close the database                         main thread
 *
 * An engine's cache answers for writes that never reached a file, so writes are read back
 * from a database that was opened again. An engine that keeps nothing is read back before
 * its sessions and the database are closed.
 *
 * run_begin_phase() adds the time of each to the result, under its name.
 *
 * Throughput is operations over the time from the first one's start to the last
 * one's end. For writes that is the acknowledged rate; the settled one counts
 * settling and closing too, where engines that cannot be asked to flush do it.
 *
 * While workers operate, the main thread wakes every TICK_NS: it shows progress,
 * passes on a request to stop, takes samples (sampler.c), and lets go of the memory that maps
 * keys already used, so that a long run needs no more memory than a short one. That costs
 * the workers a TLB shootdown per tick, and only if the key file is large. It
 * does the same while they load and read back. And it looks whether one does not come back
 * from the engine, or has crashed there: then the run is left as it is (run_call.c).
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "run/fault.h"
#include "run/run.h"
#include "run/sampler.h"

enum { TICK_NS = 20 * 1000 * 1000, FORGET_BYTES = 8 << 20 };

enum {
	PHASE_ENTER,
	PHASE_LOAD,
	PHASE_OPERATE,
	PHASE_ENTER_AGAIN,
	PHASE_READ_BACK,
	PHASE_LEAVE
};

static uint64_t
share_begin(const struct nb_run *run, uint32_t id)
{
	uint64_t count = run->workload.count, threads = run->options.threads;
	return count / threads * id + (id < count % threads ? id : count % threads);
}

static void
keep_failure(struct nb_run *run, uint32_t id, int rc)
{
	struct worker *worker = run->workers[id];
	worker->rc = rc;
	snprintf(worker->text, sizeof(worker->text), "%s", nb_error_text());
}

static int
open_session(struct nb_run *run, uint32_t id)
{
	struct nb_session **session = &run->workers[id]->session;
	struct post *post = &run->workers[id]->post;
	run_forget_text();
	post_enter(post, "session_open");
	int rc = run->plan.engine->session_open(session, run->db, id);
	post_leave(post);
	if (rc == NB_OK && *session != NULL)
		return NB_OK;
	if (rc == NB_OK)
		rc = error_set(NB_FAIL, "gave no session");
	*session = NULL;
	return run_engine_failure(run, rc, "session_open");
}

/** A worker without a session has failed, and does nothing in the phases after. */
static void
enter(struct nb_run *run, uint32_t id)
{
	int rc = (run->options.flags & NB_RUN_PIN) != 0 ? run_pin(id) : NB_OK;
	/* its memory is first touched after it is where it will stay */
	struct worker *worker;
	if (worker_new(&worker, &run->plan, share_begin(run, id), share_begin(run, id + 1)) !=
		NB_OK) {
		log_message(NB_LOG_WARNING, "%s", nb_error_text());
		return;
	}
	worker->post.worker = id;
	fault_set_post(&worker->post);
	__atomic_store_n(&run->workers[id], worker, __ATOMIC_RELEASE);
	if (rc == NB_OK)
		rc = open_session(run, id);
	if (rc != NB_OK)
		keep_failure(run, id, rc);
}

static void
leave(struct nb_run *run, uint32_t id)
{
	struct worker *worker = run->workers[id];
	run_forget_text();
	post_enter(&worker->post, "session_close");
	int rc = run->plan.engine->session_close(worker->session);
	post_leave(&worker->post);
	worker->session = NULL;
	if (rc != NB_OK && worker->rc == NB_OK)
		keep_failure(run, id, run_engine_failure(run, rc, "session_close"));
}

static void
work(void *arg, uint32_t id, int phase)
{
	struct nb_run *run = arg;
	if (phase == PHASE_ENTER) {
		enter(run, id);
		return;
	}
	struct worker *worker = run->workers[id];
	if (phase == PHASE_ENTER_AGAIN) {
		int rc = open_session(run, id);
		if (rc != NB_OK)
			keep_failure(run, id, rc);
	}
	if (worker == NULL || worker->session == NULL)
		return;
	if (phase == PHASE_LOAD)
		worker_load(worker);
	else if (phase == PHASE_OPERATE)
		worker_run(worker);
	else if (phase == PHASE_READ_BACK)
		worker_read_back(worker);
	else if (phase == PHASE_LEAVE)
		leave(run, id);
	if (worker->rc != NB_OK) /* one has failed: the others need not go on */
		__atomic_store_n(&run->halt, 1, __ATOMIC_RELAXED);
}

static uint64_t
ops_reached(const struct nb_run *run)
{
	uint64_t done = 0;
	for (uint32_t id = 0; id < run->options.threads; id++)
		done += run->reached(run->workers[id]);
	return done;
}

/** All shares are as long and are gone through at much the same speed. */
static void
forget_keys(struct nb_run *run)
{
	uint64_t slowest = UINT64_MAX;
	for (uint32_t id = 0; id < run->options.threads; id++)
		if (run->reached(run->workers[id]) < slowest)
			slowest = run->reached(run->workers[id]);
	if ((slowest - run->forgotten) * run->keys.key_size * run->options.threads <
		FORGET_BYTES)
		return;
	for (uint32_t id = 0; id < run->options.threads; id++) {
		uint64_t begin = run->workers[id]->begin;
		keys_forget(&run->keys, begin + run->forgotten, begin + slowest);
	}
	run->forgotten = slowest;
}

/** Whether a worker does not come back, or has crashed. Called in each tick of each phase. */
static void
watch(void *arg)
{
	struct nb_run *run = arg;
	for (uint32_t id = 0; id < run->options.threads; id++) {
		struct worker *worker = __atomic_load_n(&run->workers[id], __ATOMIC_ACQUIRE);
		if (worker != NULL && run_watch(run, &worker->post, false))
			break;
	}
	if (!run->left.is_left)
		return;
	__atomic_store_n(&run->halt, 1, __ATOMIC_RELAXED);
	run_end_left(run, &run->crew);
}

static void
tick(void *arg)
{
	struct nb_run *run = arg;
	watch(arg);
	if (stop_requested())
		__atomic_store_n(&run->halt, 1, __ATOMIC_RELAXED);
	uint64_t done = ops_reached(run);
	if (run->options.report_interval != 0 &&
		done - run->told_ops >= run->options.report_interval) {
		run_tell(run, done, run->workload.count);
		run->told_ops = done;
	}
	run_tick_load(run, done);
	sampler_tick(run->sampler, clock_monotonic() - run->operate_ns, done);
	forget_keys(run);
}

/** The first failure of a worker becomes this thread's. */
static int
worker_failure(const struct nb_run *run)
{
	if (run->left.is_left)
		return run_left_failure(run);
	for (uint32_t id = 0; id < run->options.threads; id++) {
		if (run->workers[id] == NULL)
			return error_set(NB_FAIL, "out of memory for worker %u", id);
		if (run->workers[id]->rc != NB_OK)
			return error_set(run->workers[id]->rc, "%s", run->workers[id]->text);
	}
	return stop_requested() ? error_interrupted() : NB_OK;
}

static int
load(struct nb_run *run)
{
	uint32_t caps = run->engine->table.caps;
	if (run->workload.verb == NB_VERB_PUT ||
		(caps & (NB_CAP_PERSISTENT | NB_CAP_SYNTHETIC)) != 0)
		return NB_OK;
	run_begin_phase(run, "load");
	run_tell(run, 0, run->workload.count);
	crew_do(&run->crew, PHASE_LOAD, TICK_NS, tick);
	run->measured.load_ns = clock_monotonic() - run->phase_begin_ns;
	run->measured.is_loaded = true;
	for (uint32_t id = 0; id < run->options.threads && !run->left.is_left; id++)
		run->workers[id]->done = 0;
	return worker_failure(run);
}

static int
collect(struct nb_run *run)
{
	struct measurement *measured = &run->measured;
	uint64_t begin = UINT64_MAX, end = 0;
	measured->threads = calloc(run->options.threads, sizeof(*measured->threads));
	if (measured->threads == NULL)
		return error_set(NB_FAIL, "out of memory");
	measured->thread_count = run->options.threads;
	for (uint32_t id = 0; id < run->options.threads; id++) {
		struct worker *worker = run->workers[id];
		if (worker->begin_ticks == 0)
			continue; /* it never got to its first */
		measured->threads[id] = (struct job_thread){.ops = worker->counted,
			.wall_ns = clock_ns(
				&run->clock, worker->end_ticks - worker->begin_ticks),
			.done = worker->counted,
			.kinds = {worker->counted}};
		nb_histogram_merge(measured->service, &worker->service);
		measured->ops += worker->counted;
		measured->value_bytes += worker->value_bytes;
		for (int i = 0; i < WORKER_ANSWERS; i++)
			measured->answers[i] += worker->answers[i];
		begin = worker->begin_ticks < begin ? worker->begin_ticks : begin;
		end = worker->end_ticks > end ? worker->end_ticks : end;
	}
	measured->wall_ns = end > begin ? clock_ns(&run->clock, end - begin) : 0;
	measured->usage_ops = measured->ops;
	if (run->workload.verb != NB_VERB_GET)
		measured->commits = measured->answers[NB_OK];
	measured->is_partial = measured->ops < run->workload.count;
	return NB_OK;
}

/* ---- what the sampler asks for ---- */

static void
peek(void *arg, uint32_t kind, bool is_response, struct nb_histogram *into)
{
	const struct nb_run *run = arg;
	(void)kind, (void)is_response; /* there is one of each */
	for (uint32_t id = 0; id < run->options.threads; id++)
		histogram_peek(into, &run->workers[id]->service);
}

static uint64_t
errors(void *arg)
{
	const struct nb_run *run = arg;
	uint64_t sum = 0;
	for (uint32_t id = 0; id < run->options.threads; id++) {
		const uint64_t *answers = run->workers[id]->answers;
		sum += __atomic_load_n(&answers[NB_NOT_FOUND], __ATOMIC_RELAXED);
		sum += __atomic_load_n(&answers[NB_CONFLICT], __ATOMIC_RELAXED);
	}
	return sum;
}

static void
add_pulses(void *arg, struct pulse_track *into)
{
	const struct nb_run *run = arg;
	pulse_begin(into, &run->clock, run->plan.begin_ticks);
	for (uint32_t id = 0; id < run->options.threads; id++) {
		if (run->workers[id]->begin_ticks != 0)
			pulse_merge(into, &run->workers[id]->pulses);
	}
}

/** The operations themselves, watched by the sampler and by a thread that only sleeps. */
static int
operate_watched(struct nb_run *run)
{
	struct sampler_phase phase = {.kinds = 1,
		.db = run->db,
		.arg = run,
		.peek = peek,
		.pulses = add_pulses,
		.errors = errors};
	int rc = hiccup_start(run->hiccup, HICCUP_INTERVAL_NS);
	if (rc != NB_OK)
		return rc;
	sampler_begin(run->sampler, &phase);
	run->operate_ns = clock_monotonic();
	run->has_operated = true;
	run->plan.begin_ticks = clock_stamp(run->clock.kind);
	crew_do(&run->crew, PHASE_OPERATE, TICK_NS, tick);
	for (uint32_t id = 0; id < run->options.threads && run->left.is_left; id++)
		worker_take_over(run->workers[id]);
	sampler_end(run->sampler, clock_monotonic() - run->operate_ns, ops_reached(run));
	hiccup_stop(run->hiccup);
	nb_histogram_merge(run->measured.hiccups, &run->hiccup->lateness);
	return NB_OK;
}

static int
operate(struct nb_run *run)
{
	struct sysinfo_usage before, after;
	run_begin_phase(run, nb_verb_name(run->workload.verb));
	run_tell(run, 0, run->workload.count); /* now, so that what is shown of "open" ends */
	sysinfo_usage(&before);
	uint64_t begin_ns = clock_monotonic();
	int rc = operate_watched(run);
	if (rc != NB_OK)
		return rc;
	run->measured.has_begun = true;
	run->measured.usage_ns = clock_monotonic() - begin_ns;
	sysinfo_usage(&after);
	run->measured.usage = sysinfo_usage_between(&before, &after);
	rc = collect(run);
	return rc == NB_OK ? worker_failure(run) : rc;
}

static int
read_back(struct nb_run *run)
{
	run_begin_phase(run, "verify");
	run->reached = worker_looked;
	run_tell(run, 0, run->workload.count);
	crew_do(&run->crew, PHASE_READ_BACK, TICK_NS, tick);
	int rc = worker_failure(run);
	run->measured.has_read_back = rc == NB_OK;
	return rc;
}

static int
leave_sessions(struct nb_run *run, int rc)
{
	if (!run->left.is_left)
		crew_do(&run->crew, PHASE_LEAVE, TICK_NS, watch);
	return rc == NB_OK ? worker_failure(run) : rc;
}

static bool
is_read_back(const struct nb_run *run)
{
	bool is_synthetic = (run->engine->table.caps & NB_CAP_SYNTHETIC) != 0;
	return run->workload.verb != NB_VERB_GET && !is_synthetic &&
		run->plan.verify_threshold != 0;
}

/** From opening sessions to closing them. */
static int
run_phases(struct nb_run *run)
{
	crew_do(&run->crew, PHASE_ENTER, TICK_NS, watch);
	int rc = worker_failure(run);
	if (rc == NB_OK)
		rc = load(run);
	if (rc == NB_OK)
		rc = run_count_from(run);
	if (rc == NB_OK) {
		run_look_begin(run);
		rc = operate(run);
	}
	if (rc == NB_OK)
		rc = run_settle(run);
	run->measured.has_settled = rc == NB_OK;
	rc = run_count_until(run, rc);
	if (rc == NB_OK && is_read_back(run) && !run_is_kept(run))
		rc = read_back(run);
	return leave_sessions(run, rc);
}

/** What is in the files, after the database was closed. */
static int
read_back_files(struct nb_run *run)
{
	int rc = stop_requested() ? error_interrupted() : run_reopen_database(run);
	if (rc != NB_OK)
		return rc;
	crew_do(&run->crew, PHASE_ENTER_AGAIN, TICK_NS, watch);
	rc = worker_failure(run);
	if (rc == NB_OK)
		rc = read_back(run);
	rc = leave_sessions(run, rc);
	return run_close_again(run, rc);
}

static void
collect_findings(struct nb_run *run)
{
	struct worker_findings *sum = &run->measured.findings;
	for (uint32_t id = 0; id < run->options.threads; id++) {
		if (run->workers[id] == NULL)
			continue;
		const struct worker_findings *findings = &run->workers[id]->findings;
		sum->verified += findings->verified;
		sum->missing += findings->missing;
		for (int i = 0; i < VALUE_VERDICTS; i++)
			sum->verdicts[i] += findings->verdicts[i];
	}
}

/**
 * What a put has left in a database that it made. Of a get or a delete it is not known what
 * else there is.
 */
static uint64_t
live_bytes(const struct nb_run *run)
{
	const struct nb_workload *workload = &run->workload;
	const struct measurement *measured = &run->measured;
	const struct keys_facts *facts = &run->keys_facts;
	/* a hundred thousand keys without one: there are hardly more than three in as many */
	bool is_known = !facts->is_estimate || facts->duplicates == 0;
	bool is_all = !measured->is_partial || facts->duplicates == 0;
	if (workload->verb != NB_VERB_PUT || measured->had_data || !is_known || !is_all ||
		!measured->has_begun)
		return 0;
	return (measured->ops - facts->duplicates) *
		(workload->key_size + workload->value_size);
}

/** Close the database, after which nothing that is measured goes on. */
static int
end_measuring(struct nb_run *run, int rc)
{
	rc = run_close_database(run, rc);
	run_clock_end(run);
	sampler_finish(run->sampler);
	run->measured.live_bytes = live_bytes(run);
	run_begin_phase(run, "inspect");
	run_look_after(run);
	return rc;
}

static int
run_crew(struct nb_run *run)
{
	run->workers = calloc(run->options.threads, sizeof(struct worker *));
	int rc = run->workers == NULL
		? error_set(NB_FAIL, "out of memory")
		: crew_create(&run->crew, run->options.threads, work, run);
	if (rc != NB_OK) {
		free(run->workers);
		return end_measuring(run, rc);
	}
	rc = end_measuring(run, run_phases(run));
	if (rc == NB_OK && is_read_back(run) && run_is_kept(run))
		rc = read_back_files(run);
	run->measured.has_read_back |= rc == NB_OK;
	rc = run_end_crew(run, &run->crew, rc);
	collect_findings(run);
	run->measured.max_resident_bytes = sysinfo_max_resident_bytes();
	if (run->left.is_left)
		return rc; /* some may still be used */
	for (uint32_t id = 0; id < run->options.threads; id++)
		worker_delete(run->workers[id]);
	free(run->workers);
	return rc;
}

/**
 * Keys that may rightly be missing when they are deleted, since that was done before: at
 * most. An estimate, made from millions of keys, is off by less than its half, or in all
 * by a thousandth of the keys.
 */
static uint64_t
repeated_keys(const struct nb_run *run)
{
	const struct keys_facts *facts = &run->keys_facts;
	uint64_t doubt = facts->duplicates + run->workload.count / 1000;
	return facts->duplicates + (facts->is_estimate ? doubt : 0);
}

/**
 * Whether keys may be missing. A get that finds fewer keys than are missing reports their
 * number, with NB_RUN_ALLOW_MISSING as a warning: after a delete they are records that came
 * back.
 */
static int
judge_missing(const struct nb_run *run)
{
	const uint64_t *answers = run->measured.answers;
	unsigned long long found = answers[NB_OK], absent = answers[NB_NOT_FOUND];
	unsigned long long ops = run->measured.ops;
	char text[128] = "";
	if (run->workload.verb == NB_VERB_GET && found > 0 && found < absent)
		snprintf(text, sizeof(text),
			", %llu %s found (%s came back, if the keys were deleted before)",
			found, found == 1 ? "was" : "were", found == 1 ? "it" : "they");
	if (absent > 0 && (run->options.flags & NB_RUN_ALLOW_MISSING) == 0)
		return error_set(NB_ERR_DATA,
			"%llu of %llu keys were not found%s; --allow-missing if that is meant",
			absent, ops, text);
	if (text[0] != '\0')
		log_message(NB_LOG_WARNING, "%llu of %llu keys were not found%s", absent, ops,
			text);
	return NB_OK;
}

/** Whether the data was what it should be; the text says what was not. */
static int
judge(const struct nb_run *run)
{
	const struct measurement *measured = &run->measured;
	const struct worker_findings *findings = &measured->findings;
	unsigned long long verified = findings->verified, bad = findings_wrong(findings);
	unsigned long long missing = findings->missing, ops = measured->ops;
	unsigned long long absent = measured->answers[NB_NOT_FOUND];
	unsigned long long wrong_size = findings->verdicts[VALUE_WRONG_SIZE];
	bool is_delete = run->workload.verb == NB_VERB_DELETE;
	bool is_get = run->workload.verb == NB_VERB_GET;
	if (bad > 0)
		return error_set(NB_ERR_DATA,
			"%llu of %llu values that were verified are not what was put (wrong "
			"size %llu, of another key %llu, corrupt %llu, stale %llu)%s",
			bad, verified, wrong_size,
			(unsigned long long)findings->verdicts[VALUE_OF_OTHER_KEY],
			(unsigned long long)findings->verdicts[VALUE_CORRUPT],
			(unsigned long long)findings->verdicts[VALUE_STALE],
			is_get && wrong_size == verified ? "; --vlen must be that of put" : "");
	if (missing > 0)
		return error_set(NB_ERR_DATA,
			"%llu of %llu keys that were looked up again are %s", missing, verified,
			is_delete ? "still there" : "not there");
	if (run->workload.verb == NB_VERB_PUT && absent > 0)
		return error_set(NB_ERR_DATA,
			"%llu of %llu puts were answered with 'not found': nothing says that "
			"they stored",
			absent, ops);
	if (is_delete && absent <= repeated_keys(run))
		return NB_OK;
	return judge_missing(run);
}

/** A run that ended early is judged too: why it ended must not hide what it has found. */
static int
warn_of_data(const struct nb_run *run, int rc)
{
	char text[WORKER_TEXT];
	snprintf(text, sizeof(text), "%s", nb_error_text());
	if (judge(run) != NB_OK)
		log_message(NB_LOG_WARNING, "%s", nb_error_text());
	return error_set(rc, "%s", text);
}

static int
survey(struct nb_run *run, uint32_t passes_max)
{
	run_begin_phase(run, "keys");
	return keys_survey(&run->keys, &run->keys_facts, passes_max, run->options.progress,
		run->options.progress_arg);
}

/** Where it decides whether keys may rightly be missing, duplicates are counted exactly. */
static void
survey_again(struct nb_run *run)
{
	struct keys_facts estimate = run->keys_facts;
	if (run->workload.verb == NB_VERB_DELETE && estimate.is_estimate &&
		run->measured.answers[NB_NOT_FOUND] > 0 && survey(run, KEYS_EXACT) != NB_OK)
		run->keys_facts = estimate;
}

static int
prepare(struct nb_run *run)
{
	int rc = survey(run, KEYS_QUICK);
	if (rc != NB_OK)
		return rc;
	run->digest = stream_digest(&run->workload, run->keys_facts.hash);
	bool is_synthetic = (run->engine->table.caps & NB_CAP_SYNTHETIC) != 0;
	run->plan = (struct worker_plan){.engine = &run->engine->table,
		.workload = &run->workload,
		.keys = &run->keys,
		.clock = &run->clock,
		.verify_threshold = is_synthetic ? 0
						 : sample_threshold(run->options.verify_rate),
		.halt = &run->halt};
	run_begin_phase(run, "harness");
	rc = floor_measure(run);
	run_begin_phase(run, "prepare");
	if (rc == NB_OK)
		rc = run_prepare_path(run);
	sysinfo_create(&run->sysinfo, run->path);
	environment_create(&run->environment, run->path);
	return rc == NB_OK ? sampler_new(run, false) : rc;
}

static int
execute(struct nb_run *run)
{
	int rc = prepare(run);
	if (rc == NB_OK)
		rc = run_cool_database(run);
	run_clock_begin(run);
	if (rc == NB_OK)
		rc = run_open_database(run);
	if (rc != NB_OK)
		return rc;
	rc = run_crew(run);
	if (rc == NB_OK)
		survey_again(run);
	run_end_phases(run);
	return rc == NB_OK ? judge(run) : warn_of_data(run, rc);
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
