/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a key can hold, and whether that is what was read.
 *
 * A value tells its key, its checksum and its version, and the version tells the operation
 * that wrote it. So of any value that is read it can be asked:
 *   - is it whole, and of this key? (value_check)
 *   - if its operation is one of this group's: does that one write to this record, and was
 *     it begun by now? If it does not, another run wrote it: good, and counted apart. So
 *     are records that a scan meets and this run has none of, if their values are theirs:
 *     a longer run has inserted more.
 *   - has this thread written to the record since? Its last write to each record is
 *     remembered in a table of plan->own_places, in which a record's number is its place and
 *     a newer write replaces an older one: with fewer places than records some are forgotten,
 *     and nothing is asked of these. A version of this thread's own that is older, or the
 *     loading's, is stale. One of another thread's may be older or newer; nobody can tell,
 *     since the two ran at the same time.
 *
 * Of a scan: its keys ascend; the first is the one it was to begin with, as that record is
 * there; each is a record's key, where that can be told, and its value is that key's;
 * where keys are in the order of their numbers, none is left out. Where records are
 * deleted, a missing record is not a finding.
 *
 * The records of a trace are not those of the job, and each key's operations are all of
 * one thread: of a value that another operation of the group wrote, that one had to be
 * begun by now, and of a scan, only the order is known. So a key's last operation tells
 * whether it must be there, also where others are deleted, unless another trace comes after.
 *
 * None of this is timed. What would make it wrong: a second run with the same job and seed
 * on the same database, whose versions are those of the first; a value of that one's later
 * operations is then taken for one that was not begun. So that is not a finding, but foreign.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/backoff.h"
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

/** Whether operation i, of a record that this worker goes to, is one of its own. */
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
 * Whether versions were used again by now, so that one may be another operation's, too.
 * `versions` is value_versions() of the values that are looked at.
 */
static bool
have_versions_wrapped(const struct ops_spec *spec, uint64_t versions, uint64_t index)
{
	return index >= versions / 2 / spec->streams;
}

/** The operation before which one may have written a version that was used again by now. */
static uint64_t
horizon(const struct ops_spec *spec, uint64_t versions, uint64_t index)
{
	uint64_t reach = versions / 4 / spec->streams;
	return index > reach ? index - reach : 0;
}

/** Whether two records can have one key. */
static bool
may_share_keys(const struct ops_spec *spec)
{
	return spec->keys->format == NB_KEY_FILE || spec->keys->order == NB_ORDER_YCSB;
}

/** The same while writes of this thread to the record are in flight. */
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
 * Of a good value: whether it is too old. Sets *is_foreign where this run did not write it,
 * nor the loading.
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
			horizon(spec, versions, op->index));
	if (version == last && has_own && job_own_kind(own) != NB_OP_DELETE)
		return false;
	if (spec->is_aged && steps_keep_ages(worker)) /* whoever wrote the newer value */
		return has_own && job_own_kind(own) != NB_OP_DELETE && version < last;
	if (spec->is_load)
		return version != 0; /* it has put all records anew */
	if (version == 0)
		return has_own; /* nobody loads while the group runs */
	if (!is_of_group)
		return false; /* of another group, or from before */
	bool is_mine = is_own(worker, writer);
	bool is_of_trace = worker->plan->feed != NULL;
	bool is_of_other = !is_of_trace && !ops_writes(spec, writer, number);
	/* another record of the same key: this thread has put that one since */
	if (is_mine && is_of_other && may_share_keys(spec))
		return false;
	if (is_mine && has_own) /* its last one would have been equal */
		return job_own_index(own) >= horizon(spec, versions, op->index);
	*is_foreign = !spec->is_array && (is_of_other || (is_mine && writer > op->index)) &&
		!have_versions_wrapped(spec, versions, op->index);
	return false;
}

/** Whether a record that was loaded or put may not be there. */
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

/** Of the value that this thread put there last; 0: it did not, or has deleted it since. */
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
	static const int verdicts[VALUE_VERDICTS] = {[VALUE_GOOD] = JOB_GOOD,
		[VALUE_WRONG_SIZE] = JOB_WRONG_SIZE,
		[VALUE_OF_OTHER_KEY] = JOB_OTHER_KEY,
		[VALUE_CORRUPT] = JOB_CORRUPT,
		[VALUE_STALE] = JOB_STALE};
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
	return verdicts[value_check_any(ops_value_body(worker->plan->spec, value), key)];
}

/** Whether a value has the age of its version, or has none. */
static bool
has_right_age(const struct ops_spec *spec, struct nb_slice value)
{
	uint64_t age = 0;
	if (spec->value_head == 0)
		return true;
	memcpy(&age, value.data, sizeof(age));
	return age == value_version(ops_value_body(spec, value));
}

/** `number` is not known of a record that a scan came by; then is_known is false. */
static void
verify(struct job_worker *worker, const struct ops_op *op, struct nb_slice key,
	struct nb_slice value, uint64_t number, bool is_known)
{
	const struct ops_spec *spec = worker->plan->spec;
	int verdict = verdict_of(worker, key, value);
	uint64_t version = 0, expected = 0;
	bool is_foreign = false;
	/* of a loading it is known to the byte what it put, if sizes are not drawn */
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
	/* this thread's last write to it is then the operation's own, or another thread's since */
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

/** By memcmp(), as far as the last key was kept: whether keys go on in the scan's direction. */
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

/** Whether the source knows records that are there whatever other threads delete. */
static bool
knows_records(const struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	return plan->spec->source->has_between != NULL && !plan->is_lenient;
}

/** Whether some record from `from` up to, without, `to` is there for certain. */
static bool
are_there(const struct job_worker *worker, uint64_t from, uint64_t to)
{
	const struct ops_spec *spec = worker->plan->spec;
	if (knows_records(worker))
		return from < to && spec->source->has_between(spec, from, to);
	return !may_miss(worker) && from < to && to <= worker->plan->spec->job->records;
}

/** Whether that is a record of another run: its value is whole, and tells that very key. */
static bool
is_elsewhere(const struct ops_spec *spec, struct nb_slice key, struct nb_slice value)
{
	value = ops_value_body(spec, value);
	return value.size >= 16 && value_check_any(value, key) == VALUE_GOOD;
}

/** Whether a scan is of all keys with a prefix, as those of a graph are: of one object's edges. */
static bool
is_of_prefix(const struct ops_spec *spec)
{
	return spec->group->source == NB_SOURCE_TAO;
}

/** Whether a scan from there may have that key: as its first one, or if it is of a prefix. */
static bool
is_wanted(const struct ops_spec *spec, struct nb_slice key, struct nb_slice from)
{
	if (is_of_prefix(spec) && key.size > from.size)
		key.size = from.size;
	return are_equal(key, from);
}

/** What is wrong with the place of this key in the scan; JOB_GOOD if nothing is. */
static int
place_of(struct job_worker *worker, const struct ops_op *op, struct job_scan_check *check,
	struct nb_slice key, struct nb_slice value, bool *is_known, uint64_t *number)
{
	const struct ops_spec *spec = worker->plan->spec;
	bool is_backward = spec->group->is_scan_backward != 0;
	if (check->seen > 0 && !goes_on(check, key, is_backward))
		return JOB_UNORDERED;
	if (worker->plan->feed != NULL)
		return JOB_GOOD; /* of a trace it is not known which keys there are */
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

/** Whether it can be told of each key whether it is a record's. */
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
	/* its first record is there; of a prefix, all are */
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

/* ---- reading back ---- */

/** A record that was deleted last. */
static void
note_deleted(struct job_worker *worker, const struct ops_op *op, int verdict)
{
	worker->findings.verified++;
	note(worker, op, op->keys[0], verdict, 0, 0);
}

/**
 * One record that this worker has written last, or that it has deleted: then it may be
 * there only if another thread has put it since.
 */
static int
read_back(struct job_worker *worker, const struct ops_op *op, bool is_deleted)
{
	worker->looked_at = op;
	heartbeat_enter(&worker->heartbeat, "reading back");
	const struct nb_engine *engine = worker->plan->engine;
	struct nb_slice value = {NULL, 0};
	struct backoff backoff = {.limit_ns = worker->plan->conflict_ns};
	int rc;
	do
		rc = engine->get(worker->session, op->keys[0], &value);
	while (rc == NB_CONFLICT && backoff_wait(&backoff, worker->plan->halt));
	heartbeat_leave(&worker->heartbeat);
	uint64_t before = worker->findings.verified;
	if (rc == NB_OK && is_deleted && worker->plan->is_alone)
		note_deleted(worker, op, JOB_STALE);
	else if (rc == NB_OK)
		job_verify_value(worker, op, 0, value);
	else if (rc == NB_NOT_FOUND && is_deleted)
		note_deleted(worker, op, JOB_GOOD);
	else if (rc == NB_NOT_FOUND)
		job_verify_miss(worker, op, 0);
	worker->findings.read_back += worker->findings.verified - before;
	if (rc == NB_OK && engine->release != NULL)
		engine->release(worker->session);
	if (rc == NB_CONFLICT && !is_halted(worker))
		rc = backoff_fail(&backoff);
	else if (rc > NB_CONFLICT)
		rc = error_set(NB_FAIL, "answered %d, which means nothing here", rc);
	if (rc >= 0)
		return NB_OK;
	snprintf(worker->text, sizeof(worker->text), "%s: reading back, operation %llu: %s",
		engine->name, (unsigned long long)op->index,
		nb_error_text()[0] != '\0' ? nb_error_text() : "failed without saying why");
	return worker->rc = rc;
}

/** The sampled ones of operations [first, end): of one stratum, or of a share. */
static int
read_back_some(struct job_worker *worker, uint64_t first, uint64_t end)
{
	const struct job_plan *plan = worker->plan;
	bool is_deleted = plan->spec->one_kind == NB_OP_DELETE, is_wanted = false;
	uint32_t made;
	int rc = NB_OK;
	for (uint64_t i = first; i < end; i++)
		is_wanted |= is_sampled(i, plan->verify_threshold);
	if (!is_wanted)
		return NB_OK;
	if (job_has_shares(plan))
		ops_begin_at(&worker->maker, first, end);
	else
		ops_begin(&worker->maker, first / OPS_STRATUM);
	while (rc == NB_OK && (made = ops_make(&worker->maker)) > 0) {
		for (uint32_t j = 0; j < made && rc == NB_OK; j++) {
			const struct ops_op *op = &worker->maker.ops[j];
			/* a stop, too: of keys that were lost when they were read from their file */
			if (is_halted(worker) || stop_requested())
				return NB_OK;
			if (op->index < end && is_sampled(op->index, plan->verify_threshold))
				rc = read_back(worker, op, is_deleted);
		}
	}
	return rc;
}

static int
read_back_listed(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	bool has_share = job_has_shares(plan);
	uint64_t first = has_share ? job_share_begin(plan, job_nth(worker))
				   : (uint64_t)job_nth(worker) * OPS_STRATUM;
	uint64_t step = has_share ? OPS_STRATUM : (uint64_t)plan->of_all * OPS_STRATUM;
	int rc = NB_OK;
	for (uint64_t left = worker->done; left > 0 && rc == NB_OK && !is_halted(worker);
		first += step) {
		uint64_t count = left < OPS_STRATUM ? left : OPS_STRATUM;
		rc = read_back_some(worker, first, first + count);
		left -= count;
	}
	return rc;
}

/** The key of a remembered write, into *key; false: it was not kept. */
static bool
remembered_key(
	const struct job_worker *worker, uint32_t place, uint8_t *room, struct nb_slice *key)
{
	uint64_t number = worker->own[place].number - 1;
	if (worker->own_key != NULL)
		*key = (struct nb_slice){
			worker->own_key[place].bytes, worker->own_key[place].size};
	else
		*key = (struct nb_slice){
			room, keyspace_key(worker->plan->spec->keys, number, room)};
	return key->size > 0;
}

/** Which of the remembered writes are read back. */
struct choice {
	uint64_t oldest; /* operation before which versions may have been used again */
	uint64_t since;  /* all from that operation on */
	uint64_t stride; /* of the older ones, one in so many */
};

/** How many remembered writes are by that operation or a later one. */
static uint64_t
count_since(const struct job_worker *worker, uint64_t index)
{
	uint64_t count = 0;
	for (uint32_t place = 0; place < worker->plan->own_places; place++) {
		const struct job_own *own = &worker->own[place];
		count += own->number != 0 && job_own_index(own) >= index;
	}
	return count;
}

/** The last `most` of them, and at most as many of those before. */
static struct choice
choose(const struct job_worker *worker, uint64_t most)
{
	uint64_t newest = 0, from = 0, to;
	for (uint32_t place = 0; place < worker->plan->own_places; place++) {
		uint64_t index = job_own_index(&worker->own[place]);
		newest = index > newest ? index : newest;
	}
	const struct ops_spec *spec = worker->plan->spec;
	uint64_t versions = value_versions((size_t)spec->sizes->min);
	struct choice choice = {.oldest = horizon(spec, versions, newest)};
	for (to = newest + 1; from < to;) {
		uint64_t middle = from + (to - from) / 2;
		if (count_since(worker, middle) <= most)
			to = middle;
		else
			from = middle + 1;
	}
	choice.since = from;
	uint64_t older = count_since(worker, choice.oldest) - count_since(worker, from);
	choice.stride = older / most + 1;
	return choice;
}

static bool
is_chosen(const struct choice *choice, const struct job_own *own, uint64_t *older)
{
	uint64_t index = job_own_index(own);
	if (own->number == 0 || index < choice->oldest)
		return false;
	return index >= choice->since || (*older)++ % choice->stride == 0;
}

static int
read_back_remembered(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	uint8_t *room = malloc(plan->spec->keys->key_size_max);
	if (room == NULL)
		return NB_OK;
	struct choice choice = choose(worker, plan->feed != NULL ? UINT64_MAX : JOB_READ_BACK);
	uint64_t older = 0;
	int rc = NB_OK;
	for (uint32_t place = 0; place < plan->own_places && rc == NB_OK; place++) {
		struct nb_slice key;
		const struct job_own *own = &worker->own[place];
		if (!is_chosen(&choice, own, &older) || is_halted(worker) ||
			!remembered_key(worker, place, room, &key))
			continue;
		uint64_t number = own->number - 1;
		struct ops_op op = {.kind = job_own_kind(own),
			.items = 1,
			.index = job_own_index(own),
			.numbers = &number,
			.keys = &key};
		rc = read_back(worker, &op, op.kind == NB_OP_DELETE);
	}
	free(room);
	return rc;
}

int
job_worker_read_back(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	if (plan->verify_threshold == 0)
		return NB_OK;
	if (job_is_listed(plan))
		return read_back_listed(worker);
	return read_back_remembered(worker);
}
