/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real processes that are killed: what the crash test cannot show, since there the pool
 * is closed before an image of it is opened, and its directory is never cut off.
 *
 * A child with two threads, whose keys are different but share leaves, puts and deletes;
 * in memory that it shares with the parent each thread says which operation it has begun
 * and which has returned. The parent kills it at some moment, opens the pool, checks
 * all that has returned, writes on, closes, and starts the next child on what is there.
 * What the page cache holds survives, so this is no test of flushes but of everything else:
 * locks that are left, parts that are half made, two threads within one split.
 *
 * And the making of a pool is ended at its fences, from the first to the last: an open that
 * may create must then come to a tree that is empty and works.
 *
 * Moments are as the scheduler has it; what is checked holds at every one.
 */
#include <ftw.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "recorder.h"
#include "workload.h"

enum {
	THREADS = WORKLOAD_THREADS,
	MOST_US = 20 * 1000, /* after which a child is killed */
	EARLY_EVERY = 6,     /* of which one may be opening the pool still */
	OPS_AFTER = 50,
	MAKINGS = 40 /* moments at which the making of a pool is ended */
};

struct progress {
	_Atomic(uint64_t) begun, returned; /* operations, counted from the start of all */
	char fault[1024];                  /* "": none */
};

/* In memory that parent and child share. */
struct shared {
	_Atomic(bool) is_open;
	struct progress threads[THREADS];
};

struct killer {
	struct workload workload;
	char path[64];
	struct shared *shared;
	struct model models[THREADS]; /* each of its thread's keys */
	uint64_t next[THREADS];       /* operation that the thread begins with */
	struct rng rng;
	uint64_t kills, early, late; /* before a child was open; in an operation */
};

/* --- the child --- */

struct worker {
	struct killer *killer;
	struct subject subject;
	unsigned thread;
};

static void *
work(void *of)
{
	struct worker *worker = of;
	struct killer *killer = worker->killer;
	struct progress *progress = &killer->shared->threads[worker->thread];
	struct model *model = &killer->models[worker->thread];

	for (uint64_t i = killer->next[worker->thread];; i++) {
		struct op op = workload_op_of(&killer->workload, worker->thread, i);
		progress->begun = i + 1;
		if (!subject_do(&worker->subject, model, &op)) {
			snprintf(progress->fault, sizeof(progress->fault), "%s",
				subject_fault());
			return NULL;
		}
		progress->returned = i + 1;
	}
}

/* Never returns but where something is wrong. */
static int
child(struct killer *killer)
{
	struct worker workers[THREADS] = {{killer, {0}, 0}, {killer, {0}, 1}};
	struct progress *first = &killer->shared->threads[0];
	pthread_t thread;

	if (!subject_open(&workers[0].subject, &killer->workload, killer->path, false) ||
		!subject_join(&workers[1].subject, &workers[0].subject)) {
		snprintf(first->fault, sizeof(first->fault), "open: %s", subject_fault());
		return 1;
	}
	killer->shared->is_open = true;
	if (pthread_create(&thread, NULL, work, &workers[1]) != 0)
		return 1;
	work(&workers[0]);
	pthread_join(thread, NULL);
	return 1;
}

/* --- the parent --- */

/* Most children are let come to work first, however slow the machine is. */
static void
wait_until_open(struct killer *killer, pid_t pid)
{
	siginfo_t info = {0};

	if (rng_below(&killer->rng, EARLY_EVERY) == 0)
		return;
	while (!killer->shared->is_open && info.si_pid == 0) {
		usleep(200);
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
			return;
	}
}

static bool
child_run(struct killer *killer)
{
	memset(killer->shared, 0, sizeof(*killer->shared));
	for (unsigned i = 0; i < THREADS; i++) {
		killer->shared->threads[i].begun = killer->next[i];
		killer->shared->threads[i].returned = killer->next[i];
	}
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		_exit(child(killer));
	wait_until_open(killer, pid);
	usleep((useconds_t)rng_below(&killer->rng, MOST_US));
	kill(pid, SIGKILL);
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	killer->kills++;
	killer->early += !killer->shared->is_open;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* What has returned, and what may be in flight. */
static bool
models_follow(struct killer *killer, struct subject *subject)
{
	bool is_right = true;

	for (unsigned t = 0; is_right && t < THREADS; t++) {
		struct progress *progress = &killer->shared->threads[t];
		struct model *model = &killer->models[t];
		for (uint64_t i = killer->next[t]; i < progress->returned; i++) {
			struct op op = workload_op_of(&killer->workload, t, i);
			model_apply(model, &op);
		}
		model->in_flight[0].is_there = progress->begun > progress->returned;
		model->in_flight[0].op = workload_op_of(
			&killer->workload, t, progress->returned);
		killer->late += model->in_flight[0].is_there;
		killer->next[t] = progress->begun;
		is_right = subject_decide(subject, model);
	}
	return is_right;
}

static struct model
models_joined(const struct killer *killer)
{
	struct model joined = {0};

	for (unsigned t = 0; t < THREADS; t++)
		model_join(&joined, &killer->models[t], t);
	return joined;
}

static bool
write_on(struct killer *killer, struct subject *subject, struct model *joined)
{
	for (unsigned i = 0; i < OPS_AFTER; i++) {
		unsigned t = i % THREADS;
		struct op op = workload_op_of(&killer->workload, t, killer->next[t]++);
		if (!subject_do(subject, joined, &op))
			return false;
		model_apply(&killer->models[t], &op);
	}
	return true;
}

static bool
fail(const struct killer *killer, const char *what, const char *fault)
{
	fprintf(stderr, "FAILED: shape %s, seed %llu, kill %llu: %s: %s\n",
		killer->workload.shape->name, (unsigned long long)killer->workload.seed,
		(unsigned long long)killer->kills, what, fault);
	return false;
}

static bool
check_killed(struct killer *killer, bool has_space_checked)
{
	struct subject subject = {0};
	struct model joined;
	const char *failed = NULL;

	if (!subject_open(&subject, &killer->workload, killer->path, false))
		failed = "open";
	else if (!models_follow(killer, &subject))
		failed = "in flight";
	joined = models_joined(killer);
	if (failed == NULL && !subject_check(&subject, &joined))
		failed = "check";
	if (failed == NULL && !write_on(killer, &subject, &joined))
		failed = "write on";
	if (failed == NULL && !subject_check(&subject, &joined))
		failed = "check after writing on";
	if (failed == NULL && has_space_checked) {
		if (!subject_check_space(&subject, &joined, killer->path))
			failed = "space";
		memset(killer->models, 0, sizeof(killer->models));
	}
	if (!subject_close(&subject) && failed == NULL)
		failed = "close";
	return failed == NULL || fail(killer, failed, subject_fault());
}

static bool
round_of(struct killer *killer, bool has_space_checked)
{
	bool is_killed = child_run(killer);

	for (unsigned t = 0; t < THREADS; t++)
		if (killer->shared->threads[t].fault[0] != '\0')
			return fail(killer, "child", killer->shared->threads[t].fault);
	if (!is_killed)
		return fail(killer, "child", "it has ended before it was killed");
	return check_killed(killer, has_space_checked);
}

/* --- the making of a pool --- */

static bool
make(struct killer *killer)
{
	struct subject subject;

	bool is_made = subject_open(&subject, &killer->workload, killer->path, true);
	return subject_close(&subject) && is_made;
}

/* In a process of its own, up to the n-th fence. Its exit status. */
static int
make_apart(struct killer *killer, uint64_t n, uint64_t *fences)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		uint64_t before = record_fences();
		record_fuse(n);
		bool is_made = make(killer);
		killer->shared->threads[0].returned = record_fences() - before;
		_exit(is_made ? 0 : 1);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	*fences = killer->shared->threads[0].returned;
	return WEXITSTATUS(status);
}

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	return where->level == 0 ? 0 : remove(path);
}

static void
clear(const struct killer *killer)
{
	nftw(killer->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static bool
check_made(struct killer *killer)
{
	struct subject subject;
	struct model model = {0};
	bool is_right = subject_open(&subject, &killer->workload, killer->path, true) &&
		subject_check(&subject, &model);

	for (uint64_t i = 0; is_right && i < OPS_AFTER; i++) {
		struct op op = workload_op(&killer->workload, i);
		is_right = subject_do(&subject, &model, &op);
	}
	is_right = is_right && subject_check(&subject, &model);
	return subject_close(&subject) && is_right;
}

static bool
check_makings(struct killer *killer)
{
	uint64_t fences, unused;

	if (make_apart(killer, 0, &fences) != 0)
		return fail(killer, "make", "a pool");
	for (unsigned i = 0; i < MAKINGS; i++) {
		/* the last ones each, of the others some */
		uint64_t n = i < MAKINGS / 2 ? fences - i : 1 + rng_below(&killer->rng, fences);
		clear(killer);
		if (make_apart(killer, n, &unused) != RECORD_FUSED)
			return fail(killer, "make", "not ended at its fence");
		if (!check_made(killer))
			return fail(killer, "open of what was made in part", subject_fault());
	}
	clear(killer);
	return true;
}

/* --- the command --- */

static bool
run(struct killer *killer, unsigned rounds)
{
	bool is_right = check_makings(killer) && (make(killer) || fail(killer, "make", ""));

	for (unsigned i = 0; is_right && i < rounds; i++)
		is_right = round_of(killer, i % 10 == 9);
	clear(killer);
	rmdir(killer->path);
	return is_right;
}

static bool
run_shape(const struct shape *shape, uint64_t seed, unsigned rounds)
{
	struct killer killer = {.kills = 0};

	strcpy(killer.path, "/dev/shm/mininb-kill-XXXXXX");
	if (mkdtemp(killer.path) == NULL) {
		perror("kill: /dev/shm");
		return false;
	}
	killer.shared = mmap(NULL, sizeof(*killer.shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (killer.shared == MAP_FAILED)
		abort();
	workload_create(&killer.workload, shape, seed);
	rng_create(&killer.rng, seed);
	bool is_right = run(&killer, rounds);
	printf("%s: %llu kills, %llu before the pool was open, %llu operations in flight: %s\n",
		shape->name, (unsigned long long)killer.kills, (unsigned long long)killer.early,
		(unsigned long long)killer.late, is_right ? "all right" : "FAILED");
	munmap(killer.shared, sizeof(*killer.shared));
	return is_right;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
		{"seed", required_argument, NULL, 's'}, {0}};
	unsigned rounds = 30;
	uint64_t seed = 1;
	bool is_right = true;

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 'r')
			rounds = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 's')
			seed = strcmp(optarg, "now") == 0 ? (uint64_t)time(NULL)
							  : strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (access("/dev/shm", W_OK) != 0) {
		puts("skipped: a pool is flushed by lines on tmpfs only, and there is no "
		     "/dev/shm");
		return 77;
	}
	for (const struct shape *shape = shapes; shape->name != NULL; shape++)
		is_right = run_shape(shape, seed, rounds) && is_right;
	return is_right ? 0 : 1;
}
