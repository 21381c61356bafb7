/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The crash test. It records operations on a tree. At their fences, it makes the images that
 * a crash may leave. It opens and checks each image and continues writing to it; see round.c.
 *
 * Each round runs in a process of its own, because an image can end the process that opens
 * it.
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

enum { ROUND_IMAGES = 1500 };

/* The number of the active defect in a mutated build; see mutate.py. */
int crash_mutant;

/* --- rounds --- */

static const struct shape *
shape_named(const char *name)
{
	const struct shape *shape = shapes;
	while (shape->name != NULL && strcmp(shape->name, name) != 0)
		shape++;
	return shape->name != NULL ? shape : NULL;
}

/* Report that the image ended the process that opened it. */
static void
tell_death(const struct settings *settings, const struct tally *tally, int status)
{
	if (settings->is_quiet || tally->is_told)
		return;
	if (WIFSIGNALED(status))
		fprintf(stderr, "FAILED: an image %s (signal %d)\n",
			WTERMSIG(status) == SIGALRM ? "takes for ever" : "ends the process",
			WTERMSIG(status));
	else
		fprintf(stderr, "FAILED: the round ended with status %d\n",
			WEXITSTATUS(status));
	tell_repeat(tally, settings);
}

static void
round_apart(const struct settings *settings, struct tally *tally, const struct shape *shape,
	uint64_t seed, uint64_t images)
{
	int status = 1;

	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		bool is_right = run_round(settings, tally, shape, seed, images);
		fflush(NULL);
		_exit(is_right ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	if (status == 0)
		return;
	tally->is_failed = true;
	tell_death(settings, tally, status);
	round_clear(tally);
}

/* Each round takes the next shape. After all shapes, the seed is incremented. */
static void
run_rounds(const struct settings *settings, struct tally *tally)
{
	unsigned count = settings->shape != NULL ? 1 : shapes_count();
	uint64_t rounds = (settings->images + settings->round_images - 1) /
		settings->round_images;

	if (rounds < count && !settings->has_place)
		rounds = count;
	for (uint64_t round = 0; round < rounds && !tally->is_failed; round++) {
		const struct shape *shape = settings->shape != NULL
			? shape_named(settings->shape)
			: &shapes[round % count];
		round_apart(settings, tally, shape, settings->seed + round / count,
			(settings->images + rounds - 1) / rounds);
		if (!settings->is_quiet && isatty(STDERR_FILENO) != 0)
			fprintf(stderr, "\r%llu of %llu images ",
				(unsigned long long)tally->images,
				(unsigned long long)settings->images);
	}
}

/* --- the command --- */

static const char help[] =
	"crash [--images=N] [--seed=N|now] [--shape=NAME]\n"
	"      [--threads=2]   not reproducible\n"
	"      [--round=N]   images of one shape, before the next one\n"
	"      [--image=SEGMENT.EVENT.K[.EVENT.K]]   only that image; needs --shape, --seed\n"
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
	{"shape", required_argument, NULL, 'S'},
	{"image", required_argument, NULL, 'i'},
	{"mutant", required_argument, NULL, 'm'},
	{"threads", required_argument, NULL, 't'},
	{"expect-failure", no_argument, NULL, 'x'},
	{"quiet", no_argument, NULL, 'q'},
	{"unmended", no_argument, NULL, 'u'},
	{0},
};

/* Returns 0, or the exit status. */
static int
settings_parse(struct settings *settings, int argc, char **argv)
{
	*settings = (struct settings){
		.images = 2500, .seed = 1, .threads = 1, .round_images = ROUND_IMAGES};
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 'n')
			settings->images = strtoull(optarg, NULL, 0);
		else if (c == 'r')
			settings->round_images = strtoull(optarg, NULL, 0);
		else if (c == 's')
			settings->seed = strcmp(optarg, "now") == 0 ? (uint64_t)time(NULL)
								    : strtoull(optarg, NULL, 0);
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
			return usage("unknown option");
		if (c == 'i' && !settings->has_place)
			return usage(
				"--image must be SEGMENT.EVENT.K, as in the report of a failure");
	}
	if (settings->images == 0 || settings->round_images == 0)
		return usage("--images and --round must be at least 1");
	if (settings->threads == 0 || settings->threads > WORKLOAD_THREADS)
		return usage("--threads must be 1 or 2");
	if (settings->shape != NULL && shape_named(settings->shape) == NULL)
		return usage("--shape: unknown name; see workload.c");
	if (settings->has_place && settings->shape == NULL)
		return usage("--image needs --shape and --seed");
	if (settings->has_place)
		settings->images = 1;
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
		puts("skipped: the test needs a pool on tmpfs, and /dev/shm is missing");
		return 77;
	}
	struct tally *sum = mmap(
		NULL, sizeof(*sum), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sum == MAP_FAILED)
		abort();
	run_rounds(&settings, sum);
	printf("seed %llu: %llu images, %llu of them of a second crash, from %llu moments of "
	       "%llu operations, %llu with two in flight; pools grew %llu times; %llu images "
	       "lacked footers of libpmemobj: %s\n",
		(unsigned long long)settings.seed, (unsigned long long)sum->images,
		(unsigned long long)sum->inner_images, (unsigned long long)sum->points,
		(unsigned long long)sum->ops, (unsigned long long)sum->pairs,
		(unsigned long long)sum->growths, (unsigned long long)sum->mended,
		sum->is_failed ? "FAILED" : "all right");
	return sum->is_failed == settings.is_expected_to_fail ? 0 : 1;
}
