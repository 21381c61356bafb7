/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs whose operations come from traces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "toy.h"
#include "unit.h"

enum { LOADED = 3000, RUN = 5000 };

static struct toy_rig rig;
static struct nb_trace_options traces[2];
static char paths[2][128];

static FILE *
begin(const char *text)
{
	toy_create(&rig, text);
	for (int i = 0; i < 2; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/trace%d", rig.dir, i);
		traces[i] = (struct nb_trace_options)NB_TRACE_OPTIONS_INIT;
		traces[i].path = paths[i];
	}
	rig.options.traces = traces;
	rig.options.makes_database = 1;
	return fopen(paths[0], "w");
}

static uint64_t
key_of(uint64_t i)
{
	return i * 0x9e3779b97f4a7c15u >> 20;
}

/** A loading and a run, as YCSB's text format represents them. */
static void
begin_two(uint32_t threads)
{
	char text[160];
	snprintf(text, sizeof(text),
		"records = 0\nthreads = %u\n[loading]\ninsert = 1\n[run]\nread = 1\nstart = "
		"after\n",
		threads);
	FILE *file = begin(text);
	for (uint64_t i = 0; i < LOADED; i++)
		fprintf(file, "INSERT %llu\n", (unsigned long long)key_of(i));
	fclose(file);
	file = fopen(paths[1], "w");
	for (uint64_t i = 0; i < RUN; i++) {
		static const char *const verbs[] = {"READ", "UPDATE", "READ", "SCAN"};
		const char *verb = verbs[i % 4];
		fprintf(file, "%s %llu%s\n", verb, (unsigned long long)key_of(i * 7 % LOADED),
			verb[0] == 'S' ? " 5" : "");
	}
	fclose(file);
}

TEST(a_loading_and_a_run_are_two_groups)
{
	static const uint32_t threads[] = {1, 2, 5};
	uint64_t digest = 0;
	for (size_t t = 0; t < sizeof(threads) / sizeof(*threads); t++) {
		begin_two(threads[t]);
		toy.is_logging = true;
		int rc = toy_run(&rig);
		ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
		const struct job_measurement *loading = toy_measured(&rig, 0);
		const struct job_measurement *run = toy_measured(&rig, 1);
		ck_assert_uint_eq(loading->ops, LOADED);
		ck_assert_uint_eq(loading->kinds[NB_OP_INSERT].ops, LOADED);
		ck_assert_uint_eq(run->ops, RUN);
		const struct counters *counters = &rig.run->measured.counters;
		ck_assert_uint_eq(counters_find(counters, "puts")->value, LOADED + RUN / 4);
		ck_assert_uint_eq(counters_find(counters, "gets")->value, RUN / 2);
		ck_assert_uint_eq(run->kinds[NB_OP_READ].ops, RUN / 2);
		ck_assert_uint_eq(run->kinds[NB_OP_UPDATE].ops, RUN / 4);
		ck_assert_uint_eq(run->kinds[NB_OP_SCAN].ops, RUN / 4);
		ck_assert_ptr_null(run->kinds[NB_OP_DELETE].service); /* no deletes */
		/* the value of a key is the key's 8 bytes, and all were verified */
		ck_assert_uint_eq(loading->kinds[NB_OP_INSERT].bytes, LOADED * 8);
		ck_assert_uint_eq(toy_wrong(&run->findings), 0);
		ck_assert_uint_eq(run->findings.foreign, 0);
		ck_assert_uint_ge(run->findings.verified, RUN / 2 + RUN / 4);
		ck_assert(!run->is_partial);
		ck_assert(t == 0 || rig.run->digest == digest);
		digest = rig.run->digest;
		for (uint64_t i = 0; i < toy.logged; i++)
			ck_assert(toy.log[i].verb != TOY_PUT || toy.log[i].size == 8);
	}
}

/** 4000 puts and 1000 deletes of keys without reads. */
static void
begin_writes(void)
{
	FILE *file = begin("records = 0\nthreads = 1\n[run]\nread = 1");
	for (int i = 0; i < 4000; i++)
		fprintf(file, "INSERT usertable user%d [ field0=%040d]\n", i, i);
	for (int i = 0; i < 4000; i += 4)
		fprintf(file, "DELETE usertable user%d\n", i);
	fclose(file);
}

TEST(writes_of_a_trace_are_read_back)
{
	static const struct {
		uint32_t defect, verb;
		int rc;
		uint64_t missing, stale;
	} cases[] = {{TOY_RIGHT, TOY_PUT, NB_OK, 0, 0}, {TOY_DROP, TOY_PUT, NB_ERR_DATA, 1, 0},
		{TOY_DROP, TOY_DEL, NB_ERR_DATA, 0, 1}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		begin_writes();
		if (cases[c].defect != TOY_RIGHT) /* of one of 4000 puts or 1000 deletes */
			toy_break_run(&rig, cases[c].defect, cases[c].verb, 500, 1);
		int rc = toy_run(&rig);
		ck_assert_msg(rc == cases[c].rc, "%d: %s", rc, nb_error_text());
		const struct job_findings *findings = &toy_measured(&rig, 0)->findings;
		ck_assert_uint_gt(findings->read_back, 3500);
		ck_assert_uint_le(findings->read_back, 4000);
		ck_assert_uint_eq(findings->verdicts[JOB_MISSING], cases[c].missing);
		ck_assert_uint_eq(findings->verdicts[JOB_STALE], cases[c].stale);
		ck_assert_uint_eq(toy_wrong(findings), cases[c].missing + cases[c].stale);
	}
}

TEST(wrong_values_and_misses_of_a_trace_are_found)
{
	static const struct {
		uint32_t defect, verb;
		int verdict;
	} cases[] = {{TOY_FLIP, TOY_GET, JOB_CORRUPT}, {TOY_CUT, TOY_GET, JOB_WRONG_SIZE},
		{TOY_MISS, TOY_GET, JOB_MISSING}, {TOY_FLIP, TOY_SCAN_NEXT, JOB_CORRUPT}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		begin_two(2);
		toy_break_run(&rig, cases[c].defect, cases[c].verb, 100, 1);
		ck_assert_int_eq(toy_run(&rig), NB_ERR_DATA);
		/* found in the run or when the loading's puts are read back */
		const struct job_findings *run = &toy_measured(&rig, 1)->findings;
		const struct job_findings *loading = &toy_measured(&rig, 0)->findings;
		ck_assert_uint_eq(
			run->verdicts[cases[c].verdict] + loading->verdicts[cases[c].verdict],
			1);
		ck_assert_uint_eq(toy_wrong(run) + toy_wrong(loading), 1);
	}
}

#define ONE "records = 0\n[run]\nread = 1\n"

/** Write a trace in our format. Its operations go to keys 0 to keys - 1 in turn. */
static void
write_trace(const uint32_t *kinds, size_t kind_count, uint64_t count, uint64_t keys,
	uint64_t step_ns)
{
	struct trace_writer *writer;
	struct nb_trace_options to = traces[0];
	to.format = NB_TRACE_MININB;
	ck_assert_int_eq(trace_writer_open(&writer, &to), NB_OK);
	for (uint64_t i = 0; i < count; i++) {
		uint8_t key[8] = {0};
		key[6] = (uint8_t)(i / kind_count % keys >> 8);
		key[7] = (uint8_t)(i / kind_count % keys);
		struct trace_op op = {.kind = kinds[i % kind_count],
			.key = {key, 8},
			.has_value_size = ops_is_write(kinds[i % kind_count]),
			.value_size = ops_is_write(kinds[i % kind_count]) ? 40 : 0,
			.has_due = step_ns > 0,
			.due_ns = i * step_ns};
		ck_assert_int_eq(trace_writer_add(writer, &op), NB_OK);
	}
	ck_assert_int_eq(trace_writer_finish(writer), NB_OK);
}

TEST(values_that_the_trace_put_are_its_own_however_long_ago)
{
	/* more keys than a thread remembers; reads come after they are forgotten */
	static const uint32_t both[] = {NB_OP_UPSERT, NB_OP_READ};
	for (uint32_t threads = 1; threads <= 3; threads++) {
		fclose(begin(ONE));
		rig.job->groups[0].threads = threads;
		write_trace(both, 2, 9000, 2000, 0);
		int rc = toy_run(&rig);
		ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
		ck_assert_uint_eq(toy_measured(&rig, 0)->findings.foreign, 0);
		const struct job_findings *findings = &toy_measured(&rig, 0)->findings;
		ck_assert_uint_eq(findings->verified - findings->read_back, 4500);
	}
}

TEST(a_lost_put_of_a_trace_is_found_for_any_number_of_threads)
{
	static const uint32_t kinds[] = {NB_OP_UPSERT, NB_OP_READ};
	for (uint32_t threads = 1; threads <= 3; threads++) {
		fclose(begin(ONE));
		rig.job->groups[0].threads = threads;
		write_trace(kinds, 2, 2000, 100, 0);
		/*
		 * neither the key's first put nor its last, so one read before the next put
		 * detects it
		 */
		toy_break_run_for(&rig, 42, TOY_DROP, TOY_PUT, 5);
		ck_assert_int_eq(toy_run(&rig), NB_ERR_DATA);
		ck_assert_uint_eq(toy_measured(&rig, 0)->findings.verdicts[JOB_STALE], 1);
	}
}

TEST(records_deleted_by_a_trace_may_be_missing)
{
	static const uint32_t kinds[] = {NB_OP_UPSERT, NB_OP_DELETE, NB_OP_READ};
	fclose(begin(ONE));
	rig.job->groups[0].threads = 3;
	write_trace(kinds, 3, 9000, 3000, 0);
	int rc = toy_run(&rig);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(toy_measured(&rig, 0)->kinds[NB_OP_READ].answers[NB_NOT_FOUND], 3000);
	/* both the read and reading back find a delete without effect */
	fclose(begin(ONE));
	write_trace(kinds, 3, 900, 300, 0);
	toy_break_run(&rig, TOY_DROP, TOY_DEL, 20, 1);
	ck_assert_int_eq(toy_run(&rig), NB_ERR_DATA);
	ck_assert_uint_eq(toy_measured(&rig, 0)->findings.verdicts[JOB_STALE], 2);
}

TEST(with_a_speed_operations_are_due_at_the_traces_times)
{
	static const uint32_t kinds[] = {NB_OP_UPSERT, NB_OP_READ};
	for (uint32_t threads = 1; threads <= 3; threads += 2) {
		fclose(begin(ONE));
		rig.job->groups[0].threads = threads;
		rig.options.speed = 2;
		write_trace(kinds, 2, 400, 100, 200000); /* 80 ms, or 40 at twice the speed */
		int rc = toy_run(&rig);
		ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
		const struct job_measurement *measured = toy_measured(&rig, 0);
		ck_assert_uint_eq(measured->ops, 400);
		/* the last operation does not begin before it is due */
		ck_assert_uint_ge(measured->span_ns, 399 * 200000 / 2);
		const struct job_kind *read = &measured->kinds[NB_OP_READ];
		ck_assert_uint_eq(nb_histogram_count(read->response), 200);
		ck_assert_uint_ge(
			nb_histogram_sum(read->response), nb_histogram_sum(read->service));
		struct nb_result *result;
		char *text = NULL;
		size_t size;
		ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
		FILE *out = open_memstream(&text, &size);
		ck_assert_int_eq(nb_result_write_text(result, out, 0), NB_OK);
		fclose(out);
		ck_assert_ptr_nonnull(strstr(text, "at the times of the trace"));
		ck_assert_ptr_null(strstr(text, "closed loop"));
		free(text);
		nb_result_delete(result);
	}
}

TEST(a_rate_goes_before_the_traces_times)
{
	static const uint32_t kinds[] = {NB_OP_UPSERT};
	fclose(begin(ONE "rate = 10k\n"));
	rig.options.speed = 1e-6;
	write_trace(kinds, 1, 100, 100, 200000);
	int rc = toy_run(&rig);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(toy_measured(&rig, 0)->ops, 100);
	ck_assert_double_gt(toy_measured(&rig, 0)->offered_ops, 98);
}

TEST(operations_before_a_damage_are_reported)
{
	FILE *file = begin(ONE);
	for (int i = 0; i < 1000; i++)
		fprintf(file, "INSERT %d\n", i);
	fprintf(file, "INSRET 5\nINSERT 1\n");
	fclose(file);
	ck_assert_int_eq(toy_run(&rig), NB_ERR_DATA);
	toy_assert_told("1001");
	ck_assert_uint_eq(toy_measured(&rig, 0)->ops, 1000);
	ck_assert(toy_measured(&rig, 0)->is_partial);
	struct nb_result *result;
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	nb_result_delete(result);
}

TEST(a_worker_that_fails_ends_the_reader_too)
{
	begin_two(3);
	toy_break_run(&rig, TOY_FAIL, TOY_PUT, 1500, 1);
	ck_assert_int_eq(toy_run(&rig), NB_FAIL);
	toy_assert_told("toy: insert, operation ");
	ck_assert(toy_measured(&rig, 0)->is_partial);
	ck_assert(!toy_measured(&rig, 1)->has_begun);
}

TEST(scans_on_an_engine_without_them_are_refused_with_their_operation)
{
	FILE *file = begin(ONE);
	fprintf(file, "INSERT 1\nINSERT 2\nSCAN 1 2\n");
	fclose(file);
	rig.options.driver = "null";
	ck_assert_int_eq(nb_run_new(&rig.run, &rig.options), NB_OK);
	ck_assert_int_eq(nb_run_execute(rig.run), NB_UNSUPPORTED);
	toy_assert_told("operation 2 of the trace: it is a scan");
}

TEST(missing_trace_is_reported_before_any_change)
{
	fclose(begin(ONE));
	remove(paths[0]);
	ck_assert_int_eq(nb_run_new(&rig.run, &rig.options), NB_FAIL);
	toy_assert_told("trace0");
	rig.options.speed = -1;
	ck_assert_int_eq(nb_run_new(&rig.run, &rig.options), NB_ERR_USAGE);
	toy_assert_told("speed: must not be below 0");
}
