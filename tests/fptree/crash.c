/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The crash test: operations on a tree are recorded, and at their fences the images that a
 * crash may leave are made, opened, checked and written on. round.c does it.
 *
 * Jobs are processes, since an image can end the one that opens it. The one that waits
 * for them tells by which.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "round.h"

enum {
	JOBS_MAX = 16,
	ROUND_IMAGES = 1500,
	TELL_EVERY = 10000 /* images */
};

/* A mutated build asks which of its defects is on; see mutate.py. */
int crash_mutant;

/* --- jobs --- */

static const struct shape *
shape_named(const char *name)
{
	const struct shape *shape = shapes;
	while (shape->name != NULL && strcmp(shape->name, name) != 0)
		shape++;
	return shape->name != NULL ? shape : NULL;
}

static unsigned
shapes_count(const struct settings *settings)
{
	unsigned count = 0;
	while (shapes[count].name != NULL)
		count++;
	return settings->shape != NULL ? 1 : count;
}

/* Each round takes the next shape; with all of them done, the next seed. */
static bool
run_job(const struct settings *settings, struct tally *tally, unsigned job)
{
	unsigned count = shapes_count(settings);
	uint64_t rounds = (settings->images + settings->round_images - 1) /
		settings->round_images;

	if (rounds < count)
		rounds = count;
	for (uint64_t round = job; round < rounds; round += settings->jobs) {
		const struct shape *shape = settings->shape != NULL
			? shape_named(settings->shape)
			: &shapes[round % count];
		if (!run_round(settings, tally, shape, settings->seed + round / count,
			    (settings->images + rounds - 1) / rounds))
			return false;
	}
	return true;
}

static pid_t
job_start(const struct settings *settings, struct tally *tally, unsigned job)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		bool is_right = run_job(settings, tally, job);
		tally->is_failed = !is_right;
		fflush(NULL);
		_exit(is_right ? 0 : 1);
	}
	return pid;
}

/* The image ended the process that had it open. */
static void
tell_death(const struct settings *settings, struct tally *tally, int status)
{
	tally->is_failed = true;
	if (!settings->is_quiet && !tally->is_told) {
		if (WIFSIGNALED(status))
			fprintf(stderr, "FAILED: an image %s (signal %d)\n",
				WTERMSIG(status) == SIGALRM ? "takes for ever"
							    : "ends the process",
				WTERMSIG(status));
		else
			fprintf(stderr, "FAILED: the job ended with status %d\n",
				WEXITSTATUS(status));
		tell_repeat(tally, settings);
	}
}

/* On a terminal one line that is written over, else a line now and then. */
static void
progress(const struct settings *settings, const struct tally *tallies)
{
	static uint64_t told;
	uint64_t images = 0;
	bool is_terminal = isatty(STDERR_FILENO) != 0;

	for (unsigned i = 0; i < settings->jobs; i++)
		images += tallies[i].images;
	if (settings->is_quiet || (!is_terminal && images < told + TELL_EVERY))
		return;
	told = images;
	fprintf(stderr, is_terminal ? "\r%llu of %llu images " : "%llu of %llu images\n",
		(unsigned long long)images, (unsigned long long)settings->images);
}

static unsigned
job_of(const struct settings *settings, const pid_t *pids, pid_t pid)
{
	unsigned job = 0;
	while (job < settings->jobs && pids[job] != pid)
		job++;
	return job;
}

static void
jobs_wait(const struct settings *settings, struct tally *tallies, pid_t *pids)
{
	unsigned left = settings->jobs;
	bool is_over = false;

	while (left > 0) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0)
			break;
		if (pid == 0) {
			progress(settings, tallies);
			usleep(100 * 1000);
			continue;
		}
		unsigned job = job_of(settings, pids, pid);
		if (job == settings->jobs)
			continue;
		left--;
		pids[job] = 0;
		if (status != 0)
			round_clear(&tallies[job]);
		if (status == 0 || is_over)
			continue;
		is_over = true; /* the others are ended, and say nothing */
		tell_death(settings, &tallies[job], status);
		for (unsigned i = 0; i < settings->jobs; i++)
			if (pids[i] > 0)
				kill(pids[i], SIGTERM);
	}
}

static struct tally
jobs_run(const struct settings *settings)
{
	size_t bytes = settings->jobs * sizeof(struct tally);
	struct tally *tallies = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[JOBS_MAX];
	struct tally sum = {0};

	if (tallies == MAP_FAILED)
		abort();
	for (unsigned i = 0; i < settings->jobs; i++)
		pids[i] = job_start(settings, &tallies[i], i);
	jobs_wait(settings, tallies, pids);
	for (unsigned i = 0; i < settings->jobs; i++) {
		sum.images += tallies[i].images;
		sum.inner_images += tallies[i].inner_images;
		sum.points += tallies[i].points;
		sum.mended += tallies[i].mended;
		sum.ops += tallies[i].ops;
		sum.growths += tallies[i].growths;
		sum.pairs += tallies[i].pairs;
		sum.is_failed = sum.is_failed || tallies[i].is_failed;
	}
	munmap(tallies, bytes);
	return sum;
}

/* --- the command --- */

static const char help[] =
	"crash [--images=N] [--seed=N|now] [--jobs=N] [--shape=NAME]\n"
	"      [--threads=2]   what is recorded is not the same each time then\n"
	"      [--round=N]   images of one shape, before the next one\n"
	"      [--image=SEGMENT.EVENT.K[.EVENT.K]]   that one alone; wants --shape, --seed\n"
	"      [--mutant=N] [--expect-failure] [--quiet]\n"
	"      [--unmended]   with libpmemobj's own defect, see footers.c\n";

static int
usage(const char *what)
{
	fprintf(stderr, "crash: %s\n%s", what, help);
	return 2;
}

static bool
place_parse(struct place *place, const char *text)
{
	unsigned long long event, k, inner_event = 0, inner_k = 0;
	unsigned segment;

	int count = sscanf(
		text, "%u.%llu.%llu.%llu.%llu", &segment, &event, &k, &inner_event, &inner_k);
	*place = (struct place){segment, event, k, count == 5, inner_event, inner_k};
	return count == 3 || count == 5;
}

static const struct option options[] = {
	{"images", required_argument, NULL, 'n'},
	{"round", required_argument, NULL, 'r'},
	{"seed", required_argument, NULL, 's'},
	{"jobs", required_argument, NULL, 'j'},
	{"shape", required_argument, NULL, 'S'},
	{"image", required_argument, NULL, 'i'},
	{"mutant", required_argument, NULL, 'm'},
	{"threads", required_argument, NULL, 't'},
	{"expect-failure", no_argument, NULL, 'x'},
	{"quiet", no_argument, NULL, 'q'},
	{"unmended", no_argument, NULL, 'u'},
	{0},
};

/* 0, or what to exit with. */
static int
settings_parse(struct settings *settings, int argc, char **argv)
{
	*settings = (struct settings){.images = 2500,
		.seed = 1,
		.jobs = 2,
		.threads = 1,
		.round_images = ROUND_IMAGES};
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 'n')
			settings->images = strtoull(optarg, NULL, 0);
		else if (c == 'r')
			settings->round_images = strtoull(optarg, NULL, 0);
		else if (c == 's')
			settings->seed = strcmp(optarg, "now") == 0 ? (uint64_t)time(NULL)
								    : strtoull(optarg, NULL, 0);
		else if (c == 'j')
			settings->jobs = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'S')
			settings->shape = optarg;
		else if (c == 'i')
			settings->has_place = place_parse(&settings->place, optarg);
		else if (c == 't')
			settings->threads = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'm')
			settings->mutant = crash_mutant = atoi(optarg);
		else if (c == 'x')
			settings->is_expected_to_fail = true;
		else if (c == 'u')
			settings->is_unmended = true;
		else if (c == 'q')
			settings->is_quiet = true;
		else
			return usage("no such option");
		if (c == 'i' && !settings->has_place)
			return usage("--image is not as it was told");
	}
	if (settings->jobs == 0 || settings->jobs > JOBS_MAX || settings->images == 0 ||
		settings->round_images == 0)
		return usage("at least one image, also a round, and 1 to 16 jobs");
	if (settings->threads == 0 || settings->threads > WORKLOAD_THREADS)
		return usage("one thread or two");
	if (settings->shape != NULL && shape_named(settings->shape) == NULL)
		return usage("no such shape");
	if (settings->has_place && settings->shape == NULL)
		return usage("--image wants --shape and --seed");
	if (settings->has_place)
		settings->images = settings->jobs = 1;
	return 0;
}

int
main(int argc, char **argv)
{
	struct settings settings;

	int rc = settings_parse(&settings, argc, argv);
	if (rc != 0)
		return rc;
	if (access("/dev/shm", W_OK) != 0) {
		puts("skipped: a pool is flushed by lines on tmpfs only, and there is no "
		     "/dev/shm");
		return 77;
	}
	struct tally sum = jobs_run(&settings);
	printf("seed %llu: %llu images, %llu of them of a second crash, from %llu moments of "
	       "%llu operations, %llu with two in flight; pools grew %llu times; %llu images "
	       "lacked footers of libpmemobj: %s\n",
		(unsigned long long)settings.seed, (unsigned long long)sum.images,
		(unsigned long long)sum.inner_images, (unsigned long long)sum.points,
		(unsigned long long)sum.ops, (unsigned long long)sum.pairs,
		(unsigned long long)sum.growths, (unsigned long long)sum.mended,
		sum.is_failed ? "FAILED" : "all right");
	return sum.is_failed == settings.is_expected_to_fail ? 0 : 1;
}
