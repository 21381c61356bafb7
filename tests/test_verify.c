/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each possible defect of an engine is found and named correctly, with the operation that met
 * it. A correct engine gets no findings.
 */
#include <stdio.h>
#include <string.h>

#include "toy.h"
#include "unit.h"

static struct toy_rig rig;
static struct toy_worker with;

TEST(verdicts_have_names)
{
	for (int i = 0; i < JOB_VERDICTS; i++)
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(job_verdict_name(i), job_verdict_name(j));
	ck_assert_str_eq(job_verdict_name(-1), "?");
	ck_assert_str_eq(job_verdict_name(JOB_VERDICTS), "?");
	ck_assert_str_eq(job_verdict_name(JOB_STALE), "stale");
}

TEST(wrong_value_is_detected_by_each_kind_of_read)
{
	static const struct {
		uint32_t defect;
		int verdict;
	} defects[] = {
		{TOY_FLIP, JOB_CORRUPT}, {TOY_CUT, JOB_WRONG_SIZE}, {TOY_MISS, JOB_MISSING}};
	static const struct {
		const char *mix;
		uint32_t kind, verb, calls;
	} reads[] = {{"read = 1", NB_OP_READ, TOY_GET, 1},
		{"read-modify-write = 1\ndistribution = sequential", NB_OP_RMW, TOY_GET, 1},
		{"multi-get = 1", NB_OP_MULTIGET, TOY_MULTI_GET, 1},
		{"txn-read = 1", NB_OP_TXN_READ, TOY_GET, 4}};
	for (size_t d = 0; d < sizeof(defects) / sizeof(*defects); d++)
		for (size_t r = 0; r < sizeof(reads) / sizeof(*reads); r++) {
			toy_short(&rig, &with, reads[r].mix);
			toy_break(defects[d].defect, reads[r].verb, 1 + 70 * reads[r].calls, 1);
			toy_go(&with);
			toy_found(&with, defects[d].verdict, reads[r].kind, 70);
		}
	toy_short(&rig, &with, "read = 1");
	toy_break(TOY_OTHER, TOY_GET, 71, 1);
	toy_go(&with);
	toy_found(&with, JOB_OTHER_KEY, NB_OP_READ, 70);
	toy_short(&rig, &with, "scan = 1\ndistribution = sequential");
	toy_break(TOY_MISS, TOY_SCAN_OPEN, 71, 1);
	toy_go(&with);
	toy_found(&with, JOB_MISSING, NB_OP_SCAN, 70);
}

static const char *const scans[] = {"scan = 1\ndistribution = sequential",
	"scan = 1\ndistribution = sequential\nscan-direction = backward"};

TEST(wrong_scan_is_detected)
{
	/*
	 * Backward, scan i returns min(i + 1, 8) records, and then learns that it is at the
	 * end.
	 */
	static const uint64_t calls_before[] = {10 * 8, 2 + 3 + 4 + 5 + 6 + 7 + 8 + 3 * 8};
	static const struct {
		uint32_t defect, nth; /* of the records of the 11th scan */
		int verdict;
		int is_backward;
	} defects[] = {{TOY_SKIP, 3, JOB_GAP, 1}, {TOY_SKIP, 1, JOB_GAP, 1},
		{TOY_REPEAT, 3, JOB_UNORDERED, 1}, {TOY_INVENT, 8, JOB_UNORDERED, 1},
		{TOY_INVENT, 1, JOB_PHANTOM, 1}, {TOY_MISS, 3, JOB_GAP, 1},
		{TOY_MISS, 1, JOB_GAP, 1}, {TOY_FLIP, 4, JOB_CORRUPT, 1},
		{TOY_SKIP, 3, JOB_GAP}, {TOY_SKIP, 1, JOB_GAP}, {TOY_REPEAT, 3, JOB_UNORDERED},
		{TOY_BACK, 3, JOB_UNORDERED}, {TOY_INVENT, 8, JOB_PHANTOM},
		{TOY_INVENT, 1, JOB_PHANTOM}, {TOY_MISS, 3, JOB_GAP}, {TOY_MISS, 1, JOB_GAP},
		{TOY_FLIP, 4, JOB_CORRUPT}, {TOY_CUT, 4, JOB_WRONG_SIZE}};
	for (size_t d = 0; d < sizeof(defects) / sizeof(*defects); d++) {
		int backward = defects[d].is_backward;
		toy_short(&rig, &with, scans[backward]);
		toy_break(defects[d].defect, TOY_SCAN_NEXT,
			calls_before[backward] + defects[d].nth, 1);
		toy_go(&with);
		/*
		 * a record after a wrong key may be wrong because of it: the first finding
		 * counts
		 */
		const struct job_findings *findings = &with.workers[0]->findings;
		ck_assert_uint_ge(findings->case_count, 1);
		ck_assert_uint_le(toy_wrong(findings), 2);
		ck_assert_str_eq(job_verdict_name((int)findings->cases[0].verdict),
			job_verdict_name(defects[d].verdict));
		ck_assert_uint_eq(findings->cases[0].op, 10);
		ck_assert_uint_eq(findings->cases[0].kind, NB_OP_SCAN);
		for (uint64_t i = 1; i < findings->case_count; i++)
			ck_assert_uint_eq(findings->cases[i].op, 10);
	}
}

/** 4 records, so a thread soon reads its own puts. */
#define FEW "records = 4\ncount = 400\n"

TEST(thread_must_read_its_last_put)
{
	static const struct {
		uint32_t defect, verb;
	} cases[] = {{TOY_DROP, TOY_PUT}, {TOY_OLD, TOY_GET}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct job_worker *worker = toy_one(&rig, &with, FEW "read = 1\nupdate = 1\n");
		toy.is_logging = true;
		toy_break(cases[c].defect, cases[c].verb, 50, 1);
		toy_go(&with);
		const struct job_findings *findings = &worker->findings;
		ck_assert_int_eq(worker->rc, NB_OK);
		ck_assert_uint_ge(findings->verdicts[JOB_STALE], 1);
		ck_assert_uint_eq(toy_wrong(findings), findings->verdicts[JOB_STALE]);
		/* the expected version is that of the last put of the record before the read */
		const struct job_case *it = &findings->cases[0];
		uint64_t last = 0, read = it->op;
		for (uint64_t i = 0, at = 0; at < read; i++) {
			if (toy.log[i].verb == TOY_RELEASE)
				continue;
			if (toy.log[i].verb == TOY_PUT && toy.log[i].number == it->key[7])
				last = toy.log[i].version;
			at++;
		}
		ck_assert_uint_gt(last, 0);
		ck_assert_uint_eq(it->expected, last);
		ck_assert_uint_lt(it->version, it->expected);
	}
}

TEST(record_deleted_by_this_thread_must_be_missing)
{
	struct job_worker *worker = toy_one(
		&rig, &with, FEW "read = 2\nupsert = 1\ndelete = 1\n");
	toy_break(TOY_DROP, TOY_DEL, 1, 0);
	toy_go(&with);
	ck_assert_uint_ge(worker->findings.verdicts[JOB_STALE], 1);
	ck_assert_uint_eq(toy_wrong(&worker->findings), worker->findings.verdicts[JOB_STALE]);
	ck_assert_uint_eq(worker->findings.cases[0].expected, 0);
}

/** Each record is visited twice, with 4999 others between. */
#define TWICE "records = 5000\ncount = 10000\ndistribution = sequential\n"

TEST(put_lost_long_ago_is_detected)
{
	struct job_worker *worker = toy_one(&rig, &with, TWICE "read-modify-write = 1\n");
	toy_break(TOY_DROP, TOY_PUT, 71, 1);
	toy_go(&with);
	toy_found(&with, JOB_STALE, NB_OP_RMW, 5070);
	ck_assert_uint_eq(worker->findings.cases[0].expected, 71);
}

TEST(delete_undone_long_ago_is_detected)
{
	struct job_worker *worker = toy_one(&rig, &with, TWICE "read = 1\ndelete = 1\n");
	toy.is_logging = true;
	toy_break(TOY_DROP, TOY_DEL, 1, 0);
	toy_go(&with);
	uint64_t undone = 0, op = 0;
	static bool is_deleted[5000];
	memset(is_deleted, 0, sizeof(is_deleted));
	for (uint64_t i = 0; i < toy.logged; i++) {
		const struct toy_call *call = &toy.log[i];
		if (call->verb != TOY_GET && call->verb != TOY_DEL)
			continue;
		undone += call->verb == TOY_GET && is_deleted[call->number];
		is_deleted[call->number] |= call->verb == TOY_DEL;
		op++;
	}
	ck_assert_uint_eq(op, 10000);
	ck_assert_uint_gt(undone, 1000);
	ck_assert_uint_eq(worker->findings.verdicts[JOB_STALE], undone);
	ck_assert_uint_eq(toy_wrong(&worker->findings), undone);
}

TEST(place_shared_by_records_causes_no_finding)
{
	static const uint32_t places[] = {1, 64, 1024};
	for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++) {
		struct job_worker *worker = toy_one(
			&rig, &with, TWICE "read = 1\nupsert = 1\ndelete = 1\n");
		with.part->plan.own_places = places[p];
		toy_go(&with);
		job_worker_read_back(worker);
		ck_assert_msg(worker->rc == NB_OK, "%s", worker->text);
		ck_assert_uint_eq(worker->findings.read_back, places[p]);
		ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
	}
}

TEST(a_value_with_the_version_of_a_delete_is_stale)
{
	struct job_worker *worker = toy_short(&rig, &with, "read = 1\ndelete = 1");
	const struct ops_spec *spec = &with.part->spec;
	uint8_t bytes[8] = {0}, value[100];
	uint64_t number = 0;
	struct nb_slice key = {bytes, 8}, its = {value, 100};
	struct ops_op op = {.kind = NB_OP_DELETE,
		.items = 1,
		.index = 64,
		.numbers = &number,
		.keys = &key};
	job_remember(worker, &op);
	values_write_sized(&spec->values, value, key, 100, ops_version(spec, op.index));
	op.kind = NB_OP_READ;
	op.index = 128;
	job_verify_value(worker, &op, 0, its);
	toy_found(&with, JOB_STALE, NB_OP_READ, 128);
}

TEST(version_with_two_possible_writers_causes_no_finding)
{
	for (int c = 0; c < 4; c++) {
		bool is_far = c % 2 == 1, is_short = c / 2 == 0;
		size_t size = is_short ? 20 : 100;
		struct job_worker *worker = toy_short(&rig, &with,
			is_short ? "read = 1\nupdate = 1\nvalue-size = 20"
				 : "read = 1\nupdate = 1");
		const struct ops_spec *spec = &with.part->spec;
		uint8_t bytes[8] = {0}, value[100];
		uint64_t number = 0, write = UINT64_C(10000000000);
		struct nb_slice key = {bytes, 8}, its = {value, size};
		struct ops_op op = {.kind = NB_OP_UPDATE,
			.items = 1,
			.index = write,
			.numbers = &number,
			.keys = &key};
		job_remember(worker, &op);
		values_write_sized(
			&spec->values, value, key, size, ops_version(spec, write - 64));
		op.kind = NB_OP_READ;
		op.index = write + (is_far ? UINT32_MAX / 2 : UINT32_MAX / 8);
		job_verify_value(worker, &op, 0, its);
		bool is_judged = !is_far || !is_short;
		ck_assert_uint_eq(worker->findings.verdicts[JOB_STALE], is_judged);
		ck_assert_uint_eq(toy_wrong(&worker->findings), is_judged);
	}
}

TEST(miss_is_not_a_finding_with_deletes_or_if_allowed)
{
	toy_short(&rig, &with, "read = 1\ndelete = 1");
	toy_go(&with);
	ck_assert_uint_gt(with.workers[0]->counts[NB_OP_READ].answers[NB_NOT_FOUND], 0);
	ck_assert_uint_eq(toy_wrong(&with.workers[0]->findings), 0);
	toy_short(&rig, &with, "read = 1");
	with.part->plan.may_miss = true;
	toy_break(TOY_MISS, TOY_GET, 10, 5);
	toy_go(&with);
	ck_assert_uint_eq(toy_wrong(&with.workers[0]->findings), 0);
	/* but this thread's own puts must exist, in any case */
	toy_one(&rig, &with, FEW "read = 1\nupdate = 1\n");
	with.part->plan.may_miss = true;
	toy_break(TOY_MISS, TOY_GET, 100, 1);
	toy_go(&with);
	ck_assert_uint_eq(with.workers[0]->findings.verdicts[JOB_MISSING], 1);
}

TEST(miss_of_a_record_without_other_writers_is_a_finding)
{
	static const char *const ranges[] = {"private", "shared"};
	for (size_t r = 0; r < sizeof(ranges) / sizeof(*ranges); r++) {
		char text[200];
		snprintf(text, sizeof(text),
			"records = 64\ncount = 4000\nthreads = 2\nkey-range = %s\n"
			"read = 2\nupsert = 2\ndelete = 1\n",
			ranges[r]);
		toy_create(&rig, text);
		ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
		ck_assert_uint_eq(toy_wrong(&toy_measured(&rig, 0)->findings), 0);
		toy_break_run(&rig, TOY_MISS, TOY_GET, 100, 1000);
		int rc = toy_run(&rig);
		const struct job_findings *findings = &toy_measured(&rig, 0)->findings;
		ck_assert_int_eq(rc, r == 0 ? NB_ERR_DATA : NB_OK);
		ck_assert_uint_eq(toy_wrong(findings), findings->verdicts[JOB_MISSING]);
		ck_assert(r == 0 ? toy_wrong(findings) > 100 : toy_wrong(findings) == 0);
		toy_destroy(&rig);
	}
}

TEST(only_the_requested_share_is_verified)
{
	toy_short(&rig, &with, "read = 1");
	with.part->plan.verify_threshold = 0;
	toy_break(TOY_FLIP, TOY_GET, 1, 0);
	toy_go(&with);
	ck_assert_uint_eq(with.workers[0]->findings.verified, 0);
	toy_short(&rig, &with, "read = 1");
	with.part->plan.verify_threshold = sample_threshold(0.25);
	toy_break(TOY_FLIP, TOY_GET, 1, 0);
	toy_go(&with);
	const struct job_findings *findings = &with.workers[0]->findings;
	ck_assert_uint_ge(findings->verified, 98);
	ck_assert_uint_le(findings->verified, 102);
	ck_assert_uint_eq(findings->verdicts[JOB_CORRUPT], findings->verified);
	ck_assert_uint_eq(findings->case_count, JOB_CASES); /* the first cases are kept */
}

/* ---- other runs on the same database ---- */

TEST(values_of_another_run_are_counted_apart)
{
	struct job_worker *worker = toy_short(&rig, &with, "read = 1\nupdate = 1");
	toy_go(&with);
	ck_assert_uint_eq(worker->findings.foreign, 0);
	toy_leave(&with);
	/* the same operations again: the existing values come from the first time */
	toy_enter(&rig, &with, with.part);
	toy_go(&with);
	ck_assert_uint_eq(toy_wrong(&with.workers[0]->findings), 0);
	ck_assert_uint_gt(with.workers[0]->findings.foreign, 0);
}

TEST(records_inserted_by_a_longer_run_are_not_phantoms)
{
	struct job_worker *worker = toy_one(
		&rig, &with, "records = 50\ncount = 400\nscan = 1\nscan-length = 60");
	uint64_t number = with.part->spec.keys->numbers; /* beyond this run's numbers */
	uint8_t bytes[8], value[100];
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(number >> (56 - 8 * i));
	struct nb_slice key = {bytes, 8}, its = {value, 100};
	values_write_sized(&with.part->spec.values, value, key, 100, 77);
	ck_assert_int_eq(with.part->plan.engine->put(worker->session, key, its), NB_OK);
	toy_go(&with);
	ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
	ck_assert_uint_eq(worker->findings.foreign, 400);
	toy_leave(&with);
	/* but a finding if the value does not belong to the key */
	value[40] ^= 1;
	toy_enter(&rig, &with, with.part);
	ck_assert_int_eq(
		with.part->plan.engine->put(with.workers[0]->session, key, its), NB_OK);
	toy_go(&with);
	ck_assert_uint_gt(with.workers[0]->findings.verdicts[JOB_PHANTOM], 0);
}

TEST(records_that_share_a_key_are_not_stale)
{
	char keys[128], set[160];
	toy_create(&rig, "records = 64\ncount = 640\nread = 1\nupdate = 1");
	snprintf(keys, sizeof(keys), "%s/keys", rig.dir);
	FILE *file = fopen(keys, "w");
	for (uint64_t i = 0; i < 64; i++) /* each record is put twice */
		ck_assert_uint_eq(fwrite(&(uint64_t){(i % 32) << 56}, 8, 1, file), 1);
	fclose(file);
	snprintf(set, sizeof(set), "keys=%s", keys);
	ck_assert_int_eq(nb_job_set(rig.job, "key-format=file"), NB_OK);
	ck_assert_int_eq(nb_job_set(rig.job, "key-size=8"), NB_OK);
	ck_assert_int_eq(nb_job_set(rig.job, set), NB_OK);
	toy_new(&rig);
	toy_load(&rig);
	toy_enter(&rig, &with, &rig.run->parts[0]);
	toy_go(&with);
	job_worker_read_back(with.workers[0]);
	ck_assert_uint_ge(with.workers[0]->findings.verified, 320);
	ck_assert_uint_eq(toy_wrong(&with.workers[0]->findings), 0);
	ck_assert_uint_eq(with.workers[0]->findings.foreign, 0);
	/* but a lost put is a finding */
	toy_leave(&with);
	toy_enter(&rig, &with, &rig.run->parts[0]);
	toy_break(TOY_DROP, TOY_PUT, 100, 20);
	toy_go(&with);
	ck_assert_uint_gt(with.workers[0]->findings.verdicts[JOB_STALE], 0);
}

TEST(values_from_before_a_reuse_of_versions_are_recognised)
{
	struct job_worker *worker = toy_short(
		&rig, &with, "read = 1\nupdate = 1\nvalue-size = 20");
	const struct ops_spec *spec = &with.part->spec;
	uint8_t bytes[8] = {0}, value[20];
	uint64_t number = 0;
	struct nb_slice key = {bytes, 8}, its = {value, 20};
	struct ops_op op = {.kind = NB_OP_READ,
		.items = 1,
		.index = UINT64_C(5000000000),
		.numbers = &number,
		.keys = &key};
	/* from an operation 4 G back, which looks like a future one */
	values_write_sized(
		&spec->values, value, key, 20, ops_version(spec, UINT64_C(1000000000)));
	job_verify_value(worker, &op, 0, its);
	ck_assert_uint_eq(worker->findings.verified, 1);
	ck_assert_uint_eq(worker->findings.verdicts[JOB_GOOD], 1);
	ck_assert_uint_eq(worker->findings.foreign, 0);
}

TEST(insert_that_finds_its_new_record_is_detected)
{
	struct job_worker *worker = toy_short(&rig, &with, "insert = 1\ninsert-verb = insert");
	toy_go(&with);
	ck_assert_uint_eq(toy_wrong(&worker->findings), 0);
	toy_leave(&with);
	toy_enter(&rig, &with, &rig.run->parts[0]);
	toy_go(&with); /* the same records again */
	worker = with.workers[0];
	ck_assert_int_eq(worker->rc, NB_OK);
	ck_assert_uint_eq(worker->counts[NB_OP_INSERT].answers[NB_EXISTS], 400);
	ck_assert_uint_eq(worker->findings.verdicts[JOB_EXISTS], 400);
	ck_assert_uint_eq(worker->counts[NB_OP_INSERT].records, 0);
}

static int
get_nothing(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return NB_OK;
}

TEST(get_that_sets_no_value_is_a_value_of_the_wrong_size)
{
	struct job_worker *worker = toy_short(&rig, &with, "read = 1");
	rig.run->engine->table.get = get_nothing;
	toy_go(&with);
	ck_assert_uint_eq(worker->findings.verdicts[JOB_WRONG_SIZE], 400);
	ck_assert_uint_eq(worker->counts[NB_OP_READ].bytes, 0);
	worker = toy_short(&rig, &with, "update = 1\ndistribution = sequential");
	toy_go(&with);
	rig.run->engine->table.get = get_nothing;
	job_worker_read_back(worker);
	ck_assert_uint_eq(worker->findings.verdicts[JOB_WRONG_SIZE], 400);
}
