/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that are read back after a run or a load: lost writes are found and named correctly,
 * with the operation that wrote them.
 */
#include <stdio.h>
#include <string.h>

#include "toy.h"
#include "unit.h"

static struct toy_rig rig;
static struct toy_worker with;

TEST(verification_finds_lost_records)
{
	static const struct {
		const char *mix;
		uint32_t kind, verb, defect;
		int verdict;
	} cases[] = {{"update = 1", NB_OP_UPDATE, TOY_PUT, TOY_DROP, JOB_STALE},
		{"insert = 1", NB_OP_INSERT, TOY_PUT, TOY_DROP, JOB_MISSING},
		{"delete = 1", NB_OP_DELETE, TOY_DEL, TOY_DROP, JOB_STALE},
		{"batch = 1", NB_OP_BATCH, TOY_BATCH, TOY_DROP, JOB_STALE},
		{"txn-write = 1", NB_OP_TXN_WRITE, TOY_COMMIT, TOY_DROP, JOB_STALE}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		char text[64];
		snprintf(text, sizeof(text), "%s\ndistribution = sequential", cases[c].mix);
		struct job_worker *worker = toy_short(&rig, &with, text);
		toy_break(cases[c].defect, cases[c].verb, 71, 1);
		toy_go(&with);
		ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
		job_worker_read_back(worker);
		ck_assert_msg(worker->rc == NB_OK, "%s", worker->text);
		/* in a sequence of batches, later batches overwrite some records */
		ck_assert_uint_ge(worker->findings.verdicts[cases[c].verdict], 1);
		ck_assert_uint_eq(toy_wrong(&worker->findings),
			worker->findings.verdicts[cases[c].verdict]);
		ck_assert_uint_eq(worker->findings.cases[0].op, 70);
		ck_assert_uint_eq(worker->findings.cases[0].kind, cases[c].kind);
	}
}

TEST(verification_reads_the_last_writes_and_a_share_of_older_ones)
{
	/* the last 1024, and every eighth of the other 7976, from index 0 on */
	static const uint64_t lost[] = {9000, 9000 - 1023, 1};
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++) {
		struct job_worker *worker = toy_one(&rig, &with,
			"records = 9000\ncount = 9000\nupdate = 1\n"
			"distribution = sequential\n");
		toy_break(TOY_DROP, TOY_PUT, lost[i], 1);
		toy_go(&with);
		toy_reset();
		job_worker_read_back(worker);
		ck_assert_uint_eq(worker->findings.read_back, 1024 + 997);
		ck_assert_uint_eq(toy_calls(TOY_GET), 1024 + 997);
		toy_found(&with, JOB_STALE, NB_OP_UPDATE, lost[i] - 1);
	}
}

TEST(verification_of_a_correct_engine_has_no_findings)
{
	static const char *const mixes[] = {"update = 1", "insert = 1", "delete = 1",
		"upsert = 1", "upsert = 1\ndelete = 1\nread = 1\nspace = 50", "batch = 1",
		"txn-write = 1", "read-modify-write = 1\ninsert = 1"};
	for (size_t m = 0; m < sizeof(mixes) / sizeof(*mixes); m++) {
		struct job_worker *worker = toy_short(&rig, &with, mixes[m]);
		toy_go(&with);
		toy_reset();
		job_worker_read_back(worker);
		ck_assert_msg(worker->rc == NB_OK, "%s", worker->text);
		ck_assert_uint_gt(toy_calls(TOY_GET), 0);
		if (strstr(mixes[m], "delete") == NULL) /* all were found */
			ck_assert_uint_eq(toy_calls(TOY_RELEASE), toy_calls(TOY_GET));
		ck_assert_msg(toy_wrong(&worker->findings) == 0, "%s", mixes[m]);
	}
}

/** Load with a defect, then read back. */
static struct job_worker *
load(uint32_t defect)
{
	toy_create(&rig, TOY_SHORT "read = 1");
	toy_new(&rig);
	toy_open(&rig);
	toy_enter(&rig, &with, &rig.run->loading);
	toy_break(defect, TOY_PUT, 71, 1);
	toy_go(&with);
	job_worker_read_back(with.workers[0]);
	ck_assert_int_eq(with.workers[0]->rc, NB_OK);
	return with.workers[0];
}

TEST(verification_of_a_load_finds_a_lost_put)
{
	struct job_worker *worker = load(TOY_DROP);
	ck_assert_uint_eq(worker->findings.verified, 500);
	toy_found(&with, JOB_MISSING, NB_OP_INSERT, 70);
	worker = load(TOY_RIGHT);
	ck_assert_uint_eq(worker->findings.verified, 500);
	ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
}

TEST(verification_of_a_load_finds_the_value_of_an_earlier_run)
{
	struct job_worker *worker = toy_short(
		&rig, &with, "update = 1\ndistribution = sequential");
	toy_go(&with);
	toy_leave(&with);
	toy_enter(&rig, &with, &rig.run->loading);
	worker = with.workers[0];
	toy_reset();
	toy_break(TOY_DROP, TOY_PUT, 71, 1);
	toy_go(&with);
	job_worker_read_back(worker);
	toy_found(&with, JOB_STALE, NB_OP_INSERT, 70);
}

TEST(verification_reports_a_failure)
{
	static const struct {
		uint32_t defect;
		const char *text;
	} cases[] = {{TOY_FAIL, "toy: reading back, operation 0: the toy is broken"},
		{TOY_MUTE, "toy: reading back, operation 0: failed without saying why"},
		{TOY_ODD,
			"toy: reading back, operation 0: answered 9, which means nothing here"},
		{TOY_CONFLICT,
			"toy: reading back, operation 0: answered with nothing but conflicts "
			"for 0.05 s"}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct job_worker *worker = toy_short(
			&rig, &with, "update = 1\ndistribution = sequential");
		toy_go(&with);
		toy_break(cases[c].defect, TOY_GET, 1, 0);
		with.part->plan.conflict_ns = 50 * 1000 * 1000;
		job_worker_read_back(worker);
		ck_assert_int_eq(worker->rc, NB_FAIL);
		ck_assert_str_eq(worker->text, cases[c].text);
	}
}

TEST(verification_of_a_load_names_the_failed_operation)
{
	struct job_worker *worker = load(TOY_RIGHT);
	toy_reset();
	toy_break(TOY_FAIL, TOY_GET, 322, 1);
	job_worker_read_back(worker);
	ck_assert_int_eq(worker->rc, NB_FAIL);
	ck_assert_str_eq(worker->text, "toy: reading back, operation 321: the toy is broken");
	ck_assert_uint_eq(toy_calls(TOY_GET), 322);
}

TEST(verification_retries_conflicts)
{
	struct job_worker *worker = toy_short(&rig, &with, "update = 1");
	toy_go(&with);
	toy_reset();
	toy_break(TOY_CONFLICT, TOY_GET, 3, 5);
	job_worker_read_back(worker);
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(toy_calls(TOY_GET), worker->findings.verified + 5);
	ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
}

TEST(halt_ends_the_verification)
{
	struct job_worker *worker = toy_short(&rig, &with, "update = 1");
	toy_go(&with);
	with.halt = 1;
	job_worker_read_back(worker);
	ck_assert_uint_eq(toy_calls(TOY_GET), 0);
}

static int
get_halting(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	if (toy_calls(TOY_GET) == 99)
		__atomic_store_n(&with.halt, 1, __ATOMIC_RELAXED);
	return toy_engine().get(session, key, value);
}

TEST(halt_ends_the_verification_of_a_load_after_the_current_record)
{
	struct job_worker *worker = load(TOY_RIGHT);
	toy_reset();
	worker->findings = (struct job_findings){.verified = 0};
	rig.run->engine->table.get = get_halting;
	job_worker_read_back(worker);
	ck_assert_uint_eq(toy_calls(TOY_GET), 100);
	ck_assert_uint_eq(worker->findings.verified, 100);
	worker = load(TOY_RIGHT);
	toy_reset();
	nb_stop(); /* for missing keys: no later operation is read back */
	job_worker_read_back(worker);
	ck_assert_uint_eq(toy_calls(TOY_GET), 0);
	nb_stop_clear();
}
