/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What mixed workloads cost: the making of an operation, and the whole loop of a job on the
 * null engine, beside a bare loop that does only what cannot be left out: two stamps, the
 * indirect call, one histogram increment, on one key for ever.
 *
 * Each is measured in fresh processes, in turn (fresh.h). 16-byte keys,
 * 100-byte values, a million records, latencies recorded, a hundredth of the reads verified
 * (against null's answers, which are wrong; that is no matter here). The time of the loop is
 * the wall time of the measured operations, that of making operations is a loop over
 * ops_begin(), ops_make() and arrivals_next() alone.
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

static const struct mix {
	const char *name;
	const char *settings[SETTINGS_MAX];
} mixes[] = {
	{"ycsb-c, zipfian", {"read=100", "distribution=zipfian"}},
	{"ycsb-c, uniform", {"read=100"}},
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

static struct nb_job *
make_job(const struct mix *mix, uint32_t threads)
{
	struct nb_job *job;
	char text[64];
	must(nb_job_read(&job, NULL));
	must(nb_job_set(job, "records=1M"));
	snprintf(text, sizeof(text), "threads=%u", threads);
	must(nb_job_set(job, text));
	snprintf(text, sizeof(text), "count=%llu", (unsigned long long)(count * threads));
	must(nb_job_set(job, text));
	for (size_t i = 0; i < SETTINGS_MAX && mix->settings[i] != NULL; i++)
		must(nb_job_set(job, mix->settings[i]));
	return job;
}

/** ns of the whole loop for an operation of a thread. */
static double
run_ns(const struct mix *mix, uint32_t threads)
{
	struct nb_job *job = make_job(mix, threads);
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
	double ns = (double)run->parts[0].measured.wall_ns / (double)count;
	nb_run_delete(run);
	nb_job_delete(job);
	return ns;
}

/** ns to make an operation, and its due time if there is a rate. */
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
	bool is_paced = group->arrivals != NB_ARRIVAL_CLOSED;
	must(keyspace_create(&keys, job, job->records + count));
	must(sizes_create(&sizes, &job->values));
	ops_spec_create(&spec, job, group, &keys, &sizes, 0, 1);
	must(ops_maker_create(&maker, &spec));
	if (is_paced) {
		must(schedule_create(&schedule, group));
		arrivals_create(&arrivals, &schedule, 0, 1, 1);
	}
	uint64_t begin_ns = clock_monotonic();
	for (uint64_t s = 0; s * OPS_STRATUM < count; s++) {
		ops_begin(&maker, s);
		for (uint32_t n; (n = ops_make(&maker)) > 0; made += n) {
			if (is_paced)
				arrivals_next(&arrivals, due, n);
			__asm__ volatile("" : : "r"(maker.ops), "r"(due) : "memory");
		}
	}
	double ns = (double)(clock_monotonic() - begin_ns) / (double)made;
	if (is_paced)
		schedule_destroy(&schedule);
	ops_maker_destroy(&maker);
	sizes_destroy(&sizes);
	keyspace_destroy(&keys);
	nb_job_delete(job);
	return ns;
}

static struct nb_histogram histogram;

/** ns of the bare loop. */
static double
bare_ns(const struct clock *clock)
{
	const struct nb_engine *engine = engine_builtin("null");
	struct nb_open_args args = {.size = sizeof(args),
		.host = nb_engine_host(),
		.path = "/",
		.value_size = 100,
		.sessions = 1};
	struct nb_db *db;
	struct nb_session *session;
	static const uint8_t key[16];
	struct nb_slice slice = {key, sizeof(key)}, value;
	must(engine->open(&db, &args));
	must(engine->session_open(&session, db, 0));
	uint64_t begin_ns = clock_monotonic();
	for (uint64_t i = 0; i < count; i++) {
		uint64_t t0 = clock_stamp(NB_CLOCK_TSC);
		int rc = engine->get(session, slice, &value);
		uint64_t t1 = clock_stamp(NB_CLOCK_TSC);
		if (rc != NB_OK)
			abort();
		histogram.counts[histogram_index(clock_ns(clock, t1 - t0))]++;
	}
	double ns = (double)(clock_monotonic() - begin_ns) / (double)count;
	must(engine->session_close(session));
	must(engine->close(db));
	return ns;
}

enum { MAKE, BARE, ONE, TWO, SIDES };

static const char *const sides[SIDES] = {"make", "bare loop", "1 thread", "2 threads"};

static double
measure(int mix, int side)
{
	struct clock clock;
	if (side == MAKE)
		return make_ns(&mixes[mix]);
	if (side != BARE)
		return run_ns(&mixes[mix], side == TWO ? 2 : 1);
	must(clock_create(&clock, NB_CLOCK_TSC));
	histogram_create(&histogram);
	return bare_ns(&clock);
}

static void
print_spread(const char *name, struct spread spread, const char *unit)
{
	printf("  %-9s %9.3f [%.3f .. %.3f]%s\n", name, spread.median, spread.least,
		spread.most, unit);
}

int
main(int argc, char **argv)
{
	int processes = argc > 1 ? atoi(argv[1]) : 7;
	if (argc > 2)
		count = strtoull(argv[2], NULL, 10);
	if (processes < 1 || processes > PROCESSES_MAX || count < OPS_STRATUM) {
		fprintf(stderr, "usage: bench_jobs [PROCESSES [OPERATIONS]]\n");
		return 2;
	}
	fresh_begin(argv, measure);
	printf("%d processes for each figure, medians [least .. most]\n", processes);
	for (size_t m = 0; m < sizeof(mixes) / sizeof(*mixes); m++) {
		double ns[SIDES][PROCESSES_MAX];
		fresh_compare(ns, (int)m, SIDES, processes);
		printf("%s\n", mixes[m].name);
		for (int side = 0; side < SIDES; side++)
			print_spread(sides[side], spread_of(ns[side], processes), " ns/op");
		print_spread("2 : 1", spread_of_ratio(ns[TWO], ns[ONE], processes), "");
		fflush(stdout);
	}
	return 0;
}
