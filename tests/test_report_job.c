/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of a job: one text is compared as a whole, with numbers that were reckoned by
 * hand from the values that are added below.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/job_result.h"
#include "unit.h"

static struct nb_result base;
static struct job_result_group group;
static struct job_thread threads[2];
static struct nb_job_result result;
static char *text; /* of the last write_text() */

static const char *
version(void)
{
	return "1.23";
}

static void
add(struct nb_histogram **histogram, uint64_t count, uint64_t value_ns)
{
	if (*histogram == NULL)
		ck_assert_int_eq(nb_histogram_new(histogram), NB_OK);
	for (uint64_t i = 0; i < count; i++)
		nb_histogram_add(*histogram, value_ns);
}

/** A group with nothing done, closed loop. */
static void
begin(void)
{
	base = (struct nb_result){.engine = {.name = "leveldb",
					  .licence = "BSD-3-Clause",
					  .build = "release",
					  .version = version},
		.engine_path = (char *)(uintptr_t) "/x/leveldb.so",
		.engine_version = version(),
		.version = nb_version(),
		.workload = {.verb = NB_VERB_DELETE},
		.threads = 2,
		.durability = NB_DUR_PROCESS,
		.is_auto_durability = true,
		.settle = NB_RUN_SETTLE_FLUSH,
		.verify_rate = 0.01,
		.digest = 0x0123456789abcdef,
		.clock = {.kind = NB_CLOCK_MONOTONIC,
			.tick_hz = 1e9,
			.read_ns = 25,
			.step_ns = 1},
		.sysinfo = {.filesystem = "ext4"},
		.measured = {.has_begun = true,
			.has_settled = true,
			.settled = NB_RUN_SETTLE_FLUSH,
			.ops = 1250,
			.wall_ns = 500000000,
			.settle_ns = 300000000,
			.close_ns = 200000000}};
	group = (struct job_result_group){.name = "users",
		.threads = 2,
		.distribution = NB_DIST_ZIPFIAN,
		.weights = {[NB_OP_READ] = 3, [NB_OP_UPDATE] = 1},
		.measured = {.has_begun = true,
			.ops = 1250,
			.done = 1250,
			.commits = 250,
			.wall_ns = 500000000,
			.span_ns = 500000000,
			.threads = threads,
			.thread_count = 2}};
	threads[0] = threads[1] = (struct job_thread){625, 500000000, 625};
	result = (struct nb_job_result){.base = &base,
		.name = (char *)(uintptr_t) "my.ini",
		.procs = 1,
		.records = 1000,
		.key_size = 16,
		.value_min = 100,
		.value_max = 100,
		.value_mean = 100,
		.value_ratio = 0.5,
		.measured_ratio = 0.5123,
		.key_format = "raw",
		.key_order = "hashed",
		.groups = &group,
		.group_count = 1};
}

/** 1000 reads and 250 updates, in half a second. */
static void
add_operations(bool has_rate)
{
	struct job_kind *read = &group.measured.kinds[NB_OP_READ],
			*update = &group.measured.kinds[NB_OP_UPDATE];
	add(&read->service, 500, 1000);
	add(&read->service, 490, 2000);
	add(&read->service, 10, 100000);
	add(&update->service, 250, 4000);
	read->ops = read->records = 1000;
	update->ops = update->records = 250;
	read->answers[NB_OK] = 1000;
	update->answers[NB_OK] = 250;
	read->bytes = 100000;
	update->bytes = 25000;
	if (!has_rate)
		return;
	add(&read->response, 500, 11000); /* counted in buckets of 8 ns */
	add(&read->response, 490, 12000);
	add(&read->response, 10, 200000);
	add(&update->response, 250, 5000);
	group.arrivals = NB_ARRIVAL_POISSON;
	group.is_paced = true;
	group.measured.offered_ops = 1252;
	group.measured.lag_ns = 1500;
	group.measured.lag_max_ns = 190000;
}

static void
write_text(void)
{
	size_t size;
	free(text);
	FILE *out = open_memstream(&text, &size);
	ck_assert_int_eq(nb_job_result_write_text(&result, out, 0), NB_OK);
	fclose(out);
}

static void
end(void)
{
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		nb_histogram_delete(group.measured.kinds[kind].service);
		nb_histogram_delete(group.measured.kinds[kind].response);
	}
	nb_histogram_delete(group.measured.lateness);
	free(text);
	text = NULL;
}

#define ASSERT_HAS(part) \
	ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in:\n%s", part, text)
#define ASSERT_HAS_NOT(part) \
	ck_assert_msg(strstr(text, part) == NULL, "'%s' is in:\n%s", part, text)

/* clang-format off */
static const char whole[] =
	"Action            : run\n"
	"Workload          : my.ini\n"
	"Driver            : leveldb\n"
	"Records           : 1000\n"
	"Keys              : raw, hashed, 16 bytes\n"
	"Values            : 100 bytes, ratio 0.5 asked for, 0.512 by zlib (size when compressed : size)\n"
	"\n"
	"users: read 75 %, update 25 %; zipfian keys\n"
	"2 threads, 2504 ops/sec offered, at random (Poisson), 1250 operations in 0.500000 sec\n"
	"\n"
	"operation  time       ops  ops/s   p50   p99  p99.9  p99.99    max\n"
	"read       service   1000   2000   1us   2us                 100us\n"
	"           response               11us  12us                 200us\n"
	"update     service    250    500   4us                         4us\n"
	"           response                5us                         5us\n"
	"all        service   1250   2500   2us   4us                 100us\n"
	"           response               11us  12us                 200us\n"
	"\n"
	"Queue             : did not grow: the last of 1250 began 1.5us late, the latest 190us\n"
	"Harness lateness  : p50 1.2us, p99 1.2us, at most 1.2us, of 1000 times that it waited, with 0.000 sec of CPU time that is in no other figure\n"
	"Ops/s by thread   : 1250 1250\n"
	"Value bytes       : 125000, 250000 a second\n"
	"Verified          : nothing (the sample was empty)\n"
	"\n"
	"Settled           : flushed in 0.300000 sec, closed in 0.200000 sec: 1250 ops/sec in all\n"
	"Durability        : process, by default (writes survive kill -9, not power loss)\n"
	"Cache             : engine's default\n"
	"Database          : no data on ext4\n"
	"CPU time          : 0 ns/op user, 0 ns/op system\n"
	"Memory            : 0B resident at most\n"
	"Clock             : monotonic, 1000.000 MHz, in steps of 1 ns, 25.0 ns a stamp, two for each operation\n"
	"Stream digest     : 0123456789abcdef\n"
	"Engine            : leveldb 1.23, BSD-3-Clause, release, /x/leveldb.so\n";
/* clang-format on */

START_TEST(a_report_has_its_form)
{
	begin();
	add_operations(true);
	add(&group.measured.lateness, 1000, 1200);
	write_text();
	char *expected;
	ck_assert_int_gt(
		asprintf(&expected, "%smininb            : %s\n", whole, nb_version()), 0);
	ck_assert_str_eq(text, expected);
	free(expected);
	end();
}
END_TEST

START_TEST(counters_stand_behind_the_engine_with_their_share_of_an_operation)
{
	struct counter lines = {.name = (char *)(uintptr_t) "flushed_lines",
		.unit = (char *)(uintptr_t) "lines",
		.kind = NB_STAT_COUNTER,
		.value = 2500};
	begin();
	add_operations(false);
	base.measured.usage_ops = 1250;
	base.measured.counters = (struct counters){.items = &lines, .count = 1};
	write_text();
	ASSERT_HAS("leveldb.so\nCounter           : flushed_lines 2500 (2 per op)\nmininb ");
	base.is_of_processes = true;
	base.measured.counters.count = 0;
	write_text();
	ASSERT_HAS_NOT("Counter");
	end();
}
END_TEST

START_TEST(without_a_rate_there_is_neither_response_nor_queue)
{
	begin();
	add_operations(false);
	write_text();
	ASSERT_HAS("2 threads, closed loop, 1250 operations in 0.500000 sec\n");
	ASSERT_HAS_NOT("response");
	ASSERT_HAS_NOT("Queue");
	ASSERT_HAS_NOT("lateness");
	end();
}
END_TEST

START_TEST(a_queue_that_grew_is_told)
{
	begin();
	add_operations(true);
	group.measured.offered_ops = 2500;
	group.measured.lag_ns = 250000000;
	group.measured.lag_max_ns = 260000000;
	write_text();
	ASSERT_HAS("Queue             : grew, as more was offered than can be done: 2500 "
		   "operations were due, 1250 left; the last of 1250 began 250ms late, the "
		   "latest 260ms\n");
	ASSERT_HAS("5000 ops/sec offered, at random (Poisson)");
	end();
}
END_TEST

START_TEST(one_kind_alone_has_no_line_for_all)
{
	begin();
	add(&group.measured.kinds[NB_OP_SCAN].service, 5, 1000);
	group.measured.kinds[NB_OP_SCAN].ops = 5;
	group.measured.kinds[NB_OP_SCAN].records = 250;
	write_text();
	ASSERT_HAS_NOT("\nall ");
	ASSERT_HAS("Records           : 250 read or written, 500 a second\n");
	end();
}
END_TEST

START_TEST(what_a_warm_up_was_is_told)
{
	begin();
	group.warmup_ns = 2000000000;
	write_text();
	ASSERT_HAS("operations in 0.500000 sec, without a warm-up of 2s\n");
	group.warmup_ns = 0;
	group.warmup_count = 77;
	write_text();
	ASSERT_HAS("operations in 0.500000 sec, without a warm-up of 77 operations\n");
	end();
}
END_TEST

START_TEST(answers_that_are_not_ok_are_told)
{
	begin();
	add_operations(false);
	group.measured.kinds[NB_OP_READ].answers[NB_NOT_FOUND] = 3;
	group.measured.kinds[NB_OP_UPDATE].answers[NB_CONFLICT] = 4;
	write_text();
	ASSERT_HAS("Not found         : 3\n");
	ASSERT_HAS("Conflicts         : 4 (each tried again, in the same latency)\n");
	end();
}
END_TEST

START_TEST(findings_are_listed)
{
	begin();
	struct job_findings *findings = &group.measured.findings;
	findings->verified = 100;
	findings->verdicts[JOB_GOOD] = 98;
	findings->verdicts[JOB_STALE] = findings->verdicts[JOB_MISSING] = 1;
	findings->case_count = 2;
	findings->cases[0] = (struct job_case){.op = 17,
		.kind = NB_OP_READ,
		.verdict = JOB_STALE,
		.version = 3,
		.expected = 9,
		.key_size = 3,
		.key = {0xab, 0, 0x1f}};
	findings->cases[1] = (struct job_case){
		.op = 18, .kind = NB_OP_SCAN, .verdict = JOB_MISSING, .key_size = 40};
	write_text();
	ASSERT_HAS("Verified          : 100 records: 2 wrong\n"
		   "Wrong             : read, operation 17, key ab001f: stale, version 3, "
		   "expected 9\n"
		   "Wrong             : scan, operation 18, key "
		   "0000000000000000000000000000000000000000000000000000000000000000...: "
		   "missing\n");
	group.is_blind_to_gaps = true;
	write_text();
	ASSERT_HAS("Verified          : 100 records: 2 wrong; gaps of scans were not looked "
		   "for\n");
	base.verify_rate = 0;
	write_text();
	ASSERT_HAS("Verified          : nothing (not asked for)\n");
	base.verify_rate = 1;
	base.engine.caps = NB_CAP_SYNTHETIC;
	write_text();
	ASSERT_HAS("Verified          : nothing (not possible)\n");
	end();
}
END_TEST

START_TEST(what_was_not_done_is_told)
{
	begin();
	group.measured.has_begun = false;
	base.measured.is_partial = true;
	base.measured.has_settled = false;
	write_text();
	ASSERT_HAS("\nusers: was not begun\n");
	ASSERT_HAS("Partial           : yes, a partial result: the run was ended early\n");
	ASSERT_HAS_NOT("Settled");
	end();
}
END_TEST

START_TEST(a_head_tells_the_sizes_and_the_processes)
{
	begin();
	result.value_min = 10;
	result.value_max = 1000;
	result.value_mean = 123.456;
	result.measured_ratio = 0;
	result.procs = 3;
	result.is_load = true;
	result.key_format = "text";
	write_text();
	ASSERT_HAS("Action            : load\n");
	ASSERT_HAS("Values            : 10 to 1000 (mean 123.5) bytes\n");
	ASSERT_HAS("Keys              : text, hashed, 16 bytes at most\n");
	ASSERT_HAS("Processes         : 3, each with the database open\n");
	end();
}
END_TEST

START_TEST(only_the_first_threads_are_listed)
{
	static struct job_thread many[20];
	begin();
	for (int t = 0; t < 20; t++)
		many[t] = (struct job_thread){10, 1000000000, 10};
	group.measured.threads = many;
	group.measured.thread_count = 20;
	write_text();
	ASSERT_HAS("Ops/s by thread   : 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 ...\n");
	group.measured.thread_count = 1;
	write_text();
	ASSERT_HAS_NOT("by thread");
	end();
}
END_TEST

START_TEST(notes_come_last)
{
	begin();
	strcpy(result.notes[0], "all is vanity");
	result.note_count = 1;
	write_text();
	ck_assert_str_eq(text + strlen(text) - strlen("Note              : all is vanity\n"),
		"Note              : all is vanity\n");
	end();
}
END_TEST

START_TEST(a_report_that_cannot_be_written_is_told)
{
	FILE *full = fopen("/dev/full", "w");
	begin();
	ck_assert_ptr_nonnull(full);
	ck_assert_int_eq(nb_job_result_write_text(&result, full, 0), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "No space left on device"));
	group.measured.has_begun = false; /* without a table, it comes to light at the end */
	clearerr(full);
	ck_assert_int_eq(nb_job_result_write_text(&result, full, 0), NB_FAIL);
	ck_assert_str_eq(
		nb_error_text(), "the result cannot be written: No space left on device");
	fclose(full);
	end();
}
END_TEST

int
main(void)
{
	return UNIT_RUN("report_job", a_report_has_its_form,
		counters_stand_behind_the_engine_with_their_share_of_an_operation,
		without_a_rate_there_is_neither_response_nor_queue, a_queue_that_grew_is_told,
		one_kind_alone_has_no_line_for_all, what_a_warm_up_was_is_told,
		answers_that_are_not_ok_are_told, findings_are_listed,
		what_was_not_done_is_told, a_head_tells_the_sizes_and_the_processes,
		only_the_first_threads_are_listed, notes_come_last,
		a_report_that_cannot_be_written_is_told);
}
