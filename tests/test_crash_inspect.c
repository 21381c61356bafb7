/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Findings on a database that the test has modified, and on an engine whose verbs contradict
 * each other. The test knows the damage for each key. test_crash_kill.c tests defects of
 * recovery.
 */
#include <signal.h>

#include "check/suite.h"
#include "crash_rig.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

enum { OLD_OPS = 25, OPS = 20, ALL_OPS = OLD_OPS + OPS };

static struct crash_rig_chain chain;
static struct crash_oracle seen;      /* the content found by the last inspection */
static const struct nb_engine *right; /* the engine behind the defects below */
static struct nb_engine wrong;

/** Make a database of two rounds, closed properly. */
void
unit_setup(void)
{
	crash_rig_fresh();
	crash_rig_load("keeper", "defect", "none");
	right = crash_rig_engine();
	wrong = *right;
	crash_rig_begin(&chain, "database");
	crash_rig_round(&chain, OLD_OPS);
	crash_rig_round(&chain, OPS);
	ck_assert_int_eq(crash_oracle_create(&seen, &chain.plan), NB_OK);
}

void
unit_teardown(void)
{
	crash_oracle_destroy(&seen);
	crash_rig_end(&chain);
	crash_rig_unload();
}

/** Inspect the database. The chain's own state stays as before the round. */
static struct crash_report
verify(void)
{
	struct crash_report report;
	crash_oracle_copy(&seen, &chain.state);
	int rc = crash_inspect(&report, &chain.subject, &seen, &chain.moment, chain.path);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
	return report;
}

/** The worst finding is this one; its text contains `part`. */
static void
is_wrong(uint32_t worst, const char *part)
{
	struct crash_report report = verify();
	ck_assert_msg(report.wrongs >> worst & 1 && report.worst == worst, "%s: %s", part,
		report.text);
	ck_assert_msg(strstr(report.text, part) != NULL, "%s: %s", part, report.text);
	ck_assert_uint_eq(report.is_broken, 1);
}

static void
is_right(void)
{
	struct crash_report report = verify();
	ck_assert_msg(report.wrongs == 0, "%s", report.text);
	ck_assert_uint_eq(report.is_broken, 0);
	ck_assert_uint_eq(report.lost, 0);
	ck_assert_uint_eq(report.survived, report.acknowledged);
	ck_assert_uint_gt(report.open_ns, 0);
	ck_assert_uint_gt(report.reopen_ns, 0);
}

static void
state_is_as_after(uint64_t ops)
{
	const struct crash_plan *plan = &chain.plan;
	for (uint32_t s = 0; s < plan->sessions; s++) {
		ck_assert_uint_eq(seen.start[s], ops);
		for (uint32_t key = 0; key < plan->keys; key++)
			ck_assert_uint_eq(seen.last[(size_t)s * plan->keys + key],
				crash_rig_last(plan, s, key, ops));
	}
}

/**
 * A key of session 0 that existed before the last round and that the round has put outside a
 * batch.
 */
static uint32_t
key_that_was_overwritten(void)
{
	for (uint32_t key = 0; key < chain.plan.keys; key++) {
		uint64_t before = crash_rig_last(&chain.plan, 0, key, OLD_OPS);
		uint64_t after = crash_rig_last(&chain.plan, 0, key, ALL_OPS);
		struct crash_op op = {.kind = CRASH_DEL};
		if (after != before && after != 0)
			crash_op_make(&op, &chain.plan, 0, crash_write_op(after));
		if (before != 0 && op.kind == CRASH_PUT &&
			crash_value_size(&chain.plan, 0, before) >= CRASH_VALUE_TELLS)
			return key;
	}
	ck_abort_msg("the key does not exist");
}

static struct nb_slice
name_of(uint32_t session, uint32_t key)
{
	static unsigned char bytes[CRASH_KEY_MAX];
	return (struct nb_slice){
		.data = bytes, .size = crash_key_make(bytes, &chain.plan, session, key)};
}

static struct nb_slice
value_of(uint32_t session, uint64_t write)
{
	static unsigned char bytes[CRASH_VALUE_MAX];
	return (struct nb_slice){
		.data = bytes, .size = crash_value_make(bytes, &chain.plan, session, write)};
}

/* ---- content of the database ---- */

TEST(database_with_all_writes_is_correct)
{
	struct crash_report report = verify();
	ck_assert_msg(report.wrongs == 0, "%s", report.text);
	ck_assert_uint_eq(report.acknowledged, crash_rig_writes(&chain.plan, OLD_OPS, ALL_OPS));
	ck_assert_uint_eq(report.survived, report.acknowledged);
	ck_assert_uint_eq(report.in_flight, 0);
	state_is_as_after(ALL_OPS);
	/*
	 * The inspection has left nothing in the database, and the next round begins where this
	 * one ended.
	 */
	crash_rig_round(&chain, OPS);
	is_right();
	state_is_as_after(ALL_OPS + OPS);
}

TEST(changed_key_is_torn)
{
	static const struct nb_slice other = {.data = "a value of nobody's, long enough",
		.size = sizeof("a value of nobody's, long enough") - 1};
	crash_rig_tamper(&chain, name_of(0, key_that_was_overwritten()), &other);
	is_wrong(NB_CRASH_TORN, " has 32 bytes that match no value put there");
}

TEST(removed_key_is_lost)
{
	char quoted[QUOTE_SIZE];
	struct nb_slice name = name_of(0, key_that_was_overwritten());
	crash_rig_tamper(&chain, name, NULL);
	is_wrong(NB_CRASH_LOST, slice_quote(quoted, name));
}

TEST(earlier_value_is_lost_writes)
{
	uint32_t key = key_that_was_overwritten();
	uint64_t before = crash_rig_last(&chain.plan, 0, key, OLD_OPS);
	struct nb_slice value = value_of(0, before);
	char part[80];
	crash_rig_tamper(&chain, name_of(0, key), &value);
	snprintf(part, sizeof(part), " has %u bytes of operation %u, but operation ",
		(unsigned)value.size, (unsigned)crash_write_op(before));
	is_wrong(NB_CRASH_LOST, part);
}

TEST(added_key_is_a_ghost)
{
	struct nb_slice name = {.data = "nobody's", .size = 8};
	crash_rig_tamper(&chain, name, &name);
	is_wrong(NB_CRASH_GHOST, "a scan gave the key \"nobody's\", which was never put");
}

TEST(value_of_another_key_is_a_ghost)
{
	uint32_t key = key_that_was_overwritten(), other = 0;
	uint64_t write = 0;
	for (; other < chain.plan.keys; other++) {
		write = crash_rig_last(&chain.plan, 1, other, ALL_OPS);
		if (write != 0 && crash_value_size(&chain.plan, 1, write) >= CRASH_VALUE_TELLS)
			break;
	}
	struct nb_slice value = value_of(1, write);
	crash_rig_tamper(&chain, name_of(0, key), &value);
	is_wrong(NB_CRASH_GHOST, " of session 1 put under another key");
}

TEST(level_without_promises_is_not_broken)
{
	chain.subject.durability = NB_DUR_NONE;
	struct nb_slice name = {.data = "nobody's", .size = 8};
	crash_rig_tamper(&chain, name, &name);
	struct crash_report report = verify();
	ck_assert_uint_eq(report.wrongs, 1u << NB_CRASH_GHOST);
	ck_assert_uint_eq(report.is_broken, 0);
}

TEST(database_may_be_missing_before_its_creation)
{
	crash_rig_end(&chain);
	crash_rig_begin(&chain, "empty");
	is_right();
	chain.moment.is_made = 1;
	crash_rig_end(&chain);
	crash_rig_begin(&chain, "emptied");
	chain.moment.is_made = 1;
	is_wrong(NB_CRASH_NOT_OPENED, "open answered NB_FAIL (there is no log)");
}

/* ---- verbs that contradict each other ---- */

static uint32_t calls; /* calls of the defective verb in the inspecting process */

static int
scan_next_twice(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	static struct nb_slice first_key, first_value;
	if (calls++ == 1) {
		*key = first_key;
		*value = first_value;
		return NB_OK;
	}
	int rc = right->scan_next(session, key, value);
	first_key = *key;
	first_value = *value;
	return rc;
}

static int
scan_next_cut(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	int rc = right->scan_next(session, key, value);
	if (rc == NB_OK && calls++ == 3)
		value->size++; /* a readable byte follows each value */
	return rc;
}

/** Returns a deleted key at the end of the scan. */
static int
scan_next_deleted(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	int rc = right->scan_next(session, key, value);
	if (rc != NB_NOT_FOUND || calls++ > 0)
		return rc;
	for (uint32_t i = 0; i < chain.plan.keys; i++)
		if (crash_rig_last(&chain.plan, 0, i, ALL_OPS) == 0)
			*key = name_of(0, i);
	*value = *key;
	return NB_OK;
}

static int
scan_next_failing(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	return calls++ < 5 ? right->scan_next(session, key, value) : NB_FAIL;
}

static int
scan_open_forward(struct nb_session *session, const struct nb_scan_args *args)
{
	struct nb_scan_args forward = *args;
	forward.flags = 0;
	return right->scan_open(session, &forward);
}

static int
scan_open_forward_only(struct nb_session *session, const struct nb_scan_args *args)
{
	return args->flags != 0 ? NB_UNSUPPORTED : right->scan_open(session, args);
}

static int
scan_open_failing(struct nb_session *session, const struct nb_scan_args *args)
{
	return NB_UNSUPPORTED;
}

static int
scan_close_failing(struct nb_session *session)
{
	return NB_FAIL;
}

TEST(scan_that_differs_from_get_is_reported)
{
	static const struct {
		int (*next)(struct nb_session *, struct nb_slice *, struct nb_slice *);
		uint32_t wrong;
		const char *part;
	} nexts[] = {
		{scan_next_twice, NB_CRASH_SCAN, "a scan gave the key "},
		{scan_next_twice, NB_CRASH_SCAN, " twice"},
		{scan_next_cut, NB_CRASH_SCAN, "a scan gave another value"},
		{scan_next_cut, NB_CRASH_SCAN, " another value than get"},
		{scan_next_deleted, NB_CRASH_SCAN, ", which get does not find"},
		{scan_next_failing, NB_CRASH_NOT_OPENED, "a scan answered NB_FAIL"},
	};
	chain.subject.engine = &wrong;
	for (size_t i = 0; i < sizeof(nexts) / sizeof(*nexts); i++) {
		wrong.scan_next = nexts[i].next;
		is_wrong(nexts[i].wrong, nexts[i].part);
	}
}

TEST(scan_follows_the_promised_order)
{
	chain.subject.engine = &wrong;
	wrong.scan_open = scan_open_forward;
	is_wrong(NB_CRASH_SCAN, "a scan backward gave the key ");
	is_wrong(NB_CRASH_SCAN, " out of order");
	wrong.caps &= ~NB_CAP_ORDERED;
	is_right();
}

TEST(failing_scan_is_reported_but_backward_scans_are_optional)
{
	chain.subject.engine = &wrong;
	wrong.scan_open = scan_open_failing;
	is_wrong(NB_CRASH_NOT_OPENED, "a scan answered NB_UNSUPPORTED");
	wrong.scan_open = right->scan_open;
	wrong.scan_close = scan_close_failing;
	is_wrong(NB_CRASH_NOT_OPENED, "a scan answered NB_FAIL");
	wrong.scan_open = scan_open_forward_only;
	wrong.scan_close = right->scan_close;
	is_right();
	wrong.scan_open = NULL;
	is_right();
}

static int
put_failing(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return NB_FAIL;
}

static int
put_nothing(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return NB_OK;
}

static int
put_less(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	value.size--;
	return right->put(session, key, value);
}

/** Does not overwrite existing values. */
static int
put_once(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return calls++ == 0 ? right->put(session, key, value) : NB_OK;
}

static int
put_in_conflict(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return ++calls % 100 == 0 ? right->put(session, key, value) : NB_CONFLICT;
}

static int
del_nothing(struct nb_session *session, struct nb_slice key)
{
	return NB_OK;
}

static int
flush_failing(struct nb_db *db, uint32_t upto)
{
	return NB_FAIL;
}

static int
flush_unsupported(struct nb_db *db, uint32_t upto)
{
	return NB_UNSUPPORTED;
}

static int
checkpoint_failing(struct nb_db *db)
{
	return NB_FAIL;
}

/**
 * Replacements of the correct engine's verbs. NULL put or del: the correct one. NULL flush or
 * checkpoint: none.
 */
struct verbs {
	int (*put)(struct nb_session *, struct nb_slice, struct nb_slice);
	int (*del)(struct nb_session *, struct nb_slice);
	int (*flush)(struct nb_db *, uint32_t);
	int (*checkpoint)(struct nb_db *);
};

static void
take_verbs(const struct verbs *verbs)
{
	wrong = *right;
	wrong.put = verbs->put != NULL ? verbs->put : right->put;
	wrong.del = verbs->del != NULL ? verbs->del : right->del;
	wrong.flush = verbs->flush;
	wrong.checkpoint = verbs->checkpoint;
}

TEST(database_that_accepts_no_write_is_reported)
{
	static const struct {
		struct verbs verbs;
		const char *part;
	} failures[] = {
		{{.put = put_failing}, "put and get of a new key answered NB_FAIL"},
		{{.put = put_nothing}, "put and get of a new key answered NB_NOT_FOUND"},
		{{.put = put_less}, "put and get of a new key: another value than was put"},
		{{.put = put_once}, "put and get of an existing key: another value than"},
		{{.del = del_nothing}, "del and get of an existing key answered NB_OK"},
		{{.flush = flush_failing}, "flush answered NB_FAIL"},
		{{.checkpoint = checkpoint_failing}, "checkpoint answered NB_FAIL"},
	};
	chain.subject.engine = &wrong;
	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
		take_verbs(&failures[i].verbs);
		is_wrong(NB_CRASH_NOT_WRITABLE, failures[i].part);
		crash_rig_tamper(&chain, SLICE("~own"), NULL); /* the probe's key */
	}
}

TEST(conflict_is_retried_and_settling_may_be_unsupported)
{
	chain.subject.engine = &wrong;
	take_verbs(&(struct verbs){.put = put_in_conflict, .flush = flush_unsupported});
	is_right();
}

/* ---- the inspecting process ---- */

static int
get_exiting(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	if (calls++ == 9)
		_exit(EXIT_SUCCESS);
	return right->get(session, key, value);
}

static int
get_crashing(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	if (calls++ == 9)
		raise(SIGTERM); /* sanitizers do not handle this signal */
	return right->get(session, key, value);
}

static int
put_exiting(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	_exit(EXIT_SUCCESS);
}

static int
get_hanging(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	while (calls == 0)
		pause();
	return NB_FAIL;
}

/** Nothing could be read, so all writes count as lost. */
static void
is_unseen(const char *part)
{
	struct crash_report report = verify();
	ck_assert_uint_eq(report.wrongs, 1u << NB_CRASH_NOT_OPENED);
	ck_assert_str_eq(report.text, part);
	ck_assert_uint_eq(report.is_broken, 1);
	ck_assert_uint_eq(report.open_ns, 0);
	ck_assert_uint_gt(report.lost, 0);
	ck_assert_uint_eq(report.lost, report.acknowledged);
}

TEST(engine_that_ends_the_process_is_reported)
{
	chain.subject.engine = &wrong;
	wrong.get = get_exiting;
	is_unseen("in get the engine ended the process with status 0");
	wrong.get = get_crashing;
	is_unseen("in get the process was ended by SIGTERM");
	wrong.get = right->get;
	wrong.put = put_exiting;
	struct crash_report report = verify();
	ck_assert_uint_eq(report.wrongs, 1u << NB_CRASH_NOT_OPENED);
	ck_assert_str_eq(report.text,
		"in put and get of a new key the engine ended the process with status 0");
	ck_assert_uint_eq(report.survived, report.acknowledged); /* seen before the end */
	state_is_as_after(ALL_OPS);
}

TEST(interruption_is_not_a_finding)
{
	struct crash_report report;
	chain.subject.engine = &wrong;
	wrong.get = get_hanging;
	nb_stop();
	ck_assert_int_eq(
		crash_inspect(&report, &chain.subject, &chain.state, &chain.moment, chain.path),
		NB_ERR_INTERRUPTED);
	nb_stop_clear();
}
