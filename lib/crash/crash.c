/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements nb_crash(): checks its arguments, creates a scratch directory, and adds up the
 * findings.
 *
 * Equal seeds give equal operations and equal draws. A count of calls and instructions hits
 * the same moment again if the writer behaves the same. A time does not, because of the
 * scheduler. So findings of both are kept (keep.c).
 *
 * The writer is a fork of this process and inherits its heap. If the heap varied, the
 * writer's malloc() would enter the kernel at other moments, and counts would not repeat.
 * So jansson, which writes the kept findings, gets a fixed seed: a random one frees memory
 * in random order.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/symlink_guard.h"
#include "base/process.h"
#include "base/tree.h"
#include "crash/crash.h"
#include "run/engine.h"

enum {
	KEPT_MAX = 10,          /* of one call, because a broken engine fails in each round */
	ROOM_NEEDED = 16 << 20, /* a round writes some MiB, and twice that for copies */
	/* for a log that is never truncated, during all rounds of a database */
	FILE_NEEDED = 256 << 20
};

const char *
nb_crash_wrong_name(uint32_t wrong)
{
	static const char *const names[NB_CRASH_WRONGS] = {
		[NB_CRASH_LOST] = "lost",
		[NB_CRASH_TORN] = "torn",
		[NB_CRASH_GHOST] = "ghost",
		[NB_CRASH_REORDERED] = "reordered",
		[NB_CRASH_SPLIT_BATCH] = "split batch",
		[NB_CRASH_SCAN] = "scan",
		[NB_CRASH_UNSTABLE] = "unstable",
		[NB_CRASH_NOT_OPENED] = "not opened",
		[NB_CRASH_NOT_WRITABLE] = "not writable",
	};
	return wrong < NB_CRASH_WRONGS ? names[wrong] : NULL;
}

/* ---- the tally ---- */

static int
tally_create(struct nb_crash_tally *tally)
{
	*tally = (struct nb_crash_tally){.size = sizeof(*tally)};
	int rc = nb_histogram_new(&tally->recovery);
	if (rc == NB_OK)
		rc = nb_histogram_new(&tally->reopening);
	if (rc != NB_OK)
		nb_crash_tally_clear(tally);
	return rc;
}

void
nb_crash_tally_clear(struct nb_crash_tally *tally)
{
	nb_histogram_delete(tally->recovery);
	nb_histogram_delete(tally->reopening);
	tally->recovery = tally->reopening = NULL;
}

static void
count(struct nb_crash_tally *tally, const struct crash_report *report)
{
	tally->crashes++;
	tally->broken += report->is_broken != 0;
	tally->acknowledged += report->acknowledged;
	tally->in_flight += report->in_flight;
	tally->in_flight_kept += report->in_flight_kept;
	tally->survived += report->survived;
	tally->lost += report->lost;
	tally->holes += report->holes;
	for (uint32_t i = 0; i < NB_CRASH_WRONGS; i++)
		tally->wrong[i] += report->wrongs >> i & 1;
	if (report->open_ns != 0)
		nb_histogram_add(tally->recovery, report->open_ns);
	if (report->reopen_ns != 0)
		nb_histogram_add(tally->reopening, report->reopen_ns);
}

/** Fail if the disk is full or a limit is low, because that is not the engine's fault. */
static int
check_room(const struct crash_run *run)
{
	struct statvfs disk;
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < FILE_NEEDED)
		return error_set(NB_FAIL,
			"file size limit is %" PRIu64
			" KiB (ulimit -f); the last finding may be caused by it and was discarded; a crash test needs %d MiB",
			(uint64_t)limit.rlim_cur >> 10, FILE_NEEDED >> 20);
	if (statvfs(run->scratch, &disk) != 0 || disk.f_blocks == 0)
		return NB_OK;
	uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (free_bytes >= ROOM_NEEDED)
		return NB_OK;
	return error_set(NB_FAIL,
		"%s has %" PRIu64
		" KiB left; the last finding may be caused by that and was discarded; a crash test needs %d MiB",
		run->args->scratch, free_bytes >> 10, ROOM_NEEDED >> 20);
}

/**
 * Whether to keep the finding: up to KEPT_MAX broken promises, and one example of each
 * other kind.
 */
static bool
is_worth_keeping(const struct crash_run *run, const struct crash_report *report)
{
	return run->args->keep != NULL && run->kept < KEPT_MAX &&
		(report->is_broken || (run->examples >> report->worst & 1) == 0);
}

int
crash_run_take(struct crash_run *run, const struct crash_report *report,
	const struct crash_evidence *evidence)
{
	int rc = report->wrongs != 0 ? check_room(run) : NB_OK;
	if (rc != NB_OK)
		return rc;
	count(run->tally, report);
	if (report->wrongs == 0)
		return NB_OK;
	char *kept = NULL;
	if (evidence->files != NULL && is_worth_keeping(run, report)) {
		rc = crash_keep_write(&kept, run, report, evidence);
		run->kept += rc == NB_OK;
		if (!report->is_broken)
			run->examples |= 1u << report->worst;
	}
	if (run->args->report != NULL)
		run->args->report(run->args->report_arg,
			&(struct nb_crash_finding){.size = sizeof(struct nb_crash_finding),
				.round = evidence->round,
				.wrong = report->worst,
				.is_broken = report->is_broken,
				.is_counted = evidence->is_counted,
				.text = report->text,
				.when = evidence->when,
				.kept = kept});
	free(kept);
	return rc;
}

int
crash_run_begin_chain(struct crash_run *run, const char *path, struct crash_plan *plan,
	struct crash_oracle *state, uint64_t seed)
{
	tree_drop(path);
	if (mkdir(path, 0700) != 0)
		return error_system("cannot create %s", path);
	crash_plan_create(plan, run->args->engine, run->args->sessions, seed);
	crash_oracle_reset(state);
	return NB_OK;
}

int
crash_run_progress(struct crash_run *run, uint64_t done, uint64_t total)
{
	if (stop_requested())
		return error_interrupted();
	if (run->args->progress != NULL)
		run->args->progress(run->args->progress_arg,
			&(struct nb_progress){.size = sizeof(struct nb_progress),
				.what = "crash",
				.done = done,
				.total = total,
				.elapsed_ns = clock_monotonic() - run->begin_ns});
	return NB_OK;
}

/* ---- the call ---- */

/**
 * The recorder, the copies of findings and the removal of a database contain only files in its
 * directory. Without the other files, an open after a power failure would lose promised writes, and
 * the next database might find the files of an earlier one. An engine names options for directories
 * *_dir or *_dirs.
 */
static int
check_directories(const struct nb_crash_args *args)
{
	const struct nb_option *options = args->engine->options;
	for (size_t i = 0; options != NULL && options[i].name != NULL; i++) {
		const char *kind = strrchr(options[i].name, '_');
		if (options[i].type != NB_OPT_TEXT || args->options[i].is_set == 0 ||
			kind == NULL ||
			(strcmp(kind, "_dir") != 0 && strcmp(kind, "_dirs") != 0))
			continue;
		return error_set(NB_ERR_USAGE,
			"crash copies and removes only the files in the directory of the database; leave out the option %s=%s",
			options[i].name, args->options[i].text);
	}
	return NB_OK;
}

static int
check_args(const struct nb_crash_args *args)
{
	const struct nb_engine *engine = args->engine;
	int rc = engine_check_durability(engine, args->durability);
	if (rc != NB_OK)
		return rc;
	if ((engine->caps & NB_CAP_REMOTE) != 0)
		return error_set(NB_UNSUPPORTED,
			"%s keeps its data in a server, which outlives the process that crash kills; crash tests engines that run within mininb",
			engine->name);
	if ((engine->caps & NB_CAP_PERSISTENT) == 0)
		return error_set(NB_UNSUPPORTED,
			"%s is not persistent: it keeps no data that a crash could lose",
			engine->name);
	if (engine->key_size_max != 0 && engine->key_size_max < CRASH_KEY_MIN)
		return error_set(NB_UNSUPPORTED,
			"%s allows keys of at most %d bytes; a crash test needs %d",
			engine->name, (int)engine->key_size_max, CRASH_KEY_MIN);
	if (args->how > NB_CRASH_POWER || args->file_system > NB_CRASH_POSIX ||
		args->rounds == 0 || args->timeout_ns == 0)
		return error_set(NB_ERR_USAGE,
			"the kind, file system, rounds or timeout of the crash test are invalid");
	if (args->moment > NB_CRASH_COUNTED)
		return error_set(NB_ERR_USAGE, "the kind of moments is unknown");
	if (args->moment == NB_CRASH_COUNTED && args->sessions > 1)
		return error_set(NB_ERR_USAGE,
			"--moment=counted needs one session; the interleaving of several is not reproducible");
	if (args->sessions == 0 || args->sessions > CRASH_SESSIONS_MAX)
		return error_set(NB_ERR_USAGE, "sessions: 1 to %d", CRASH_SESSIONS_MAX);
	if (args->sessions > 1 && (engine->caps & NB_CAP_CONCURRENT) == 0)
		return error_set(NB_ERR_USAGE, "%s allows one session at a time", engine->name);
	return check_directories(args);
}

/** Check the directory for findings before the first round, not at the first finding. */
static int
check_keep(const char *keep)
{
	struct stat st;
	char *above = keep != NULL ? strdup(keep) : NULL;
	if (above == NULL)
		return NB_OK;
	int rc = symlink_check(keep);
	if (rc != NB_OK) {
		/* the error is set */
	} else if (stat(keep, &st) == 0) {
		errno = S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
		if (errno != 0 || access(keep, W_OK | X_OK) != 0)
			rc = error_system("%s: cannot write to the directory", keep);
	} else if (errno != ENOENT || access(dirname(above), W_OK | X_OK) != 0) {
		rc = error_system("%s: cannot create the directory", keep);
	}
	free(above);
	return rc;
}

/** Call `rounds` with a scratch directory, and remove the directory afterwards. */
static int
run_in_scratch(struct crash_run *run, int (*rounds)(struct crash_run *run))
{
	int rc = process_make_scratch(&run->scratch, run->args->scratch, "mininb-crash");
	if (rc != NB_OK)
		return rc;
	run->begin_ns = clock_monotonic();
	json_object_seed(1);
	rc = rounds(run);
	tree_drop(run->scratch);
	free(run->scratch);
	return rc;
}

static int
start_run(struct crash_run *run, struct nb_crash_tally *out, const struct nb_crash_args *args)
{
	*run = (struct crash_run){.args = args,
		.tally = out,
		.subject = {.engine = args->engine,
			.options = args->options,
			.durability = args->durability,
			.how = args->how,
			.timeout_ns = args->timeout_ns}};
	return tally_create(out);
}

int
nb_crash(struct nb_crash_tally *out, const struct nb_crash_args *args)
{
	struct crash_run run;
	int rc = start_run(&run, out, args);
	if (rc == NB_OK)
		rc = check_args(args);
	if (rc == NB_OK)
		rc = check_keep(args->keep);
	if (rc == NB_OK)
		rc = run_in_scratch(
			&run, args->how == NB_CRASH_KILL ? crash_run_kills : crash_run_power);
	return rc;
}

int
nb_crash_again(struct nb_crash_tally *out, const struct nb_crash_args *args, const char *kept)
{
	struct crash_run run;
	struct nb_crash_args own = *args;
	own.keep = NULL; /* it is already kept */
	int rc = start_run(&run, out, &own);
	if (rc == NB_OK) {
		run.again = kept;
		rc = run_in_scratch(&run, crash_run_again);
	}
	return rc;
}
