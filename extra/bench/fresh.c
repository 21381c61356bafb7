/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This program takes a sample by starting itself again with fork() and execv(). Without
 * execv() all processes would share the addresses and pages of their parent. The child gets
 * the same arguments, and its setting and side from BENCH_SAMPLE.
 *
 * BENCH_SAME=SIDE measures SIDE in place of each side. All ratios should then be 1 within
 * their spread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fresh.h"

static char **arguments;

static void
check(int is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	exit(1);
}

static int
is_cpu_time(void)
{
	const char *what = getenv("BENCH_TIME");
	return what != NULL && strcmp(what, "cpu") == 0;
}

uint64_t
fresh_now(void)
{
	struct timespec now;
	check(clock_gettime(is_cpu_time() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now) ==
			0,
		"clock_gettime");
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
fresh_took(uint64_t wall_ns, uint64_t cpu_ns)
{
	return is_cpu_time() ? cpu_ns : wall_ns;
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct spread
spread_of(const double *samples, int n)
{
	double sorted[PROCESSES_MAX];
	memcpy(sorted, samples, (size_t)n * sizeof(*sorted));
	qsort(sorted, (size_t)n, sizeof(*sorted), compare_doubles);
	return (struct spread){
		(sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[0], sorted[n - 1]};
}

struct spread
spread_of_ratio(const double *over, const double *under, int n)
{
	double ratio[PROCESSES_MAX];
	for (int i = 0; i < n; i++)
		ratio[i] = over[i] / under[i];
	return spread_of(ratio, n);
}

void
fresh_begin(char **argv, fresh_measure *measure)
{
	arguments = argv;
	const char *sample = getenv("BENCH_SAMPLE"), *same = getenv("BENCH_SAME");
	int setting, side;
	if (sample == NULL)
		return;
	check(sscanf(sample, "%d %d", &setting, &side) == 2, "BENCH_SAMPLE");
	if (same != NULL)
		side = atoi(same);
	double repeated[REPEATS];
	for (int i = 0; i < REPEATS; i++)
		repeated[i] = measure(setting, side);
	printf("%.17g\n", spread_of(repeated, REPEATS).median);
	exit(0);
}

static double
sample_once(int setting, int side)
{
	int ends[2], status;
	char text[64];
	check(pipe(ends) == 0, "pipe");
	fflush(stdout); /* else the child would print the buffer again */
	pid_t child = fork();
	check(child >= 0, "fork");
	if (child == 0) {
		snprintf(text, sizeof(text), "%d %d", setting, side);
		check(setenv("BENCH_SAMPLE", text, 1) == 0, "setenv");
		check(dup2(ends[1], STDOUT_FILENO) >= 0, "dup2");
		close(ends[0]);
		close(ends[1]);
		execv("/proc/self/exe", arguments);
		perror("execv /proc/self/exe");
		_exit(1);
	}
	close(ends[1]);
	FILE *output = fdopen(ends[0], "r");
	check(output != NULL, "fdopen");
	double sample = 0;
	int got = fscanf(output, "%lf", &sample);
	fclose(output);
	check(waitpid(child, &status, 0) == child, "waitpid");
	if (got != 1 || status != 0 || !(sample > 0)) {
		fprintf(stderr, "bench: setting %d, side %d: the process failed\n", setting,
			side);
		exit(1);
	}
	return sample;
}

void
fresh_compare(double samples[][PROCESSES_MAX], int setting, int sides, int processes)
{
	for (int i = 0; i < processes; i++)
		for (int k = 0; k < sides; k++) {
			int side = (i + k) % sides;
			samples[side][i] = sample_once(setting, side);
		}
}
