/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of mininb's harness and plugin for an engine. It compares put and get
 * with a plain loop over the engine's own API (hand_<engine>.c), without clock, histogram
 * or verification, with the same keys, settings and kind of values. mininb is measured with
 * time stamps of each operation and with sampled ones.
 *
 * All are measured in new processes, in turn (fresh.h). Each put run starts with a new
 * database. All get runs use the database that mininb has put and settled, whose pages are
 * in the cache. A ratio compares the rates of two processes of one turn: 1 means a harness
 * without cost.
 *
 *     extra/bench/run.sh        builds and runs it
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fresh.h"
#include "report/result.h"
#include "versus.h"
#include "workload/values.h"

#define RAW "bench-raw" /* the database of the loop by hand; that of mininb is db_path */

static const char *keys_path = "bench-keys.bin";
static char db_path[128];
static uint64_t count = 500000;
static const uint8_t *keys;
/* a ring of RING values, made for as many keys: no block of an engine contains a value twice */
static uint8_t *values;

void
must(int is_good, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "bench: %s: %s\n", what, nb_error_text());
	exit(1);
}

static void
remove_dir(const char *path)
{
	must(nb_tree_remove(path) == NB_OK, path);
}

struct loop {
	void *db;
	int is_put;
	uint64_t found, elapsed_ns;
};

static void *
run_loop(void *arg)
{
	struct loop *loop = arg;
	uint64_t begin = fresh_now();
	loop->found = count;
	if (loop->is_put)
		hand.put(loop->db, keys, values, count);
	else
		loop->found = hand.get(loop->db, keys, count);
	loop->elapsed_ns = fresh_now() - begin;
	return NULL;
}

/**
 * The operations per second of the plain loop. It runs in its own thread, like mininb's
 * workers. With two threads in a process, system calls and locks cost more, because the
 * file table and the heap are shared. That is not a cost of the harness.
 */
static double
by_hand(int is_put)
{
	must(!is_put || mkdir(RAW, 0777) == 0, "mkdir " RAW);
	void *db = hand.open(is_put ? RAW : db_path, is_put);
	struct loop loop = {.db = db, .is_put = is_put};
	pthread_t thread;
	must(pthread_create(&thread, NULL, run_loop, &loop) == 0, "pthread_create");
	pthread_join(thread, NULL);
	must(loop.found == count, "a record was not found");
	hand.close(db);
	return (double)count * 1e9 / (double)loop.elapsed_ns;
}

static double
by_mininb(int is_put, const char *latency)
{
	struct nb_workload workload = NB_WORKLOAD_INIT;
	workload.verb = is_put ? NB_VERB_PUT : NB_VERB_GET;
	workload.count = count;
	workload.keys_path = keys_path;
	struct nb_run_options options = NB_RUN_OPTIONS_INIT;
	options.workload = &workload;
	options.driver = hand.driver;
	options.latency = latency;
	options.path = "bench-nb";
	struct nb_run *run;
	struct nb_result *result;
	must(nb_run_new(&run, &options) == NB_OK, "run");
	must(nb_run_execute(run) == NB_OK, "run");
	must(nb_result_new(&result, run) == NB_OK, "result");
	const struct system_counts *usage = &result->measured.usage;
	uint64_t took_ns = fresh_took(
		nb_result_wall_ns(result), usage->user_ns + usage->system_ns);
	nb_result_delete(result);
	nb_run_delete(run);
	return (double)count * 1e9 / (double)took_ns;
}

static void
prepare(void)
{
	int fd = open(keys_path, O_RDONLY);
	keys = mmap(NULL, count * KEY, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	must(fd >= 0 && keys != MAP_FAILED, "mmap");
	close(fd);
	struct value_spec spec;
	value_spec_create(&spec, VALUE, 0.5, 1);
	values = malloc((size_t)RING * STRIDE);
	must(values != NULL && count >= RING, "count");
	for (size_t i = 0; i < RING; i++)
		value_prepare(&spec, values + i * STRIDE);
	values_write(&spec, values, STRIDE, keys, KEY, RING, 0);
}

enum { BY_HAND, EACH, SAMPLED, SIDES };

static double
measure(int is_put, int side)
{
	if (keys == NULL)
		prepare();
	if (is_put)
		remove_dir(side == BY_HAND ? RAW : db_path);
	return side == BY_HAND ? by_hand(is_put)
			       : by_mininb(is_put, side == EACH ? "each" : "sampled:64");
}

static void
print_rate(const char *name, const double *rates, int processes)
{
	struct spread rate = spread_of(rates, processes);
	printf("  %-10s %10.0f [%.0f .. %.0f] ops/s", name, rate.median, rate.least, rate.most);
}

static void
compare(int is_put, int processes)
{
	static const char *const names[SIDES] = {"by hand", "each", "sampled:64"};
	double rate[SIDES][PROCESSES_MAX];
	fresh_compare(rate, is_put, SIDES, processes);
	printf("%s\n", is_put ? "put" : "get");
	print_rate(names[BY_HAND], rate[BY_HAND], processes);
	for (int side = EACH; side < SIDES; side++) {
		struct spread ratio = spread_of_ratio(rate[side], rate[BY_HAND], processes);
		printf("\n");
		print_rate(names[side], rate[side], processes);
		printf("  ratio %.3f [%.3f .. %.3f]", ratio.median, ratio.least, ratio.most);
	}
	printf("\n");
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	int processes = argc > 1 ? atoi(argv[1]) : 7;
	if (argc > 2)
		count = strtoull(argv[2], NULL, 10);
	must(processes >= 1 && processes <= PROCESSES_MAX, "usage: [PROCESSES] [COUNT] [get]");
	snprintf(db_path, sizeof(db_path), "bench-nb/%s", hand.driver);
	fresh_begin(argv, measure);
	must(nb_keys_make(keys_path, KEY, count, 1, NULL, NULL) == NB_OK, "keys");
	printf("%s, %llu records of %d + %d bytes, %d processes for each side, medians "
	       "[least .. most]\n",
		hand.driver, (unsigned long long)count, KEY, VALUE, processes);
	if (argc > 3 && strcmp(argv[3], "get") == 0)
		measure(1, EACH); /* makes the database for the gets */
	else
		compare(1, processes);
	compare(0, processes);
	remove_dir(RAW);
	remove_dir("bench-nb");
	unlink(keys_path);
	return 0;
}
