/* SPDX-License-Identifier: BSD-2-Clause */
/* Derived figures, computed by hand from simple numbers. */
#include <string.h>

#include "report/metric.h"
#include "toy.h"
#include "unit.h"

static struct nb_histogram *service;
static struct nb_result run;
static struct job_result_group groups[2];
static struct record record;
static struct record_figures figures;

static void
begin(uint32_t verb)
{
	nb_histogram_delete(service);
	ck_assert_int_eq(nb_histogram_new(&service), NB_OK);
	nb_histogram_add(service, 1);
	run = (struct nb_result){.workload = {.verb = verb, .key_size = 10, .value_size = 90},
		.engine_version = "1",
		.settle = NB_RUN_SETTLE_COMPACT,
		.measured = {.ops = 1000,
			.usage_ops = 1000,
			.wall_ns = 500000000,
			.settle_ns = 400000000,
			.close_ns = 100000000,
			.has_settled = true,
			.value_bytes = 90000,
			.service = service,
			.usage = {.user_ns = 1500000, .system_ns = 500000},
			.used = {.known = SYSTEM_PROCESS | SYSTEM_IO | SYSTEM_DEVICE |
					SYSTEM_CYCLES | SYSTEM_CACHE,
				.call_read_bytes = 50000,
				.storage_read_bytes = 200000,
				.device_read_bytes = 250000,
				.call_write_bytes = 100000,
				.storage_write_bytes = 300000,
				.cancelled_write_bytes = 50000,
				.device_write_bytes = 100000,
				.cycles = 4000000,
				.instructions = 6000000,
				.cache_misses = 3000},
			.used_after = {.known = SYSTEM_IO | SYSTEM_DEVICE,
				.call_write_bytes = 20000,
				.call_read_bytes = 1000000,
				.storage_write_bytes = 60000,
				.cancelled_write_bytes = 10000,
				.device_write_bytes = 400000},
			.data_bytes = 150000,
			.live_bytes = 100000}};
	record = (struct record){.run = &run};
}

static double
value(const char *metric)
{
	struct metric_source source;
	metric_source_create(&source, &record);
	return metric_take(metric_find(metric), &source).real;
}

static void
reckon(void)
{
	record_figures(&record, &figures);
}

#define ASSERT_NEAR(x, y) ck_assert_double_eq_tol(x, y, 1e-9)

TEST(writes_of_a_put_count_until_it_is_closed)
{
	begin(NB_VERB_PUT);
	reckon();
	ck_assert_uint_eq(figures.logical_write_bytes, 100000);
	ck_assert_uint_eq(figures.logical_read_bytes, 0);
	ASSERT_NEAR(figures.write_calls, 1.2);
	ASSERT_NEAR(figures.write_storage, 3);
	ASSERT_NEAR(figures.write_device, 5);
	ASSERT_NEAR(figures.read_calls, 0);
	ASSERT_NEAR(figures.read_device, 0);
	ASSERT_NEAR(figures.space, 1.5);
	ck_assert_uint_eq(figures.live_bytes, 100000);
	ASSERT_NEAR(value("rate_ops_s"), 2000);
	ASSERT_NEAR(value("settled_ops_s"), 1000);
}

TEST(reads_of_a_get_are_those_during_the_operations)
{
	begin(NB_VERB_GET);
	run.measured.answers[NB_NOT_FOUND] = 500;
	run.measured.value_bytes = 45000;
	reckon();
	ck_assert_uint_eq(figures.logical_read_bytes, 50000);
	ck_assert_uint_eq(figures.logical_write_bytes, 0);
	ASSERT_NEAR(figures.read_calls, 1);
	ASSERT_NEAR(figures.read_storage, 4);
	ASSERT_NEAR(figures.read_device, 5);
	ASSERT_NEAR(figures.write_calls, 0);
}

TEST(delete_counts_its_keys_as_written)
{
	begin(NB_VERB_DELETE);
	run.measured.value_bytes = 0;
	reckon();
	ck_assert_uint_eq(figures.logical_write_bytes, 10000);
	ASSERT_NEAR(figures.write_storage, 30);
}

static struct nb_summary
summarize(void)
{
	struct nb_summary summary;
	record_summary(&record, &summary);
	return summary;
}

/** Check the figure in the table and in the summary. */
static void
assert_cpu_ns_op(double ns)
{
	ASSERT_NEAR(value("cpu_ns_op"), ns);
	ASSERT_NEAR(summarize().cpu_ns_op, ns);
}

TEST(processor_events_are_per_operation)
{
	begin(NB_VERB_GET);
	run.measured.usage_ops = 2000; /* includes a warm-up */
	reckon();
	assert_cpu_ns_op(1000);
	ASSERT_NEAR(figures.cycles_op, 2000);
	ASSERT_NEAR(figures.instructions_op, 3000);
	ASSERT_NEAR(figures.cache_misses_op, 1.5);
	/* with a rate, the CPU time of the harness includes its sleep calls */
	run.is_paced = true;
	reckon();
	assert_cpu_ns_op(0);
	ASSERT_NEAR(figures.cycles_op, 0);
	run.is_paced = false;
	run.is_of_processes = true;
	reckon();
	assert_cpu_ns_op(0);
	run.is_of_processes = false;
	run.measured.usage_ops = 0;
	assert_cpu_ns_op(0);
}

TEST(unknown_values_are_omitted)
{
	begin(NB_VERB_PUT);
	run.measured.used.known = 0;
	run.measured.live_bytes = 0;
	reckon();
	ASSERT_NEAR(figures.write_calls, 0);
	ASSERT_NEAR(figures.write_storage, 0);
	ASSERT_NEAR(figures.write_device, 0);
	ASSERT_NEAR(figures.cycles_op, 0);
	ASSERT_NEAR(figures.space, 0);
	ASSERT_NEAR(figures.resident_share, -1);
	run.measured.used.known = SYSTEM_IO; /* excludes the time after the measurement */
	run.measured.used_after.known = 0;
	reckon();
	ASSERT_NEAR(figures.write_calls, 0);
	record.run = NULL;
	reckon();
	ASSERT_NEAR(value("rate_ops_s"), 0);
}

TEST(residency_is_that_at_the_start_if_known)
{
	begin(NB_VERB_GET);
	run.measured.residency_before = (struct residency){
		.resident_bytes = 10, .total_bytes = 100, .is_known = 1};
	reckon();
	ASSERT_NEAR(figures.resident_share, 0.1);
	run.measured.residency_begin = (struct residency){
		.resident_bytes = 50, .total_bytes = 100, .is_known = 1};
	reckon();
	ASSERT_NEAR(figures.resident_share, 0.5);
	run.measured.residency_begin.total_bytes = 0;
	reckon();
	ASSERT_NEAR(figures.resident_share, -1);
}

static void
begin_job(void)
{
	begin(NB_VERB_DELETE);
	run.is_job = true;
	run.groups = groups;
	run.group_count = 1;
	run.key_size = 10;
	run.service = run.response = service;
	memset(groups, 0, sizeof(groups));
}

TEST(figures_of_the_foreground_exclude_background_groups)
{
	begin_job();
	run.group_count = 2;
	groups[0].measured = (struct job_measurement){
		.ops = 100, .done = 100, .commits = 100, .wall_ns = 500000000};
	groups[1].measured = (struct job_measurement){
		.ops = 900, .done = 900, .wall_ns = 490000000};
	groups[1].is_background = true;
	reckon();
	ASSERT_NEAR(value("rate_ops_s"), 200);
	ASSERT_NEAR(value("settled_ops_s"), 100);
	ASSERT_NEAR(value("cpu_ns_op"), 0);
	ASSERT_NEAR(figures.cycles_op, 0);
	ASSERT_NEAR(summarize().rate_ops_s, 200);
	ASSERT_NEAR(summarize().settled_ops_s, 100);
	ASSERT_NEAR(summarize().cpu_ns_op, 0);
	/* a read-only foreground has nothing to settle */
	groups[0].measured.commits = 0;
	groups[1].measured.commits = 900;
	ASSERT_NEAR(summarize().settled_ops_s, 0);
	groups[1].is_background = false;
	ASSERT_NEAR(summarize().settled_ops_s, 1000);
	ASSERT_NEAR(summarize().cpu_ns_op, 2000);
}

static void
add_kind(uint32_t kind, uint64_t ops, uint64_t records, uint64_t bytes)
{
	groups[0].measured.kinds[kind] = (struct job_kind){
		.ops = ops, .records = records, .bytes = bytes, .service = service};
	groups[0].measured.ops += ops;
	groups[0].measured.done += ops;
}

TEST(each_kind_of_operation_reads_or_writes)
{
	static const struct {
		uint32_t kind;
		uint64_t ops, records, bytes, read, written;
	} cases[] = {
		{NB_OP_READ, 10, 8, 800, 880, 0},
		{NB_OP_UPDATE, 10, 10, 900, 0, 1000},
		{NB_OP_INSERT, 10, 10, 900, 0, 1000},
		{NB_OP_UPSERT, 10, 10, 900, 0, 1000},
		{NB_OP_DELETE, 10, 0, 0, 0, 100},
		{NB_OP_SCAN, 2, 100, 9000, 10000, 0},
		{NB_OP_RMW, 10, 20, 1800, 1000, 1000},
		{NB_OP_RMW, 10, 15, 1350, 500, 1000}, /* five records were missing */
		{NB_OP_BATCH, 2, 20, 1800, 0, 2000},
		{NB_OP_MULTIGET, 2, 20, 1800, 2000, 0},
		{NB_OP_TXN_READ, 2, 20, 1800, 2000, 0},
		{NB_OP_TXN_WRITE, 2, 20, 1800, 0, 2000},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin_job();
		add_kind(cases[i].kind, cases[i].ops, cases[i].records, cases[i].bytes);
		reckon();
		ck_assert_uint_eq(figures.logical_read_bytes, cases[i].read);
		ck_assert_uint_eq(figures.logical_write_bytes, cases[i].written);
	}
}

TEST(logical_bytes_include_the_warm_up)
{
	begin_job();
	add_kind(NB_OP_READ, 100, 100, 9000);
	add_kind(NB_OP_UPDATE, 100, 100, 9000);
	groups[0].measured.done = 300;
	reckon();
	ck_assert_uint_eq(figures.logical_read_bytes, 15000);
	ck_assert_uint_eq(figures.logical_write_bytes, 15000);
	ASSERT_NEAR(figures.write_calls, 8);
}

TEST(figures_of_a_run_on_the_toy_are_exact)
{
	struct toy_rig rig;
	struct nb_result *result;
	toy_create(
		&rig, "records = 100\nvalue-size = 92\nread = 1\ncount = 1000\nwarmup = 200\n");
	ck_assert_msg(toy_run(&rig) == NB_OK, "%s", nb_error_text());
	ck_assert_int_eq(nb_result_new(&result, rig.run), NB_OK);
	record = (struct record){.run = result};
	reckon();
	ck_assert_uint_eq(figures.logical_read_bytes, 100000);
	ck_assert_uint_eq(figures.live_bytes, 10000);
	nb_result_delete(result);
	toy_destroy(&rig);
}
