/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_FRESH_H
#define BENCH_FRESH_H
/**
 * Sides that are compared, each measured in fresh processes of its own.
 *
 * Processes differ among themselves by several percent: the addresses of code, stack and
 * heap and the pages of the page cache differ. Repetitions inside one process do not show
 * that. A sample is therefore the median of REPEATS repetitions in one new process.
 */

#include <stdint.h>

enum { PROCESSES_MAX = 101, REPEATS = 3 };

/** Measure `side` once under `setting`; both are numbers of the benchmark. */
typedef double
fresh_measure(int setting, int side);

struct spread {
	double median, least, most;
};

/**
 * Remember how to start this program again. In a process started by fresh_compare() this
 * function measures, prints the sample and exits, so call it before any other work.
 */
void
fresh_begin(char **argv, fresh_measure *measure);

/**
 * Fill samples[side][0 .. processes - 1] of each side. The sides run in turn, and the
 * first side changes from turn to turn. Any failure ends the program.
 */
void
fresh_compare(double samples[][PROCESSES_MAX], int setting, int sides, int processes);

/**
 * Now, in ns: of CLOCK_MONOTONIC, or with BENCH_TIME=cpu the CPU time of the process, all threads
 * together, which other work on the machine moves far less.
 */
uint64_t
fresh_now(void);

/** What a run took by the same clock; `cpu_ns` is of all its threads. */
uint64_t
fresh_took(uint64_t wall_ns, uint64_t cpu_ns);

/** Median, least and most of the first `n` samples. */
struct spread
spread_of(const double *samples, int n);

/** The same of the ratios of samples that were taken in the same turn. */
struct spread
spread_of_ratio(const double *over, const double *under, int n);

#endif /* BENCH_FRESH_H */
