/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of mixed workloads: making an operation, and the complete loop of a job
 * on the null engine. They are compared with a bare loop with the minimum: two stamps, the
 * indirect call, one histogram increment, always on one key. Workloads with reads only are
 * also compared with a loop by hand. It does the same on the keys of the job, and makes
 * each key when it needs it.
 *
 * Each is measured in new processes, in turn (fresh.h): 16-byte keys, 100-byte values, a
 * million records, latencies recorded, a hundredth of the reads verified. (The answers of
 * null are wrong, which does not matter here.) The time of the loop is the wall time of the
 * measured operations. The time of making operations is that of a loop over ops_begin(),
 * ops_make() and arrivals_next() only.
 *
 *     extra/bench/run.sh jobs
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "fresh.h"
#include "run/engine.h"
#include "run/run.h"

enum { SETTINGS_MAX = 8 };

static uint64_t count = 4000000;

#define TEXT "key-format=text", "key-order=ycsb", "key-prefix=user"

static const struct mix {
	const char *name;
	const char *settings[SETTINGS_MAX];
	uint32_t records; /* mean number per operation; 0: 1 */
} mixes[] = {
	{"ycsb-c, zipfian", {"read=100", "distribution=zipfian"}},
	{"ycsb-c, uniform", {"read=100"}},
	{"ycsb-c, zipfian, text keys", {"read=100", "distribution=zipfian", TEXT}},
	{"ycsb-c, uniform, text keys", {"read=100", TEXT}},
	{"99 % of reads, 1 % of transactions of 2..500 reads",
		{"read=99", "txn-read=1", "items=uniform:2..500"}},
	{"99 % of reads, 1 % of transactions of a zipfian number of reads",
		{"read=99", "txn-read=1", "items=zipfian:2..500"}},
	/*
	 * close to the published histogram of its read transactions: mean 20 for 19, median
	 * 4
	 */
	{"99 % of reads, 1 % of transactions as large as TAOBench's",
		{"read=99", "txn-read=1", "items=pareto:1.9,1.5,2..500"}},
	{"transactions of 2..500 reads alone", {"txn-read=100", "items=uniform:2..500"}, 251},
	{"99 % of reads, 1 % of updates", {"read=99", "update=1"}},
	{"ycsb-a, zipfian", {"read=50", "update=50", "distribution=zipfian"}},
	{"ycsb-d, latest", {"read=95", "insert=5", "distribution=latest"}},
	{"ycsb-a at 1G ops/s", {"read=50", "update=50", "distribution=zipfian", "rate=1G"}},
	{"the same, Poisson",
		{"read=50", "update=50", "distribution=zipfian", "rate=1G",
			"arrivals=poisson"}},
};

static void
must(int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s\n", nb_error_text());
	exit(1);
}

/** The number of operations of a thread. */
static uint64_t
count_of(const struct mix *mix)
{
	return mix->records > 0 ? count / mix->records : count;
}

static bool
is_paced(const struct mix *mix)
{
	return strncmp(mix->settings[3] != NULL ? mix->settings[3] : "", "rate=", 5) == 0;
}

static bool
is_of_reads(const struct mix *mix)
{
	return strcmp(mix->settings[0], "read=100") == 0;
}

static struct nb_job *
make_job(const struct mix *mix, uint32_t threads)
{
	struct nb_job *job;
	char text[64];
	must(nb_job_read(&job, NULL));
	must(nb_job_set(job, "records=1M"));
	snprintf(text, sizeof(text), "threads=%u", threads);
	must(nb_job_set(job, text));
	snprintf(text, sizeof(text), "count=%llu",
		(unsigned long long)(count_of(mix) * threads));
	must(nb_job_set(job, text));
	for (size_t i = 0; i < SETTINGS_MAX && mix->settings[i] != NULL; i++)
		must(nb_job_set(job, mix->settings[i]));
	return job;
}

/** The time of the complete loop in ns per operation of a thread. */
static double
run_ns(const struct mix *mix, uint32_t threads, const char *latency)
{
	struct nb_job *job = make_job(mix, threads);
	must(nb_job_set(job, latency));
	struct nb_run_options options = NB_RUN_OPTIONS_INIT;
	struct nb_run *run;
	options.job = job;
	options.driver = "null";
	options.path = "bench-nb";
	must(nb_run_new(&run, &options));
	run->parts[0].plan.verify_threshold = sample_threshold(0.01);
	int rc = nb_run_execute(run);
	if (rc != NB_ERR_DATA)
		must(rc);
	const struct job_measurement *measured = &run->parts[0].measured;
	const struct system_counts *usage = &run->measured.usage;
	uint64_t cpu_ns = (usage->user_ns + usage->system_ns) / threads;
	double ns = (double)fresh_took(measured->wall_ns, cpu_ns) / (double)count_of(mix);
	nb_run_delete(run);
	nb_job_delete(job);
	return ns;
}

/** The time to make an operation, and its due time if there is a rate, in ns. */
static double
make_ns(const struct mix *mix)
{
	struct nb_job *job = make_job(mix, 1);
	const struct nb_group *group = &job->groups[0];
	struct keyspace keys;
	struct sizes sizes;
	struct ops_spec spec;
	struct ops_maker maker;
	struct schedule schedule;
	struct arrivals arrivals;
	uint64_t due[OPS_STRATUM], made = 0;
	bool has_rate = group->arrivals != NB_ARRIVAL_CLOSED;
	must(keyspace_create(&keys, job, job->records + count));
	must(sizes_create(&sizes, &job->values));
	ops_spec_create(&spec, job, group, &keys, &sizes, 0, 1);
	must(ops_maker_create(&maker, &spec));
	if (has_rate) {
		must(schedule_create(&schedule, group));
		arrivals_create(&arrivals, &schedule, 0, 1, 1);
	}
	uint64_t begin_ns = fresh_now();
	for (uint64_t s = 0; s * OPS_STRATUM < count_of(mix); s++) {
		ops_begin(&maker, s);
		for (uint32_t n; (n = ops_make(&maker)) > 0; made += n) {
			if (has_rate)
				arrivals_next(&arrivals, due, n);
			__asm__ volatile("" : : "r"(maker.ops), "r"(due) : "memory");
		}
	}
	double ns = (double)(fresh_now() - begin_ns) / (double)made;
	if (has_rate)
		schedule_destroy(&schedule);
	ops_maker_destroy(&maker);
	sizes_destroy(&sizes);
	keyspace_destroy(&keys);
	nb_job_delete(job);
	return ns;
}

static struct nb_histogram histogram;

/** Make the key of operation i independently of the others. */
static inline struct nb_slice
make_key(const struct ops_spec *spec, uint64_t i, uint8_t *key)
{
	uint64_t random = splitmix64_mix(spec->seed + i * UINT64_C(0x9e3779b97f4a7c15));
	uint64_t number = dist_draw(&spec->dist, &random, i);
	return (struct nb_slice){key, keyspace_key(spec->keys, number, key)};
}

/** The time of the bare loop in ns; with a spec, on its keys. */
static double
bare_ns(const struct clock *clock, const struct ops_spec *spec)
{
	const struct nb_engine *engine = engine_builtin("null");
	struct nb_open_args args = {.size = sizeof(args),
		.host = nb_engine_host(),
		.path = "/",
		.value_size = 100,
		.sessions = 1};
	struct nb_db *db;
	struct nb_session *session;
	static uint8_t key[NB_KEY_SIZE_MAX];
	struct nb_slice slice = {key, 16}, value;
	must(engine->open(&db, &args));
	must(engine->session_open(&session, db, 0));
	uint64_t begin_ns = fresh_now();
	for (uint64_t i = 0; i < count; i++) {
		if (spec != NULL)
			slice = make_key(spec, i, key);
		uint64_t t0 = clock_stamp(NB_CLOCK_TSC);
		int rc = engine->get(session, slice, &value);
		worker_consume(value);
		uint64_t t1 = clock_stamp(NB_CLOCK_TSC);
		if (rc != NB_OK)
			abort();
		histogram.counts[histogram_index(clock_ns(clock, t1 - t0))]++;
	}
	double ns = (double)(fresh_now() - begin_ns) / (double)count;
	must(engine->session_close(session));
	must(engine->close(db));
	return ns;
}

static double
hand_ns(const struct clock *clock, const struct mix *mix)
{
	struct nb_job *job = make_job(mix, 1);
	struct keyspace keys;
	struct sizes sizes;
	struct ops_spec spec;
	must(keyspace_create(&keys, job, job->records + count));
	must(sizes_create(&sizes, &job->values));
	ops_spec_create(&spec, job, &job->groups[0], &keys, &sizes, 0, 1);
	double ns = bare_ns(clock, &spec);
	sizes_destroy(&sizes);
	keyspace_destroy(&keys);
	nb_job_delete(job);
	return ns;
}

/* `sampled` needs a job without a rate; `by hand` needs a job with reads only. */
enum { MAKE, BARE, ONE, TWO, SAMPLED, HAND, SIDES };

static const char *const sides[SIDES] = {
	"make", "bare loop", "1 thread", "2 threads", "sampled:64", "by hand"};

static double
measure(int number, int side)
{
	const struct mix *mix = &mixes[number];
	struct clock clock;
	if (side == MAKE)
		return make_ns(mix);
	if (side != BARE && side != HAND)
		return run_ns(mix, side == TWO ? 2 : 1,
			side == SAMPLED ? "latency=sampled:64" : "latency=each");
	must(clock_create(&clock, NB_CLOCK_TSC));
	histogram_create(&histogram);
	return side == BARE ? bare_ns(&clock, NULL) : hand_ns(&clock, mix);
}

static void
print_spread(const char *name, struct spread spread, const char *unit)
{
	printf("  %-10s %9.3f [%.3f .. %.3f]%s\n", name, spread.median, spread.least,
		spread.most, unit);
}

static void
compare(int number, int processes)
{
	const struct mix *mix = &mixes[number];
	double ns[SIDES][PROCESSES_MAX];
	int count_of_sides = is_of_reads(mix) ? SIDES : is_paced(mix) ? SAMPLED : HAND;
	fresh_compare(ns, number, count_of_sides, processes);
	printf("%s\n", mix->name);
	for (int side = 0; side < count_of_sides; side++)
		print_spread(sides[side], spread_of(ns[side], processes), " ns/op");
	print_spread("2 : 1", spread_of_ratio(ns[TWO], ns[ONE], processes), "");
	if (is_of_reads(mix))
		print_spread("1 : hand", spread_of_ratio(ns[ONE], ns[HAND], processes), "");
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	int processes = argc > 1 ? atoi(argv[1]) : 7;
	if (argc > 2)
		count = strtoull(argv[2], NULL, 10);
	if (processes < 1 || processes > PROCESSES_MAX || count < OPS_STRATUM) {
		fprintf(stderr, "usage: bench_jobs [PROCESSES [OPERATIONS [NAME]]]\n");
		return 2;
	}
	fresh_begin(argv, measure);
	printf("%d processes for each figure, medians [least .. most]\n", processes);
	for (size_t m = 0; m < sizeof(mixes) / sizeof(*mixes); m++) {
		if (argc > 3 && strstr(mixes[m].name, argv[3]) == NULL)
			continue;
		compare((int)m, processes);
	}
	return 0;
}
