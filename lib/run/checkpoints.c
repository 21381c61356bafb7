/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checkpoints during the operations. The keeper makes them, one at a time. Their durations are
 * a histogram. Their effect on the operations shows in the operations' own latencies.
 */
#include <stdio.h>

#include "base/error.h"
#include "run/run.h"

static bool
is_asked_for(const struct nb_run *run)
{
	return run->options.checkpoint_every_ns > 0 && run->is_measured;
}

int
checkpoints_check(const struct nb_run *run)
{
	const struct nb_engine *engine = &run->engine->table;
	if (run->options.checkpoint_every_ns == 0)
		return NB_OK;
	if (engine->checkpoint == NULL || (engine->caps & NB_CAP_CONCURRENT) == 0)
		return error_set(NB_UNSUPPORTED,
			"checkpoint-every: %s cannot write a checkpoint while operations run; leave the option out",
			engine->name);
	if (run->options.procs > 1)
		return error_set(NB_ERR_USAGE,
			"checkpoint-every: cannot be used with several processes; use --threads in place of --procs");
	return NB_OK;
}

void
checkpoints_begin(struct nb_run *run)
{
	run->checkpoints.due_ns = clock_monotonic() + run->options.checkpoint_every_ns;
}

static int
write_checkpoint(struct nb_run *run)
{
	return run->engine->table.checkpoint(run->db);
}

static void
note_end(struct nb_run *run, int rc)
{
	struct checkpoints *checkpoints = &run->checkpoints;
	checkpoints->goes_on = false;
	if (rc == NB_OK) {
		nb_histogram_add(run->measured.checkpoints, run->call_ns);
		return;
	}
	if (!run->left.is_left)
		rc = run_engine_failure(run, rc, "checkpoint");
	if (checkpoints->rc == NB_OK)
		snprintf(checkpoints->text, sizeof(checkpoints->text), "%s", nb_error_text());
	checkpoints->rc = checkpoints->rc == NB_OK ? rc : checkpoints->rc;
}

void
checkpoints_tick(struct nb_run *run)
{
	struct checkpoints *checkpoints = &run->checkpoints;
	uint64_t now_ns = clock_monotonic();
	if (!is_asked_for(run) || run->left.is_left || checkpoints->rc != NB_OK)
		return;
	if (checkpoints->goes_on) {
		if (!run_call_goes_on(run))
			note_end(run, run_call_end(run));
		return;
	}
	if (now_ns < checkpoints->due_ns)
		return;
	/*
	 * Counted from its begin, so that a slow checkpoint delays the next one no more than
	 * necessary.
	 */
	checkpoints->due_ns = now_ns + run->options.checkpoint_every_ns;
	int rc = run_call_begin(run, "checkpoint", true, write_checkpoint);
	checkpoints->goes_on = rc == NB_OK;
	if (rc != NB_OK)
		note_end(run, rc);
}

int
checkpoints_end(struct nb_run *run)
{
	struct checkpoints *checkpoints = &run->checkpoints;
	if (checkpoints->goes_on)
		note_end(run, run_call_end(run));
	return checkpoints->rc == NB_OK ? NB_OK
					: error_set(checkpoints->rc, "%s", checkpoints->text);
}
