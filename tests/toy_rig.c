/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "toy.h"
#include "scratch.h"
#include "unit.h"

/** The defect that starts when the run begins. */
static uint32_t next_defect, next_verb;
static uint64_t next_nth, next_times, next_number;
static bool has_begun;

static void
watch_begin(void *arg, const struct nb_progress *progress)
{
	const struct toy_rig *rig = arg;
	const char *begin = rig->options.what == NB_JOB_LOAD ? "load" : "run";
	if (has_begun || strcmp(progress->what, begin) != 0)
		return;
	has_begun = true; /* on the main thread, before workers exist */
	toy_reset();
	if (next_defect != TOY_RIGHT) {
		toy_break(next_defect, next_verb, next_nth, next_times);
		toy.number = next_number;
	}
	next_defect = TOY_RIGHT;
}

static void
undo(void *arg)
{
	toy_destroy(arg);
}

void
toy_destroy(struct toy_rig *rig)
{
	unit_forget(undo, rig);
	if (rig->with != NULL)
		toy_leave(rig->with);
	if (rig->is_open)
		toy_unload(rig);
	nb_stop_clear();
	nb_run_delete(rig->run);
	nb_job_delete(rig->job);
	nftw(rig->dir, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
}

void
toy_create(struct toy_rig *rig, const char *text)
{
	unit_defer(undo, rig);
	*rig = (struct toy_rig){.dir = "/tmp/mininb-test.XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(rig->dir));
	char path[128];
	snprintf(path, sizeof(path), "%s/my.ini", rig->dir);
	snprintf(rig->path, sizeof(rig->path), "%s/nb", rig->dir);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "[workload]\nkey-format = be64\nkey-order = ordered\n%s\n", text);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_msg(nb_job_read(&rig->job, path) == NB_OK, "%s", nb_error_text());
	rig->options = (struct nb_run_options)NB_RUN_OPTIONS_INIT;
	rig->options.job = rig->job;
	rig->options.driver = TOY_PLUGIN;
	rig->options.path = rig->path;
	rig->options.clock = NB_CLOCK_MONOTONIC; /* needs no calibration */
	rig->options.verify_rate = 1;
	rig->options.progress = watch_begin;
	rig->options.progress_arg = rig;
	next_defect = TOY_RIGHT;
	has_begun = false;
	nb_stop_clear();
	toy.is_logging = toy.copies = false;
	toy.room = toy.reaped_most = 0;
	toy.sessions = toy.open = 0;
	toy_reset();
}

void
toy_new(struct toy_rig *rig)
{
	nb_run_delete(rig->run);
	rig->run = NULL;
	ck_assert_msg(nb_run_new(&rig->run, &rig->options) == NB_OK, "nb_run_new: %s",
		nb_error_text());
	rig->run->engine->table = toy_engine();
	has_begun = false;
}

int
toy_run(struct toy_rig *rig)
{
	toy_new(rig);
	int rc = nb_run_execute(rig->run);
	ck_assert_int_eq(toy.sessions, 0);
	ck_assert_int_eq(toy.open, 0);
	return rc;
}

void
toy_break_run(struct toy_rig *rig, uint32_t defect, uint32_t verb, uint64_t nth, uint64_t times)
{
	next_defect = defect;
	next_verb = verb;
	next_nth = nth;
	next_times = times;
	next_number = 0;
}

void
toy_break_run_for(
	struct toy_rig *rig, uint64_t number, uint32_t defect, uint32_t verb, uint64_t nth)
{
	toy_break_run(rig, defect, verb, nth, 1);
	next_number = number + 1;
}

void
toy_assert_told(const char *part)
{
	const char *text = nb_error_text();
	ck_assert_msg(strstr(text, part) != NULL, "'%s' is not said in: %s", part, text);
	ck_assert_msg(strchr(text, '\n') == NULL, "more than one line: %s", text);
}

const struct job_measurement *
toy_measured(const struct toy_rig *rig, size_t group)
{
	ck_assert_uint_lt(group, rig->run->part_count);
	return &rig->run->parts[group].measured;
}

uint64_t
toy_wrong(const struct job_findings *findings)
{
	uint64_t wrong = 0;
	for (int i = JOB_GOOD + 1; i < JOB_VERDICTS; i++)
		wrong += findings->verdicts[i];
	return wrong;
}

/* ---- a single worker ---- */

void
toy_enter(struct toy_rig *rig, struct toy_worker *with, struct job_part *part)
{
	*with = (struct toy_worker){.rig = rig, .part = part};
	rig->with = with;
	with->gate.begin = clock_stamp(rig->run->clock.kind);
	part->plan.gate = &with->gate;
	part->plan.halt = &with->halt;
	part->plan.workers = with->workers;
	ck_assert_uint_le(part->plan.threads, 16);
	for (uint32_t t = 0; t < part->plan.threads; t++) {
		struct job_worker *worker;
		ck_assert_int_eq(job_worker_new(&worker, &part->plan, t, false), NB_OK);
		ck_assert_int_eq(job_worker_enter(worker), NB_OK);
		ck_assert_int_eq(
			part->plan.engine->session_open(&worker->session, rig->run->db, t),
			NB_OK);
		with->workers[t] = worker;
	}
	error_set(NB_OK, "%s", "");
}

void
toy_go(struct toy_worker *with)
{
	job_worker_run(with->workers[0]);
	ck_assert_uint_eq(with->workers[0]->is_over, 1);
}

void
toy_leave(struct toy_worker *with)
{
	with->rig->with = NULL;
	for (uint32_t t = 0; t < with->part->plan.threads; t++) {
		struct job_worker *worker = with->workers[t];
		ck_assert_int_eq(
			with->part->plan.engine->session_close(worker->session), NB_OK);
		job_worker_leave(worker);
		job_worker_delete(worker);
	}
}

void
toy_open(struct toy_rig *rig)
{
	struct nb_run *base = rig->run;
	struct nb_open_args args = {.size = sizeof(args),
		.flags = NB_OPEN_CREATE,
		.host = nb_engine_host(),
		.path = rig->dir,
		.sessions = 16};
	ck_assert_int_eq(base->engine->table.open(&base->db, &args), NB_OK);
	rig->is_open = true;
}

void
toy_load(struct toy_rig *rig)
{
	struct toy_worker with;
	toy_open(rig);
	if (rig->job->records > 0) {
		toy_enter(rig, &with, &rig->run->loading);
		toy_go(&with);
		ck_assert_int_eq(with.workers[0]->rc, NB_OK);
		toy_leave(&with);
	}
	toy_reset();
}

void
toy_unload(struct toy_rig *rig)
{
	struct nb_run *base = rig->run;
	ck_assert_int_eq(base->engine->table.close(base->db), NB_OK);
	base->db = NULL;
	rig->is_open = false;
}

struct job_worker *
toy_one(struct toy_rig *rig, struct toy_worker *with, const char *text)
{
	toy_create(rig, text);
	toy_new(rig);
	toy_load(rig);
	toy_enter(rig, with, &rig->run->parts[0]);
	toy_reset();
	return with->workers[0];
}

struct job_worker *
toy_short(struct toy_rig *rig, struct toy_worker *with, const char *text)
{
	char all[512];
	snprintf(all, sizeof(all), TOY_SHORT "%s\n", text);
	return toy_one(rig, with, all);
}

void
toy_found(const struct toy_worker *with, int verdict, uint32_t kind, uint64_t op)
{
	const struct job_findings *findings = &with->workers[0]->findings;
	ck_assert_int_eq(with->workers[0]->rc, NB_OK);
	ck_assert_uint_eq(findings->verdicts[verdict], 1);
	ck_assert_uint_eq(toy_wrong(findings), 1);
	ck_assert_uint_eq(findings->case_count, 1);
	const struct job_case *it = &findings->cases[0];
	ck_assert_str_eq(job_verdict_name((int)it->verdict), job_verdict_name(verdict));
	ck_assert_uint_eq(it->kind, kind);
	ck_assert_uint_eq(it->op, op);
	ck_assert_uint_eq(it->key_size, 8);
}
