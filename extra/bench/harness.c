/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of mininb's harness, relative to a loop by hand with the bare minimum:
 * fetch the key from the mapped file, two stamps, the indirect call, one histogram
 * increment.
 *
 * Each side is measured in new processes, in turn (fresh.h). The result is the median of
 * the ratios, because a shared machine mostly slows both processes of a turn in the same
 * way.
 *
 * The harness is the complete public nb_run_execute() on the null engine. The engine's
 * table claims that it keeps data, so that the default share of gets is verified. That the
 * values are wrong does not matter here. The time is the wall time that the run reports: it
 * excludes the survey and start-up, and includes blocks, values, counting and ticks. A put
 * includes making its value, which the loop by hand does not do.
 *
 *     extra/bench/run.sh        builds and runs it
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "fresh.h"
#include "report/result.h"
#include "run/engine.h"
#include "run/run.h"

enum { THREADS_MAX = 2, KEY = 16, VALUE = 100 };

static const char *keys_path = "bench-keys.bin";
static uint64_t count = 4000000;
static const uint8_t *keys;
static struct clock ticker;
static double cpu_ns; /* per operation of the last run, all threads of the process */

struct hand {
	const struct nb_engine *engine;
	struct nb_session *session;
	uint32_t verb;
	uint64_t begin, end, elapsed_ns;
	struct nb_histogram histogram;
};

static inline __attribute__((always_inline)) void
hand_loop(struct hand *hand, uint32_t clock_kind, int is_put)
{
	static const uint8_t value[VALUE];
	const struct nb_engine *engine = hand->engine;
	uint64_t begin = clock_stamp(clock_kind);
	for (uint64_t i = hand->begin; i < hand->end; i++) {
		uint8_t key[KEY];
		struct nb_slice got;
		memcpy(key, keys + i * KEY, KEY);
		uint64_t t0 = clock_stamp(clock_kind);
		int rc = is_put ? engine->put(hand->session, (struct nb_slice){key, KEY},
					  (struct nb_slice){value, VALUE})
				: engine->get(hand->session, (struct nb_slice){key, KEY}, &got);
		uint64_t t1 = clock_stamp(clock_kind);
		if (rc != NB_OK)
			abort();
		hand->histogram.counts[histogram_index(clock_ns(&ticker, t1 - t0))]++;
	}
	hand->elapsed_ns = clock_ns(&ticker, clock_stamp(clock_kind) - begin);
}

static void *
hand_main(void *arg)
{
	struct hand *hand = arg;
	int is_put = hand->verb == NB_VERB_PUT;
	if (ticker.kind == NB_CLOCK_TSC)
		is_put ? hand_loop(hand, NB_CLOCK_TSC, 1) : hand_loop(hand, NB_CLOCK_TSC, 0);
	else
		is_put ? hand_loop(hand, NB_CLOCK_MONOTONIC, 1)
		       : hand_loop(hand, NB_CLOCK_MONOTONIC, 0);
	return NULL;
}

/** The time of the loop by hand in ns per operation and thread. */
static double
by_hand(uint32_t verb, uint32_t threads)
{
	const struct nb_engine *engine = engine_builtin("null");
	struct nb_open_args args = {.size = sizeof(args),
		.host = nb_engine_host(),
		.path = "/",
		.key_size = KEY,
		.value_size = VALUE,
		.sessions = threads};
	struct nb_db *db;
	struct hand *hands[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	if (engine->open(&db, &args) != NB_OK)
		abort();
	for (uint32_t t = 0; t < threads; t++) {
		struct hand *hand = aligned_alloc(HISTOGRAM_ALIGN, sizeof(*hand));
		histogram_create(&hand->histogram);
		hand->engine = engine;
		hand->verb = verb;
		hand->begin = count * t / threads;
		hand->end = count * (t + 1) / threads;
		if (engine->session_open(&hand->session, db, t) != NB_OK)
			abort();
		hands[t] = hand;
	}
	for (uint32_t t = 0; t < threads; t++)
		pthread_create(&ids[t], NULL, hand_main, hands[t]);
	uint64_t slowest = 0;
	for (uint32_t t = 0; t < threads; t++) {
		pthread_join(ids[t], NULL);
		if (hands[t]->elapsed_ns > slowest)
			slowest = hands[t]->elapsed_ns;
		if (engine->session_close(hands[t]->session) != NB_OK)
			abort();
		free(hands[t]);
	}
	if (engine->close(db) != NB_OK)
		abort();
	madvise((void *)(uintptr_t)keys, count * KEY, MADV_DONTNEED);
	return (double)slowest * threads / (double)count;
}

/** A get requires a directory that is not empty. */
static void
make_database_look_there(void)
{
	mkdir("bench-nb", 0777);
	mkdir("bench-nb/null", 0777);
	mkdir("bench-nb/null/data", 0777);
}

/** The time of mininb in ns per operation and thread. `sample_ns`: see nb_run_options. */
static double
by_mininb(uint32_t verb, uint32_t threads, uint64_t sample_ns)
{
	struct nb_workload workload = NB_WORKLOAD_INIT;
	workload.verb = verb;
	workload.count = count;
	workload.keys_path = keys_path;
	struct nb_run_options options = NB_RUN_OPTIONS_INIT;
	options.workload = &workload;
	options.driver = "null";
	options.path = "bench-nb";
	options.threads = threads;
	options.clock = ticker.kind;
	options.sample_ns = sample_ns;
	options.flags = NB_RUN_FORCE; /* the directory was not created by mininb */
	struct nb_run *run;
	struct nb_result *result;
	int rc = nb_run_new(&run, &options);
	if (rc == NB_OK) {
		run->engine->table.caps ^= NB_CAP_SYNTHETIC | NB_CAP_PERSISTENT;
		make_database_look_there();
		rc = nb_run_execute(run);
	}
	if ((rc != NB_OK && rc != NB_ERR_DATA) || nb_result_new(&result, run) != NB_OK) {
		fprintf(stderr, "%s\n", nb_error_text());
		exit(1);
	}
	double ns = (double)nb_result_wall_ns(result) * threads / (double)count;
	const struct system_counts *usage = &result->measured.usage;
	cpu_ns = (double)(usage->user_ns + usage->system_ns) / (double)count;
	nb_result_delete(result);
	nb_run_delete(run);
	return ns;
}

enum kind { AGAINST_HAND, SCALE, SAMPLING, SAMPLING_CPU };

static const struct setting {
	enum kind kind;
	uint32_t verb, threads;
} settings[] = {
	{AGAINST_HAND, NB_VERB_GET, 1},
	{AGAINST_HAND, NB_VERB_PUT, 1},
	{AGAINST_HAND, NB_VERB_GET, 2},
	{AGAINST_HAND, NB_VERB_PUT, 2},
	{SCALE, NB_VERB_GET, 2},
	{SCALE, NB_VERB_PUT, 2},
	{SAMPLING, NB_VERB_GET, 1},
	{SAMPLING_CPU, NB_VERB_GET, 1},
	{SAMPLING, NB_VERB_GET, 2},
	{SAMPLING_CPU, NB_VERB_GET, 2},
};

/**
 * The two sides of each kind. CPU time includes the sampling thread; on a shared machine it
 * varies far less than the wall time.
 */
static const struct {
	const char *sides[2], *unit;
} kinds[] = {
	[AGAINST_HAND] = {{"by hand", "mininb"}, "ns/op"},
	[SCALE] = {{"1 thread", "2 threads"}, "ns/op per thread"},
	[SAMPLING] = {{"without samples", "with"}, "ns/op"},
	[SAMPLING_CPU] = {{"without samples", "with"}, "ns/op of CPU time"},
};

static void
map_keys(void)
{
	int fd = open(keys_path, O_RDONLY);
	keys = mmap(NULL, count * KEY, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || keys == MAP_FAILED) {
		perror(keys_path);
		exit(1);
	}
	close(fd);
}

static double
measure(int number, int side)
{
	const struct setting *setting = &settings[number];
	if (keys == NULL)
		map_keys();
	switch (setting->kind) {
	case AGAINST_HAND:
		return side == 0 ? by_hand(setting->verb, setting->threads)
				 : by_mininb(setting->verb, setting->threads, 0);
	case SCALE:
		return by_mininb(setting->verb, side == 0 ? 1 : 2, 0);
	default:
		break;
	}
	double ns = by_mininb(setting->verb, setting->threads, side == 0 ? UINT64_MAX : 0);
	return setting->kind == SAMPLING ? ns : cpu_ns;
}

static void
compare(int number, int processes)
{
	const struct setting *setting = &settings[number];
	double ns[2][PROCESSES_MAX];
	fresh_compare(ns, number, 2, processes);
	printf("%s %u thread%s", nb_verb_name(setting->verb), setting->threads,
		setting->threads == 1 ? " " : "s");
	for (int side = 0; side < 2; side++) {
		struct spread spread = spread_of(ns[side], processes);
		printf("  %s %.1f [%.1f .. %.1f]", kinds[setting->kind].sides[side],
			spread.median, spread.least, spread.most);
	}
	struct spread ratio = spread_of_ratio(ns[1], ns[0], processes);
	printf(" %s  ratio %.3f [%.3f .. %.3f]\n", kinds[setting->kind].unit, ratio.median,
		ratio.least, ratio.most);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	int processes = argc > 1 ? atoi(argv[1]) : 7;
	if (argc > 2)
		count = strtoull(argv[2], NULL, 10);
	uint32_t kind = argc > 3 && strcmp(argv[3], "monotonic") == 0 ? NB_CLOCK_MONOTONIC
								      : NB_CLOCK_AUTO;
	if (processes < 1 || processes > PROCESSES_MAX ||
		clock_create(&ticker, kind) != NB_OK) {
		fprintf(stderr,
			"usage: harness [PROCESSES] [COUNT] [tsc|monotonic] [sampling]\n");
		return 1;
	}
	fresh_begin(argv, measure);
	if (nb_keys_make(keys_path, KEY, count, 1, NULL, NULL) != NB_OK) {
		fprintf(stderr, "%s: %s\n", keys_path, nb_error_text());
		return 1;
	}
	printf("clock %s, %.1f ns a stamp; %llu operations, %d processes for each side, "
	       "medians "
	       "[least .. most]\n",
		clock_name(&ticker), ticker.read_ns, (unsigned long long)count, processes);
	/*
	 * run separately, because it needs more operations: a run below 0.2 s has only one
	 * sample
	 */
	int is_sampling = argc > 4 && strcmp(argv[4], "sampling") == 0;
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if ((settings[i].kind >= SAMPLING) == is_sampling)
			compare((int)i, processes);
	unlink(keys_path);
	return nb_tree_remove("bench-nb") == NB_OK ? 0 : 1;
}
