/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Verification: the possible contents of a key, compared with the data that was read.
 *
 * A value contains its key, its checksum and its version. The version identifies the operation
 * that wrote it. So verification asks three questions of each value:
 *   - Is it complete, and of this key? (value_check)
 *   - If an operation of this group wrote it: does that operation write to this record, and has
 *     it begun? If not, another run wrote the value: good, and counted as foreign. Records that
 *     a scan returns and that this run does not have are foreign, too, if their values match. A
 *     longer run has inserted them.
 *   - Has this thread written to the record since? Its last write to each record is remembered
 *     in a table of plan->own_places. The number of a record determines its slot, and a newer
 *     write replaces an older one. With fewer slots than records, some writes are forgotten and
 *     not verified. An older version of this thread's own, or of the load, is stale. A version
 *     of another thread may be older or newer, because the two threads ran at the same time.
 *
 * In a scan, the keys ascend. The first key is the requested one, because that record exists.
 * Each key belongs to a record, if that can be determined, and its value is of that key. If the
 * order of keys is that of their numbers, no record is omitted. If records are deleted, a
 * missing record is not a finding.
 *
 * The records of a trace are not those of the job, and all operations on a key are on one
 * thread. If another operation of the group wrote a value, that operation must have begun. Of a
 * scan, only the order is known. The last operation on a key determines whether it must exist,
 * even with deletes, unless another trace follows.
 *
 * Verification is not timed. A second run with the same job and seed on the same database would
 * confuse it: its versions equal those of the first run. A value of a later operation of the
 * first run then seems to be of one that has not begun. So this is not a finding, but foreign.
 */
#include <string.h>

#include "run/steps.h"
#include "run/worker.h"

const char *
job_verdict_name(int verdict)
{
	static const char *const names[JOB_VERDICTS] = {
		[JOB_GOOD] = "good",
		[JOB_MISSING] = "missing",
		[JOB_WRONG_SIZE] = "wrong size",
		[JOB_OTHER_KEY] = "value of another key",
		[JOB_CORRUPT] = "corrupt",
		[JOB_STALE] = "stale",
		[JOB_UNORDERED] = "scan out of order",
		[JOB_GAP] = "scan left out a record",
		[JOB_PHANTOM] = "scan found a key of no record",
		[JOB_EXISTS] = "insert found the new record there",
		[JOB_TORN] = "torn",
		[JOB_WRONG_SUM] = "wrong sum",
		[JOB_LOST_UPDATE] = "lost update",
		[JOB_WRITE_SKEW] = "write skew",
	};
	return verdict >= 0 && verdict < JOB_VERDICTS ? names[verdict] : "?";
}

int
job_verdict_of(int value_verdict)
{
	static const int verdicts[VALUE_VERDICTS] = {[VALUE_GOOD] = JOB_GOOD,
		[VALUE_WRONG_SIZE] = JOB_WRONG_SIZE,
		[VALUE_OF_OTHER_KEY] = JOB_OTHER_KEY,
		[VALUE_CORRUPT] = JOB_CORRUPT,
		[VALUE_STALE] = JOB_STALE};
	return verdicts[value_verdict];
}

static __attribute__((noinline)) void
note(struct job_worker *worker, const struct ops_op *op, struct nb_slice key, int verdict,
	uint64_t version, uint64_t expected)
{
	struct job_findings *findings = &worker->findings;
	findings->verdicts[verdict]++;
	if (verdict == JOB_GOOD || findings->case_count == JOB_CASES)
		return;
	struct job_case *kept = &findings->cases[findings->case_count++];
	*kept = (struct job_case){.op = op->index,
		.kind = op->kind,
		.verdict = (uint32_t)verdict,
		.version = version,
		.expected = expected,
		.key_size = (uint32_t)key.size};
	memcpy(kept->key, key.data, key.size < JOB_CASE_BYTES ? key.size : JOB_CASE_BYTES);
}

/** Whether this worker executes operation i, which writes to a record of this worker. */
static bool
is_own(const struct job_worker *worker, uint64_t i)
{
	if (worker->plan->feed != NULL)
		return true;
	if (job_has_shares(worker->plan))
		return i >= job_share_begin(worker->plan, job_nth(worker)) &&
			i < job_share_begin(worker->plan, job_nth(worker) + 1);
	return i / OPS_STRATUM % worker->plan->of_all == job_nth(worker);
}

/**
 * Whether versions have wrapped around, so that one may belong to two operations. `versions` is
 * value_versions() of the verified values.
 */
static bool
have_versions_wrapped(const struct ops_spec *spec, uint64_t versions, uint64_t index)
{
	return index >= versions / 2 / spec->streams;
}

uint64_t
job_horizon(const struct ops_spec *spec, uint64_t versions, uint64_t index)
{
	uint64_t reach = versions / 4 / spec->streams;
	return index > reach ? index - reach : 0;
}

/** Whether two records can have the same key. */
static bool
may_share_keys(const struct ops_spec *spec)
{
	return spec->keys->format == NB_KEY_FILE || spec->keys->order == NB_ORDER_YCSB;
}

/** is_stale() while writes of this thread to the record are in flight. */
static bool
is_stale_in_doubt(const struct job_worker *worker, bool is_loaded, bool is_of_group,
	uint64_t writer, uint64_t oldest)
{
	const struct job_doubt *doubt = worker->doubt;
	if (is_loaded || doubt->settled == 0)
		return doubt->settled > 0;
	return is_of_group && is_own(worker, writer) && !doubt->is_reordered &&
		!may_share_keys(worker->plan->spec) && writer + 1 < doubt->settled &&
		doubt->settled > oldest;
}

/**
 * Whether a good value is too old. Sets *is_foreign if neither this run nor the load wrote it.
 */
static bool
is_stale(const struct job_worker *worker, const struct ops_op *op, uint64_t number,
	struct nb_slice value, bool *is_foreign)
{
	const struct ops_spec *spec = worker->plan->spec;
	const struct job_own *own = job_own_of(worker, number);
	uint64_t writer = 0, version = value_version(value);
	uint64_t versions = value_versions(value.size);
	bool has_own = own->number == number + 1;
	uint64_t last = value_version_in(ops_version(spec, job_own_index(own)), value.size);
	bool is_of_group = ops_version_index(spec, version, versions, op->index, &writer);
	*is_foreign = false;
	if (worker->doubt != NULL)
		return is_stale_in_doubt(worker, version == 0, is_of_group, writer,
			job_horizon(spec, versions, op->index));
	if (version == last && has_own && job_own_kind(own) != NB_OP_DELETE)
		return false;
	/* whichever thread wrote the newer value */
	if (spec->is_aged && steps_keep_ages(worker))
		return has_own && job_own_kind(own) != NB_OP_DELETE && version < last;
	if (spec->is_load)
		return version != 0; /* the load has put all records anew */
	if (version == 0)
		return has_own; /* nobody loads during the group's operations */
	if (!is_of_group)
		return false; /* of another group, or from before the run */
	bool is_mine = is_own(worker, writer);
	bool is_of_trace = worker->plan->feed != NULL;
	bool is_of_other = !is_of_trace && !ops_writes(spec, writer, number);
	/* of another record with the same key: this thread has put that record since */
	if (is_mine && is_of_other && may_share_keys(spec))
		return false;
	if (is_mine && has_own) /* the last own write would have had an equal version */
		return job_own_index(own) >= job_horizon(spec, versions, op->index);
	*is_foreign = !spec->is_array && (is_of_other || (is_mine && writer > op->index)) &&
		!have_versions_wrapped(spec, versions, op->index);
	return false;
}

/** Whether a record that was loaded or put may be missing. */
static bool
has_deletes(const struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	return plan->has_deletes ||
		(plan->feed != NULL &&
			__atomic_load_n(&plan->gate->has_deletes, __ATOMIC_RELAXED) != 0);
}

static bool
may_miss(const struct job_worker *worker)
{
	return worker->plan->may_miss || has_deletes(worker);
}

/** Version of this thread's last put to the record; 0: none, or deleted since. */
static uint64_t
expected_version(const struct job_worker *worker, uint64_t number)
{
	const struct job_own *own = job_own_of(worker, number);
	bool is_put = own->number == number + 1 && job_own_kind(own) != NB_OP_DELETE;
	return is_put ? ops_version(worker->plan->spec, job_own_index(own)) : 0;
}

static int
verdict_of(const struct job_worker *worker, struct nb_slice key, struct nb_slice value)
{
	const struct sizes *sizes = worker->plan->spec->sizes;
	if (worker->plan->are_values_keys) {
		if (value.size != key.size)
			return JOB_WRONG_SIZE;
		return memcmp(value.data, key.data, key.size) == 0 ? JOB_GOOD : JOB_CORRUPT;
	}
	if (value.size < sizes->min || value.size > sizes->max)
		return JOB_WRONG_SIZE;
	if (worker->plan->are_counters)
		return JOB_GOOD;
	return job_verdict_of(value_check_any(ops_value_body(worker->plan->spec, value), key));
}

/** Whether the age in a value equals its version, or values have no age. */
static bool
has_right_age(const struct ops_spec *spec, struct nb_slice value)
{
	uint64_t age = 0;
	if (spec->value_head == 0)
		return true;
	memcpy(&age, value.data, sizeof(age));
	return age == value_version(ops_value_body(spec, value));
}

/** Verify a value. is_known: `number` is known. It may be unknown for a record of a scan. */
static void
verify(struct job_worker *worker, const struct ops_op *op, struct nb_slice key,
	struct nb_slice value, uint64_t number, bool is_known)
{
	const struct ops_spec *spec = worker->plan->spec;
	int verdict = verdict_of(worker, key, value);
	uint64_t version = 0, expected = 0;
	bool is_foreign = false;
	/* the values of a load are known to the byte, unless sizes are random */
	bool is_exact = spec->is_load && op->values != NULL && value.size == op->values[0].size;
	if (verdict == JOB_GOOD && is_exact &&
		memcmp(value.data, op->values[0].data, value.size) != 0)
		verdict = JOB_STALE;
	if (verdict == JOB_GOOD && !has_right_age(spec, value))
		verdict = JOB_CORRUPT;
	value = ops_value_body(spec, value);
	if (verdict == JOB_GOOD && is_known && value.size >= 16 &&
		!worker->plan->are_values_keys) {
		version = value_version(value);
		if (is_stale(worker, op, number, value, &is_foreign)) {
			verdict = JOB_STALE;
			expected = expected_version(worker, number);
		}
	}
	worker->findings.verified++;
	worker->findings.foreign += is_foreign;
	note(worker, op, key, verdict, version, expected);
}

void
job_verify_note(struct job_worker *worker, const struct ops_op *op, uint32_t item, int verdict,
	uint64_t is, uint64_t expected)
{
	note(worker, op, op->keys[item], verdict, is, expected);
}

void
job_verify_value(struct job_worker *worker, const struct ops_op *op, uint32_t item,
	struct nb_slice value)
{
	if (op->expects == OPS_ABSENT && !worker->plan->is_lenient) {
		worker->findings.verified++;
		note(worker, op, op->keys[item], JOB_STALE, value_version(value), 0);
		return;
	}
	/* else the last write is the operation's own, or a later one of another thread */
	bool is_known = op->steps == NULL || !ops_has_written(op, item);
	verify(worker, op, op->keys[item], value, op->numbers[item], is_known);
}

void
job_verify_miss(struct job_worker *worker, const struct ops_op *op, uint32_t item)
{
	uint64_t number = op->numbers[item];
	const struct job_own *own = job_own_of(worker, number);
	bool is_known = op->expects != OPS_BY_PLAN && !worker->plan->is_lenient;
	if (is_known && op->expects != OPS_PRESENT) {
		worker->findings.verified += op->expects == OPS_ABSENT;
		worker->findings.verdicts[JOB_GOOD] += op->expects == OPS_ABSENT;
		return;
	}
	bool is_own_write = worker->doubt != NULL
		? worker->doubt->has_put
		: own->number == number + 1 && job_own_kind(own) != NB_OP_DELETE;
	bool may_be_deleted = has_deletes(worker) && !worker->plan->is_alone;
	if (!is_known && may_miss(worker) && (!is_own_write || may_be_deleted))
		return;
	worker->findings.verified++;
	note(worker, op, op->keys[item], JOB_MISSING, 0, expected_version(worker, number));
}

void
job_verify_exists(struct job_worker *worker, const struct ops_op *op)
{
	const struct job_plan *plan = worker->plan;
	if (plan->may_exist || plan->feed != NULL || may_share_keys(plan->spec) ||
		plan->verify_threshold == 0)
		return;
	worker->findings.verified++;
	note(worker, op, op->keys[0], JOB_EXISTS, 0, 0);
}

/* ---- scans ---- */

/**
 * Whether keys continue in the direction of the scan, by memcmp(), as far as the last key was
 * kept.
 */
static bool
goes_on(const struct job_scan_check *check, struct nb_slice key, bool is_backward)
{
	size_t kept = check->last_size < sizeof(check->last) ? check->last_size
							     : sizeof(check->last);
	size_t both = kept < key.size ? kept : key.size;
	int order = memcmp(check->last, key.data, both);
	if (is_backward)
		return order > 0 || (order == 0 && key.size < check->last_size);
	return order < 0 || (order == 0 && (key.size > kept || kept < check->last_size));
}

static void
keep_last(struct job_scan_check *check, struct nb_slice key)
{
	check->last_size = key.size;
	memcpy(check->last, key.data,
		key.size < sizeof(check->last) ? key.size : sizeof(check->last));
	check->seen++;
}

static bool
are_equal(struct nb_slice one, struct nb_slice other)
{
	return one.size == other.size && memcmp(one.data, other.data, one.size) == 0;
}

/** Whether the source knows records that exist whatever other threads delete. */
static bool
knows_records(const struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	return plan->spec->source->has_between != NULL && !plan->is_lenient;
}

/** Whether some record in [from, to) certainly exists. */
static bool
are_there(const struct job_worker *worker, uint64_t from, uint64_t to)
{
	const struct ops_spec *spec = worker->plan->spec;
	if (knows_records(worker))
		return from < to && spec->source->has_between(spec, from, to);
	return !may_miss(worker) && from < to && to <= worker->plan->spec->job->records;
}

/** Whether another run has the record: its value is complete, and is of this key. */
static bool
is_elsewhere(const struct ops_spec *spec, struct nb_slice key, struct nb_slice value)
{
	value = ops_value_body(spec, value);
	return value.size >= 16 && value_check_any(value, key) == VALUE_GOOD;
}

/**
 * Whether a scan covers all keys with a prefix. In a graph it does: the edges of one object.
 */
static bool
is_of_prefix(const struct ops_spec *spec)
{
	return spec->group->source == NB_SOURCE_TAO;
}

/** Whether the scan may return this key: as its first one, or with the scan's prefix. */
static bool
is_wanted(const struct ops_spec *spec, struct nb_slice key, struct nb_slice from)
{
	if (is_of_prefix(spec) && key.size > from.size)
		key.size = from.size;
	return are_equal(key, from);
}

/** The finding about the position of this key in the scan; JOB_GOOD: none. */
static int
place_of(struct job_worker *worker, const struct ops_op *op, struct job_scan_check *check,
	struct nb_slice key, struct nb_slice value, bool *is_known, uint64_t *number)
{
	const struct ops_spec *spec = worker->plan->spec;
	bool is_backward = spec->group->is_scan_backward != 0;
	if (check->seen > 0 && !goes_on(check, key, is_backward))
		return JOB_UNORDERED;
	if (worker->plan->feed != NULL)
		return JOB_GOOD; /* the existing keys of a trace are not known */
	*is_known = keyspace_number(spec->keys, key, number);
	if (spec->keys->is_reversible && !*is_known &&
		(spec->group->is_scan_keys_only == 0 && !is_elsewhere(spec, key, value)))
		return JOB_PHANTOM;
	bool has_first = op->expects == OPS_PRESENT && knows_records(worker);
	if ((check->seen == 0 || is_of_prefix(spec)) && (!may_miss(worker) || has_first) &&
		!is_wanted(spec, key, op->keys[0]))
		return JOB_GAP;
	bool has_gap = check->has_number && spec->keys->is_ordered && *is_known &&
		(is_backward ? are_there(worker, *number + 1, check->last_number)
			     : are_there(worker, check->last_number + 1, *number));
	check->has_number = *is_known;
	check->last_number = *number;
	return has_gap ? JOB_GAP : JOB_GOOD;
}

/** Whether each key shows whether a record has it. */
static bool
is_of_job(const struct job_worker *worker)
{
	return worker->plan->feed == NULL && worker->plan->spec->keys->is_reversible;
}

void
job_verify_scanned(struct job_worker *worker, const struct ops_op *op,
	struct job_scan_check *check, struct nb_slice key, struct nb_slice value)
{
	uint64_t number = 0;
	bool is_known = false;
	int wrong = place_of(worker, op, check, key, value, &is_known, &number);
	keep_last(check, key);
	if (wrong == JOB_GOOD && !is_known && is_of_job(worker)) {
		worker->findings.verified++;
		worker->findings.foreign++;
		note(worker, op, key, JOB_GOOD, 0, 0);
		return;
	}
	if (wrong == JOB_GOOD && worker->plan->spec->group->is_scan_keys_only == 0) {
		verify(worker, op, key, value, number, is_known);
		return;
	}
	worker->findings.verified++;
	note(worker, op, key, wrong, 0, 0);
}

void
job_verify_scan_end(struct job_worker *worker, const struct ops_op *op,
	const struct job_scan_check *check, bool is_exhausted)
{
	const struct ops_spec *spec = worker->plan->spec;
	uint64_t end = knows_records(worker) ? UINT64_MAX : spec->job->records;
	if (!is_exhausted || (may_miss(worker) && !knows_records(worker)) ||
		worker->plan->feed != NULL)
		return;
	/* the first record exists; in a scan of a prefix, all do */
	bool is_gap = check->seen == 0 || is_of_prefix(spec);
	if (spec->keys->is_ordered && check->has_number)
		is_gap = spec->group->is_scan_backward != 0
			? are_there(worker, 0, check->last_number)
			: are_there(worker, check->last_number + 1, end);
	if (!is_gap)
		return;
	worker->findings.verified++;
	note(worker, op, op->keys[0], JOB_GAP, 0, 0);
}
