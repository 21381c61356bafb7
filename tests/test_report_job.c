/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of a job: the lines that no stored result has; tests/golden pins the others. */
#include <stdlib.h>
#include <string.h>

#include "report/result.h"
#include "unit.h"

static struct job_result_group group;
static struct job_thread threads[20];
static struct nb_result result;

static void
begin(void)
{
	for (int t = 0; t < 20; t++)
		threads[t] = (struct job_thread){10, 1000000000, 10};
	group = (struct job_result_group){.name = "users",
		.threads = 20,
		.weights = {[NB_OP_READ] = 1},
		.measured = {.has_begun = true,
			.wall_ns = 500000000,
			.threads = threads,
			.thread_count = 20}};
	result = (struct nb_result){.engine = {.name = "leveldb"},
		.verify_rate = 0.01,
		.is_job = true,
		.name = (char *)(uintptr_t) "my.ini",
		.key_format = "raw",
		.key_order = "hashed",
		.groups = &group,
		.group_count = 1};
}

static void
assert_has(const char *part)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert_int_eq(nb_result_write_text(&result, out, 0), NB_OK);
	fclose(out);
	ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in:\n%s", part, text);
	free(text);
}

TEST(lines_that_no_stored_result_has)
{
	begin();
	group.warmup_count = 77;
	group.measured.trace_counts = (struct nb_trace_counts){
		.others = 5, .bad = 6, .first_bad = "line 7"};
	assert_has("operations in 0.500000 sec, without a warm-up of 77 operations\n");
	assert_has("Ops/s by thread   : 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 ...\n");
	assert_has("Left out          : 5 of kinds that mininb does not do\n"
		   "Left out          : 6 damaged; the first is line 7\n");
	result.verify_rate = 0;
	assert_has("Verified          : nothing (not asked for)\n");
	group.measured.kinds[NB_OP_READ].answers[NB_CONFLICT] = 4;
	assert_has("Conflicts         : 4 (each tried again, in the same latency)\n");
	group.measured.has_begun = false;
	assert_has("\nusers: was not begun\n");
}

TEST(keys_of_wrong_records_are_hexadecimal_unless_printable)
{
	begin();
	group.is_blind_to_gaps = true;
	group.measured.findings = (struct job_findings){.verified = 100,
		.verdicts = {[JOB_GOOD] = 97, [JOB_STALE] = 1, [JOB_MISSING] = 2},
		.case_count = 3};
	struct job_case *cases = group.measured.findings.cases;
	cases[0] = (struct job_case){.op = 17,
		.kind = NB_OP_READ,
		.verdict = JOB_STALE,
		.version = 3,
		.expected = 9,
		.key_size = 3,
		.key = {0xab, 0, 0x1f}};
	cases[1] = (struct job_case){
		.op = 18, .kind = NB_OP_SCAN, .verdict = JOB_MISSING, .key_size = 40};
	cases[2] = (struct job_case){.op = 19,
		.kind = NB_OP_READ,
		.verdict = JOB_MISSING,
		.key_size = 2,
		.key = "k7"};
	assert_has(
		"Verified          : 100 records: 3 wrong; gaps of scans were not looked for\n"
		"Wrong             : read, operation 17, key ab001f: stale, version 3, "
		"expected 9\n"
		"Wrong             : scan, operation 18, key "
		"0000000000000000000000000000000000000000000000000000000000000000...: missing\n"
		"Wrong             : read, operation 19, key k7: missing\n");
}
