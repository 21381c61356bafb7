/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_FRESH_H
#define BENCH_FRESH_H
/**
 * Compares sides, each measured in its own new processes.
 *
 * Processes differ by several percent: the addresses of code, stack and heap and the pages
 * of the page cache differ. Repetitions inside one process do not show that. So a sample is
 * the median of REPEATS repetitions in one new process.
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
 * Store the arguments for starting this program again. In a process started by
 * fresh_compare() this function measures, prints the sample and exits, so call it before
 * any other work.
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
 * The present time in ns: CLOCK_MONOTONIC, or with BENCH_TIME=cpu the CPU time of all
 * threads of the process, which other work on the machine affects far less.
 */
uint64_t
fresh_now(void);

/** The duration of a run by the same clock; `cpu_ns` is the CPU time of all its threads. */
uint64_t
fresh_took(uint64_t wall_ns, uint64_t cpu_ns);

/** Median, minimum and maximum of the first `n` samples. */
struct spread
spread_of(const double *samples, int n);

/** The same for the ratios of samples of the same turn. */
struct spread
spread_of_ratio(const double *over, const double *under, int n);

#endif /* BENCH_FRESH_H */
