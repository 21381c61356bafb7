/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run's database and the page cache: out of it before it is opened, if that was asked for,
 * and in any case how much of it is there at the moments that matter. All of that is outside
 * of what is timed.
 *
 * The look after opening tells an engine that reads everything when it opens from one that
 * does not: the first is warm when its first operation begins, however cold its files were.
 */
#include "base/process.h"
#include "run/run.h"

bool
run_is_kept(const struct nb_run *run)
{
	return (run->engine->table.caps & NB_CAP_PERSISTENT) != 0;
}

static int
cool(struct nb_run *run, uint32_t *how)
{
	if ((run->options.flags & NB_RUN_COLD) == 0)
		return NB_OK;
	run_begin_phase(run, "cool");
	run_tell(run, 0, 0);
	return residency_make_cold(run->path, how);
}

int
run_cool_database(struct nb_run *run)
{
	struct measurement *measured = &run->measured;
	if (!run_is_kept(run))
		return NB_OK;
	if (!measured->had_data) /* nothing to evict yet, but to read back later */
		return (run->options.flags & NB_RUN_COLD) != 0
			? residency_can_be_cold(run->path)
			: NB_OK;
	int rc = cool(run, &measured->cold);
	if (rc != NB_OK)
		return rc;
	residency_look(&measured->residency_before, run->path);
	return NB_OK;
}

int
run_cool_again(struct nb_run *run)
{
	uint32_t how = 0;
	return cool(run, &how);
}

void
run_look_begin(struct nb_run *run)
{
	process_return_to_directory(); /* a session may have left it when it was opened */
	if (run_is_kept(run) && !run->measured.has_begun)
		residency_look(&run->measured.residency_begin, run->path);
}

void
run_look_after(struct nb_run *run)
{
	if (run_is_kept(run))
		residency_look(&run->measured.residency_after, run->path);
}
