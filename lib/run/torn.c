/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Torn reads.
 *
 * All values that one operation puts have the same version, and the version identifies the
 * operation. Assume that two records were read as one snapshot. The first has version i, and
 * operation i puts both atomically. Then the second one must have version i or a later one.
 * Later does not mean "larger", because threads run in parallel. Two cases are certain. The
 * second record has the version of the load, which nothing writes while groups run. Or it has
 * version j, and j also puts the first one atomically. Whichever of i and j came last has
 * replaced the version of the other one in both records.
 *
 * Operations of other groups, and conditional puts, are not judged.
 *
 * If each write of the job only replaces older values, the rule is simpler: a put of i is
 * there, or a newer value is. So a version below i in a record that i puts to is certain.
 */
#include "run/torn.h"

#include "run/steps.h"

static bool
is_read(const struct ops_op *op, uint32_t k)
{
	return op->steps[k].verb == NB_STEP_GET && op->steps[k].answer == NB_OK;
}

/** The other operation of this group that put the value. False: none, or not known. */
static bool
writer_of(const struct job_worker *worker, const struct ops_op *op, uint32_t k, uint64_t *i)
{
	uint64_t version = worker->seen[k];
	return worker->seen_sizes[k] >= 16 && version != 0 &&
		ops_version_index(worker->plan->spec, version,
			value_versions(worker->seen_sizes[k]), op->index, i) &&
		*i != op->index;
}

/**
 * Whether record b lacks operation i's put to it. It was read together with record a, which i
 * put.
 */
static bool
is_torn(const struct job_worker *worker, const struct ops_op *op, uint64_t i, uint32_t a,
	uint32_t b)
{
	const struct ops_spec *spec = worker->plan->spec;
	uint64_t j;
	if (worker->seen_sizes[b] < 16 || worker->seen[a] == worker->seen[b])
		return false;
	if (op->numbers[a] == op->numbers[b])
		return !ops_has_written(op, a) && !ops_has_written(op, b);
	if (spec->is_aged)
		return steps_keep_ages(worker) && worker->seen[b] < worker->seen[a] &&
			ops_puts_at_once(spec, i, op->numbers[b]);
	if (worker->seen[b] == 0)
		return ops_puts_at_once(spec, i, op->numbers[b]);
	return writer_of(worker, op, b, &j) && ops_puts_at_once(spec, i, op->numbers[b]) &&
		ops_puts_at_once(spec, j, op->numbers[a]);
}

/** Whether the operation put record k before it read it, and read another value. */
static bool
misses_own(const struct job_worker *worker, const struct ops_op *op, uint32_t k)
{
	uint64_t own = ops_version(worker->plan->spec, op->index);
	uint32_t size = worker->seen_sizes[k];
	bool has_put = false;
	for (uint32_t j = 0; j < k; j++) {
		const struct nb_step *step = &op->steps[j];
		if (op->numbers[j] == op->numbers[k] && step->answer == NB_OK)
			has_put = (KIND_CHANGES >> step->verb & 1) != 0
				? (KIND_PUTS >> step->verb & 1) != 0
				: has_put;
	}
	return has_put && size >= 16 && worker->seen[k] != value_version_in(own, size);
}

void
torn_judge(struct job_worker *worker, const struct ops_op *op)
{
	uint64_t i;
	for (uint32_t a = 0; a < op->items; a++) {
		if (is_read(op, a) && misses_own(worker, op, a)) {
			job_verify_note(worker, op, a, JOB_STALE, worker->seen[a],
				ops_version(worker->plan->spec, op->index));
			return;
		}
		if (!is_read(op, a) || !writer_of(worker, op, a, &i) ||
			!ops_puts_at_once(worker->plan->spec, i, op->numbers[a]))
			continue;
		for (uint32_t b = 0; b < op->items; b++) {
			if (!is_read(op, b) || !is_torn(worker, op, i, a, b))
				continue;
			job_verify_note(
				worker, op, b, JOB_TORN, worker->seen[b], worker->seen[a]);
			return;
		}
	}
}
