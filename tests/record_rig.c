/* SPDX-License-Identifier: BSD-2-Clause */
#include "record_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/rng.h"
#include "unit.h"

enum { SECONDS = 30, WARM_SECONDS = 2, STALL_AT_MS = 12000, STALL_MS = 600, PULSE_MS = 20 };

static const char *
version(void)
{
	return "1.23";
}

struct nb_results *
record_rig_new(void)
{
	static const char *const words[] = {"run", "--driver=leveldb", "--workload=ycsb-a",
		"--durability=process", "--path=/tmp/a b"};
	static const char *const names[] = {"driver", "workload", "durability", "path"};
	static const char *const values[] = {"leveldb", "ycsb-a", "process", "/tmp/a b"};
	struct nb_results *results;
	ck_assert_int_eq(nb_results_new(&results), NB_OK);
	struct nb_command command = {.size = sizeof(command),
		.action = "run",
		.directory = "/home/user",
		.words = words,
		.word_count = 5,
		.names = names,
		.values = values,
		.option_count = 4,
		.job = "[workload]\nrecords = 100000\n\n[readers]\nread = 90\nscan = 10\n"};
	ck_assert_int_eq(nb_results_set_command(results, &command), NB_OK);
	return results;
}

enum { FACTORS = 4096 };

/**
 * Log-normal factors of the median. Computed once, because drawing them took most of a test's
 * time.
 */
static const double *
median_factors(void)
{
	static double factors[FACTORS];
	struct rng rng;
	rng_create(&rng, 1);
	for (int i = 0; factors[FACTORS - 1] == 0 && i < FACTORS; i++) {
		double sum = 0;
		for (int k = 0; k < 12; k++)
			sum += (double)(rng_next(&rng) >> 11) * 0x1p-53;
		factors[i] = exp(0.4 * (sum - 6));
	}
	return factors;
}

/** A log-normal histogram; some values are 300 times larger. */
static struct nb_histogram *
latencies(uint64_t seed, uint64_t count, double median_ns)
{
	const double *factors = median_factors();
	struct nb_histogram *histogram;
	struct rng rng;
	ck_assert_int_eq(nb_histogram_new(&histogram), NB_OK);
	rng_create(&rng, seed);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t random = rng_next(&rng);
		double ns = median_ns * factors[random % FACTORS];
		if ((random >> 32) % 2000 == 0)
			ns *= 300;
		nb_histogram_add(histogram, (uint64_t)ns);
	}
	return histogram;
}

static char *
copy(const char *text)
{
	char *copied = strdup(text);
	ck_assert_ptr_nonnull(copied);
	return copied;
}

/* ---- time series ---- */

static void
add_latency(struct sample *sample, uint32_t kind, uint32_t is_response, uint64_t seed,
	uint64_t count, double median_ns)
{
	struct sample_latency *into = &sample->latencies[sample->latency_count++];
	struct nb_histogram *histogram = latencies(seed, count, median_ns);
	*into = (struct sample_latency){.kind = kind,
		.is_response = is_response,
		.count = count,
		.p50_ns = histogram_supported(histogram, 50),
		.p99_ns = histogram_supported(histogram, 99),
		.p999_ns = histogram_supported(histogram, 99.9),
		.max_ns = nb_histogram_max(histogram)};
	ck_assert_int_eq(nb_histogram_encode(histogram, &into->hdr), NB_OK);
	nb_histogram_delete(histogram);
}

static struct system_counts
used_in(uint64_t ns, uint64_t ops)
{
	return (struct system_counts){.known = SYSTEM_PROCESS | SYSTEM_IO | SYSTEM_DEVICE |
			SYSTEM_MACHINE | SYSTEM_PRESSURE,
		.user_ns = ns / 2,
		.system_ns = ns / 5,
		.minor_faults = ops / 100,
		.major_faults = ops / 5000,
		.voluntary_switches = ops / 50,
		.involuntary_switches = ops / 5000,
		.call_read_bytes = ops * 90,
		.call_write_bytes = ops * 250,
		.read_calls = ops / 3,
		.write_calls = ops / 2,
		.storage_read_bytes = ops * 40,
		.storage_write_bytes = ops * 300,
		.device_read_bytes = ops * 44,
		.device_write_bytes = ops * 420,
		.device_reads = ops / 90,
		.device_writes = ops / 60,
		.device_busy_ns = ns / 10,
		.busy_ns = ns,
		.pressure_io_ns = ns / 50};
}

static void
add_sample(struct series *series, uint32_t second, uint32_t kinds, bool is_paced, double scale)
{
	bool is_stalled = second == STALL_AT_MS / 1000;
	uint64_t ops = is_stalled ? 4000 : 10000 + second % 3 * 200;
	struct sample sample = {.end_ns = (second + 1) * UINT64_C(1000000000),
		.duration_ns = 1000000000,
		.ops = ops,
		.is_warmup = second < WARM_SECONDS,
		.behind_ops = is_stalled ? 3000 : 0,
		.used = used_in(1000000000, ops),
		.levels = {.anonymous_bytes = (40 + second) << 20,
			.file_bytes = 6u << 20,
			.data_bytes = (uint64_t)(100 + 3 * second) << 20,
			.dirty_bytes = (uint64_t)(second % 5) << 22,
			.threads = 5}};
	sample.latencies = calloc(8, sizeof(*sample.latencies));
	sample.counters = calloc(3, sizeof(*sample.counters));
	ck_assert(sample.latencies != NULL && sample.counters != NULL);
	sample.counter_count = 3;
	sample.counters[0] = is_stalled ? 7 : second % 4 == 0;
	sample.counters[1] = ops * 300;
	sample.counters[2] = (uint64_t)(2 + second % 3);
	double median = 20000 * scale * (is_stalled ? 3 : 1);
	for (uint32_t kind = 0; !sample.is_warmup && kind < NB_OP_KINDS; kind++) {
		if ((kinds & 1u << kind) == 0)
			continue;
		add_latency(&sample, kind, 0, second * 100 + kind, ops / 4, median);
		if (is_paced && (kind == NB_OP_READ || kind == NB_OP_SCAN))
			add_latency(&sample, kind, 1, second * 100 + 50 + kind, ops / 4,
				median * 2);
	}
	ck_assert_int_eq(series_add(series, &sample), NB_OK);
}

static void
add_counter(struct counters *counters, const char *name, const char *unit, uint32_t kind,
	uint64_t value)
{
	counters->items = realloc(
		counters->items, (counters->count + 1) * sizeof(*counters->items));
	ck_assert_ptr_nonnull(counters->items);
	counters->items[counters->count++] = (struct counter){
		.name = copy(name), .unit = copy(unit), .kind = kind, .value = value};
}

static void
add_counters(struct counters *counters, uint32_t seconds)
{
	add_counter(counters, "compactions", "compactions", NB_STAT_COUNTER, 7 + seconds / 4);
	add_counter(counters, "written", "bytes", NB_STAT_COUNTER, seconds * UINT64_C(3000000));
	add_counter(counters, "level0_files", "files", NB_STAT_GAUGE, 3);
}

static void
add_pulses(struct series *series, uint32_t seconds)
{
	series->pulses = calloc(1, sizeof(*series->pulses));
	ck_assert_ptr_nonnull(series->pulses);
	struct pulses *pulses = series->pulses;
	series->pulses_count = 1;
	*pulses = (struct pulses){
		.pulse_ns = PULSE_MS * UINT64_C(1000000), .count = seconds * 1000 / PULSE_MS};
	pulses->ops = calloc(pulses->count, sizeof(*pulses->ops));
	ck_assert_ptr_nonnull(pulses->ops);
	for (size_t i = 0; i < pulses->count; i++) {
		uint64_t ms = i * PULSE_MS;
		bool is_stalled = ms >= STALL_AT_MS && ms < STALL_AT_MS + STALL_MS;
		pulses->ops[i] = is_stalled ? 0 : 200 + (uint32_t)(i % 7);
	}
	if (seconds * 1000 > STALL_AT_MS)
		pulses->gaps[pulses->gap_count++] = (struct gap){
			STALL_AT_MS * UINT64_C(1000000), STALL_MS * UINT64_C(1000000)};
}

static void
fill_series(
	struct series *series, uint32_t seconds, uint32_t kinds, bool is_paced, double scale)
{
	series->interval_ns = 1000000000;
	add_counters(&series->counters, seconds);
	for (uint32_t second = 0; second < seconds; second++)
		add_sample(series, second, kinds, is_paced, scale);
	add_pulses(series, seconds);
}

/* ---- common to jobs and classic actions ---- */

static void
fill_environment(struct environment *environment)
{
	*environment = (struct environment){.begun = "2026-01-02T03:04:05+00:00",
		.host = "bench1",
		.system = "Debian GNU/Linux 12 (bookworm)",
		.kernel = "Linux 6.1.0-18-amd64 x86_64",
		.cpu = "AMD EPYC 7B13",
		.clock_source = "tsc",
		.governor = "performance",
		.turbo = "on",
		.huge_pages = "madvise",
		.allocator = "glibc 2.36",
		.compiler = "gcc 12.2.0",
		.build = "release",
		.revision = "0123456789abcdef",
		.libraries = "zlib 1.2.13, jansson 2.14",
		.directory = "/data/nb/leveldb",
		.mount = "/data",
		.mount_source = "/dev/nvme0n1p1",
		.mount_options = "rw,noatime",
		.device = "nvme0n1",
		.device_model = "SAMSUNG MZ1L2960",
		.scheduler = "none",
		.available_bytes = UINT64_C(20) << 30,
		.filesystem_bytes = UINT64_C(900) << 30,
		.free_bytes = UINT64_C(500) << 30,
		.last_level_cache_bytes = 32u << 20,
		.page_bytes = 4096,
		.cpu_mhz_max = 3500,
		.load_1m = 0.25,
		.sockets = 1,
		.numa_nodes = 1,
		.threads_per_core = 2};
}

static void
add_note(struct nb_result *run, const char *id, const char *text)
{
	run->notes = realloc(run->notes, (run->note_count + 1) * sizeof(*run->notes));
	ck_assert_ptr_nonnull(run->notes);
	struct result_note *note = &run->notes[run->note_count++];
	note->is_of_job = false;
	snprintf(note->id, sizeof(note->id), "%s", id);
	note->text = copy(text);
}

static struct nb_result *
new_run(const char *driver, uint32_t verb, uint64_t ops, uint64_t wall_ns)
{
	struct nb_result *run = calloc(1, sizeof(*run));
	ck_assert_ptr_nonnull(run);
	run->engine = (struct nb_engine){.name = driver,
		.summary = "an engine",
		.licence = "BSD-3-Clause",
		.home = "https://example.org/",
		.build = "release",
		.caps = NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT,
		.durabilities = NB_DUR_BIT(NB_DUR_PROCESS) | NB_DUR_BIT(NB_DUR_COMMIT),
		.version = version};
	run->engine_version = version();
	run->version = nb_version();
	run->has_counters = true;
	run->engine_path = copy("/usr/lib/mininb/plugins/engine.so");
	run->options = calloc(2, sizeof(*run->options));
	ck_assert_ptr_nonnull(run->options);
	run->options[0] = (struct result_option){copy("block_size"), copy("4KiB")};
	run->options[1] = (struct result_option){copy("compression"), copy("a|b \"c\" <d>")};
	run->option_count = 2;
	run->workload = (struct nb_workload)NB_WORKLOAD_INIT;
	run->workload.verb = verb;
	run->workload.keys_path = copy("keys.bin");
	run->workload.count = ops;
	run->threads = 2;
	run->durability = NB_DUR_PROCESS;
	run->is_auto_durability = true;
	run->settle = NB_RUN_SETTLE_COMPACT;
	run->verify_rate = 0.01;
	run->digest = UINT64_C(0x0123456789abcdef);
	run->clock = (struct clock){
		.kind = NB_CLOCK_TSC, .tick_hz = 2.45e9, .read_ns = 17.5, .step_ns = 0.41};
	run->sysinfo = (struct sysinfo){.memory_bytes = UINT64_C(23) << 30,
		.cpus = 2,
		.machine_cpus = 2,
		.hypervisor = "KVM",
		.filesystem = "ext4"};
	fill_environment(&run->environment);
	struct measurement *measured = &run->measured;
	*measured = (struct measurement){.has_begun = true,
		.settled = NB_RUN_SETTLE_COMPACT,
		.has_settled = true,
		.has_read_back = true,
		.ops = ops,
		.wall_ns = wall_ns,
		.open_ns = 5000000,
		.settle_ns = 300000000,
		.close_ns = 2000000,
		.answers = {[NB_OK] = ops - 3, [NB_NOT_FOUND] = 3},
		.value_bytes = ops * 100,
		.findings = {.verified = ops / 100},
		.usage = {.user_ns = ops * 3000, .system_ns = ops * 900},
		.usage_ops = ops,
		.usage_ns = wall_ns,
		.data_bytes = UINT64_C(190) << 20,
		.max_resident_bytes = UINT64_C(80) << 20,
		.floor_op_ns = 44.5,
		.floor_call_ns = 19,
		.used = used_in(wall_ns, ops),
		.used_after = used_in(300000000, ops / 10),
		.used_missing = "hardware counters: this machine has none (ENOENT)",
		.before = {.anonymous_bytes = 30u << 20, .file_bytes = 6u << 20},
		.after = {.anonymous_bytes = 70u << 20, .file_bytes = 6u << 20},
		.cold = COLD_FILES,
		.residency_before = {.total_bytes = 100u << 20, .files = 12, .is_known = 1},
		.residency_begin = {.resident_bytes = 3u << 20,
			.total_bytes = 100u << 20,
			.files = 12,
			.is_known = 1},
		.residency_after = {.resident_bytes = 60u << 20,
			.total_bytes = 190u << 20,
			.files = 20,
			.is_known = 1},
		.live_bytes = ops * 116};
	add_counters(&measured->counters, (uint32_t)(wall_ns / 1000000000));
	add_note(run, "closed-loop", "closed loop: each operation waits for the one before");
	add_note(run, "one-run",
		"one repetition: how much it varies from run to run is not known");
	return run;
}

static struct job_thread *
new_threads(uint32_t count, uint64_t ops, uint64_t wall_ns, uint32_t kind)
{
	struct job_thread *threads = calloc(count, sizeof(*threads));
	ck_assert_ptr_nonnull(threads);
	for (uint32_t t = 0; t < count; t++) {
		uint64_t own = ops / count + t * 10;
		threads[t] = (struct job_thread){.ops = own, .wall_ns = wall_ns, .done = own};
		threads[t].kinds[kind] = own;
	}
	return threads;
}

/* ---- a classic action ---- */

struct record *
record_rig_add_put(struct nb_results *results, const char *driver, double scale)
{
	enum { OPS = 100000 };
	struct record *record = results_append(results);
	ck_assert_ptr_nonnull(record);
	snprintf(record->driver, sizeof(record->driver), "%s", driver);
	struct nb_result *run = new_run(driver, NB_VERB_PUT, OPS, UINT64_C(4000000000));
	run->measured.service = latencies(1, OPS, 30000 * scale);
	run->measured.hiccups = latencies(2, 400, 60000);
	run->measured.threads = new_threads(2, OPS, UINT64_C(4000000000), 0);
	run->measured.thread_count = 2;
	fill_series(&run->measured.series, 4, 1, false, scale);
	record->run = run;
	return record;
}

/* ---- a job ---- */

static void
fill_kind(struct job_measurement *measured, uint32_t kind, uint64_t ops, double median_ns,
	bool is_paced)
{
	struct job_kind *into = &measured->kinds[kind];
	*into = (struct job_kind){.ops = ops,
		.answers = {[NB_OK] = ops - 2, [NB_NOT_FOUND] = 2},
		.records = kind == NB_OP_SCAN ? ops * 50 : ops,
		.bytes = ops * 100,
		.service = latencies(kind + 10, ops, median_ns)};
	if (is_paced)
		into->response = latencies(kind + 30, ops, median_ns * 2);
	measured->ops += ops;
	measured->done += ops + 1000;
}

static void
fill_group(struct job_result_group *group, const char *name, uint32_t threads, bool is_paced)
{
	uint64_t wall_ns = (SECONDS - WARM_SECONDS) * UINT64_C(1000000000);
	*group = (struct job_result_group){.threads = threads,
		.arrivals = is_paced ? NB_ARRIVAL_POISSON : NB_ARRIVAL_CLOSED,
		.distribution = NB_DIST_ZIPFIAN,
		.duration_ns = SECONDS * UINT64_C(1000000000),
		.warmup_ns = WARM_SECONDS * UINT64_C(1000000000),
		.is_paced = is_paced,
		.rate_ops_s = is_paced ? 2000 : 0};
	snprintf(group->name, sizeof(group->name), "%s", name);
	group->measured.has_begun = true;
	group->measured.wall_ns = wall_ns;
	group->measured.span_ns = SECONDS * UINT64_C(1000000000);
	group->measured.findings.verified = 560;
	if (is_paced) {
		group->measured.offered_ops = 60000;
		group->measured.lag_ns = 12000;
		group->measured.lag_max_ns = 600000000;
		group->measured.spin_ns = 300000000;
		group->measured.lateness = latencies(77, 5000, 900);
	}
}

static void
fill_groups(struct nb_result *job, double scale)
{
	uint64_t wall_ns = (SECONDS - WARM_SECONDS) * UINT64_C(1000000000);
	job->groups = calloc(3, sizeof(*job->groups));
	ck_assert_ptr_nonnull(job->groups);
	job->group_count = 2;
	struct job_result_group *readers = &job->groups[0], *others = &job->groups[1];
	fill_group(readers, "readers", 1, true);
	readers->weights[NB_OP_READ] = 90;
	readers->weights[NB_OP_SCAN] = 10;
	fill_kind(&readers->measured, NB_OP_READ, 50400, 20000 * scale, true);
	fill_kind(&readers->measured, NB_OP_SCAN, 5600, 90000 * scale, true);
	readers->measured.threads = new_threads(1, 56000, wall_ns, NB_OP_READ);
	readers->measured.thread_count = 1;
	fill_group(others, "writers", 2, false);
	others->weights[NB_OP_UPDATE] = others->weights[NB_OP_INSERT] = 50;
	fill_kind(&others->measured, NB_OP_UPDATE, 110000, 25000 * scale, false);
	fill_kind(&others->measured, NB_OP_INSERT, 114000, 26000 * scale, false);
	others->measured.threads = new_threads(2, 224000, wall_ns, NB_OP_UPDATE);
	others->measured.thread_count = 2;
}

static void
merge_all(struct nb_result *job)
{
	ck_assert_int_eq(nb_histogram_new(&job->service), NB_OK);
	ck_assert_int_eq(nb_histogram_new(&job->response), NB_OK);
	nb_histogram_delete(job->measured.service);
	ck_assert_int_eq(nb_histogram_new(&job->measured.service), NB_OK);
	for (size_t g = 0; g < job->group_count; g++) {
		for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
			const struct job_kind *it = &job->groups[g].measured.kinds[kind];
			if (it->service != NULL)
				nb_histogram_merge(job->service, it->service);
			if (it->response != NULL)
				nb_histogram_merge(job->response, it->response);
		}
	}
	nb_histogram_merge(job->measured.service, job->service);
}

struct record *
record_rig_add_job(struct nb_results *results, const char *driver, double scale)
{
	struct record *record = results_append(results);
	struct nb_result *job = new_run(driver, NB_VERB_DELETE, 280000,
		(SECONDS - WARM_SECONDS) * UINT64_C(1000000000));
	ck_assert_ptr_nonnull(record);
	snprintf(record->driver, sizeof(record->driver), "%s", driver);
	job->is_job = true;
	job->name = copy("ycsb-a");
	job->procs = 1;
	job->records = 100000;
	job->key_size = 23;
	job->value_min = 100;
	job->value_max = 1000;
	job->value_mean = 550;
	job->value_ratio = 0.5;
	job->measured_ratio = 0.503;
	job->key_format = "text";
	job->key_order = "hashed";
	job->is_paced = true;
	job->is_bound_by_time = true;
	job->threads = 3;
	fill_groups(job, scale);
	merge_all(job);
	nb_histogram_delete(job->measured.hiccups);
	job->measured.hiccups = latencies(99, 2800, 60000);
	ck_assert_int_eq(
		result_add_note(job, true, "lateness",
			"readers: the harness itself began half of its operations 0.9us late or later"),
		NB_OK);
	fill_series(&job->measured.series, SECONDS,
		1u << NB_OP_READ | 1u << NB_OP_SCAN | 1u << NB_OP_UPDATE | 1u << NB_OP_INSERT,
		true, scale);
	record->run = job;
	return record;
}

static void
add_repetition(struct nb_results *results, uint32_t contestant, uint32_t round)
{
	const char *driver = contestant == 1 ? "leveldb" : "lmdb";
	struct nb_results *one = record_rig_new();
	double speed = contestant * (1 + round / 100.0);
	struct nb_result *put = record_rig_add_put(one, driver, 1 / speed)->run;
	put->measured.wall_ns = (uint64_t)(4e9 / speed);
	struct record *job = record_rig_add_job(one, driver, 1 / speed);
	job->run->digest = put->digest + 1;
	job->run->threads = 1;
	for (size_t g = 0; g < job->run->group_count; g++)
		job->run->groups[g].measured.wall_ns = (uint64_t)(28e9 / speed);
	nb_results_set_contestant(one, contestant, driver, round);
	ck_assert_int_eq(nb_results_append(results, one), NB_OK);
	nb_results_delete(one);
}

void
record_rig_add_versus(struct nb_results *results)
{
	for (uint32_t round = 1; round <= 4; round++) {
		uint32_t first = round == 3 ? 1 : 2;
		add_repetition(results, first, round);
		add_repetition(results, 3 - first, round);
	}
}

void
record_rig_add_curve(struct nb_results *results)
{
	struct nb_curve_point points[10];
	for (size_t i = 0; i < 10; i++) {
		double share = 0.1 * (double)(i + 1);
		uint64_t queue = (uint64_t)(10000 / (1.05 - share));
		points[i] = (struct nb_curve_point){.size = sizeof(points[i]),
			.share = share,
			.offered_ops_s = 100000 * share,
			.achieved_ops_s = 99000 * share,
			.service_p50_ns = 9000,
			.service_p99_ns = 20000,
			.service_p999_ns = 90000,
			.response_p50_ns = 9000 + queue / 10,
			.response_p99_ns = 20000 + queue,
			.response_p999_ns = 90000 + 5 * queue,
			.response_max_ns = 900000 + 10 * queue,
			.queue_grew = i == 9};
	}
	size_t count = results->count;
	results->count = 1;
	ck_assert_int_eq(nb_results_set_curve(results, 100000, points, 10, NULL, 0), NB_OK);
	results->count = count;
	results_find_points(results);
}

char *
record_rig_written(const struct nb_results *results, const char *format, uint32_t flags)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	ck_assert_msg(
		nb_results_write(results, format, out, flags) == NB_OK, "%s", nb_error_text());
	ck_assert_int_eq(fclose(out), 0);
	return text;
}
