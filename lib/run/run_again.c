/* SPDX-License-Identifier: BSD-2-Clause */
/* A part that visits the puts of another part: how many keys there are, and which. */
#include <stdlib.h>

#include "base/error.h"
#include "base/rng.h"
#include "run/run.h"

static struct ops_turns
turns_of(const struct job_plan *plan)
{
	return (struct ops_turns){plan->threads, plan->before, plan->of_all};
}

/** List the operations that each thread did, for threads that take strata in turn. */
static int
list_turns(struct nb_run *run, struct job_part *part)
{
	const struct job_part *of = part->again_of;
	uint32_t threads = of->plan.threads;
	uint64_t *before = calloc(2 * (size_t)threads, sizeof(*before)), *done;
	if (before == NULL)
		return error_memory();
	part->again.before = part->again_before = before;
	part->again.done = done = before + threads;
	for (uint32_t t = 0; t < threads; t++) {
		done[t] = of->measured.threads[t].done;
		if (t == 0)
			continue;
		before[t] = before[t - 1] + done[t - 1];
		run->digest = splitmix64_mix(run->digest) ^ before[t];
	}
	part->again.did = turns_of(&of->plan);
	return NB_OK;
}

/**
 * The number of the operation before which these threads have `count` operations, if threads take
 * strata in turn.
 */
static uint64_t
end_of_turns(const struct job_plan *plan, uint64_t count)
{
	uint64_t round = (uint64_t)plan->threads * OPS_STRATUM, rest = count % round;
	uint64_t whole = count / round * plan->of_all * OPS_STRATUM;
	return whole + (rest > 0 ? (uint64_t)plan->before * OPS_STRATUM + rest : 0);
}

int
run_begin_again(struct nb_run *run, struct job_part *part)
{
	const struct job_part *of = part->again_of;
	const struct job_plan *plan = &of->plan;
	uint64_t asked = part->group->count, count = of->measured.done;
	bool is_whole = count == job_own_count(plan), has_shares = job_has_shares(plan);
	if (count == 0 || (has_shares && !is_whole))
		return error_set(NB_FAIL, "%s: again: %s has put %s", part->group->name,
			of->group->name, count == 0 ? "nothing" : "less than its count");
	part->again = (struct ops_again){.of = &of->spec,
		.count = count,
		.bits = ops_again_bits(count),
		.visit = turns_of(&part->plan),
		.first = has_shares ? job_share_begin(plan, plan->before) : 0};
	uint64_t end = end_of_turns(&part->plan, count);
	part->spec.end = part->plan.count = asked > 0 ? asked : end;
	run->digest = splitmix64_mix(run->digest) ^ count;
	bool are_in_row = of->spec.source == &source_records &&
		(has_shares || (is_whole && plan->threads == plan->of_all));
	return are_in_row ? NB_OK : list_turns(run, part);
}
