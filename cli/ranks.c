/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run under mpirun.
 *
 * The measuring process must not contain MPI: its threads, signal handlers and memory would
 * affect the measurement, and a crash of the engine would end the rank without a report. So the
 * rank first forks the child and then joins the other ranks. Both share a page: the child
 * reports that it is ready, and the rank sets the start time. Partial results go through two
 * files in memory, which the child writes in turn.
 *
 * Rank 0 repeatedly writes the merged partial results to the file of --output, because a
 * launcher kills all ranks at once if one of them dies.
 */
#include "ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "cmd_run.h"
#include "kept.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "rank_files.h"

enum {
	LOOK_MS = 100,     /* while operations run, because a look takes CPU time of workers */
	LOOK_IDLE_MS = 20, /* before this rank is ready, and while ranks stop */
	LOOK_END_MS = 5,   /* after this rank's operations */
	LOOK_SOON_MS = 1,  /* before operations begin, when no rank measures */
	PARTIAL_FILES = 2, /* one is written while the other is read */
};

/* Least interval between a rank's partial results. Rank 0 receives those of all ranks. */
#define PARTIAL_NS UINT64_C(2000000000)
#define PARTIAL_RANK_NS UINT64_C(340000000)

enum { CHILD_WAITS, CHILD_GOES, CHILD_QUITS };

/** Memory shared by rank and child. All members are atomic. */
struct shared {
	uint32_t order;    /* CHILD_*, set by the rank */
	uint32_t is_ready; /* set by the child: it waits for the start time */
	uint64_t start_ns; /* set by the rank: the start time; 0: not known yet */
	uint64_t partials; /* set by the child: number of partial results written */
};

static struct {
	struct nb_launch launch;
	bool is_known, are_ranks;
	bool has_own_results;       /* in files of this rank only */
	struct options own_results; /* with the names of these files */
	struct shared *shared;
	struct nb_ranks *ranks;
	int files[PARTIAL_FILES];
	uint64_t partials; /* number of partial results read */
	bool has_tried_to_join, was_ready;
} own;

/* ---- detection of ranks ---- */

/** Options for one process only, or settings that the ranks determine themselves. */
static const struct {
	const char *name, *why;
} refused[] = {
	{"start-at", "the ranks agree on the moment"},
	{"procs", "start more ranks"},
	{"record", "a trace is of one process"},
	{"interval", "the intervals of the ranks are in the result file"},
	{"until-steady", "each rank would end on its own"},
	{"sweep", "it is several runs"},
	{"slo", "it is several runs"},
	{"experiments", "it is several runs"},
};

static int
check_options(const struct options *options)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (options_were_given(options, refused[i].name))
			return message_usage("--%s cannot be used under mpirun: %s",
				refused[i].name, refused[i].why);
	if (strchr(options->driver, ',') != NULL && strchr(options->driver, '/') == NULL)
		return message_usage("--driver: under mpirun there can be one engine only");
	return STATUS_DONE;
}

/** With a shard, each process executes its part independently. */
static bool
has_shard(const struct options *options)
{
	for (size_t i = 0; i < options->job_setting_count; i++)
		if (strncmp(options->job_settings[i], "shard=", strlen("shard=")) == 0)
			return true;
	return false;
}

bool
ranks_are_launched(const struct options *options, int *status)
{
	*status = STATUS_DONE;
	if (options->action != &cmd_run || has_shard(options))
		return false;
	if (!own.is_known) {
		own.is_known = true;
		*status = message_last_failure(nb_launch_read(&own.launch));
		own.are_ranks = *status == STATUS_DONE && own.launch.ranks > 1;
		if (own.are_ranks)
			*status = check_options(options);
	}
	return own.are_ranks;
}

const struct options *
ranks_name_files(const struct options *options, int *status)
{
	static struct options all;
	*status = STATUS_DONE;
	if (!own.is_known || own.launch.mpi == NULL)
		return options;
	own.has_own_results = rank_files_of_one(&own.own_results, options, own.launch.rank);
	if (own.has_own_results)
		*status = output_check(&own.own_results);
	all = rank_files_of_all(options);
	return &all;
}

bool
ranks_is_silent(void)
{
	return own.are_ranks && own.launch.rank != 0;
}

/* ---- the child ---- */

static void
pause_ms(long ms)
{
	struct timespec pause = {.tv_nsec = ms * 1000 * 1000};
	nanosleep(&pause, NULL);
}

bool
ranks_enter_child(pid_t rank)
{
	uint32_t order;
	output_silence();
	message_set_sender(kept_text("rank %" PRIu32 ": ", own.launch.rank));
	while ((order = __atomic_load_n(&own.shared->order, __ATOMIC_ACQUIRE)) == CHILD_WAITS &&
		getppid() == rank)
		pause_ms(LOOK_SOON_MS);
	return order == CHILD_GOES;
}

static uint64_t
start_of_child(void *arg)
{
	(void)arg;
	__atomic_store_n(&own.shared->is_ready, 1, __ATOMIC_RELEASE);
	return __atomic_load_n(&own.shared->start_ns, __ATOMIC_ACQUIRE);
}

/** The rank does not read this file meanwhile: the last complete result is in the other one. */
static void
write_partial(void *arg, const struct nb_run *run)
{
	uint64_t number = __atomic_load_n(&own.shared->partials, __ATOMIC_RELAXED) + 1;
	int fd = own.files[number % PARTIAL_FILES];
	struct nb_results *results;
	(void)arg;
	if (nb_results_new(&results) < 0)
		return;
	FILE *file = ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 ? fdopen(dup(fd), "w")
									  : NULL;
	int rc = file != NULL ? nb_results_add_run(results, run, "") : -1;
	if (rc == 0)
		rc = nb_results_write(results, "json", file, 0);
	if (file != NULL && fclose(file) == 0 && rc == 0)
		__atomic_store_n(&own.shared->partials, number, __ATOMIC_RELEASE);
	nb_results_delete(results);
}

static uint64_t
partial_ns(void)
{
	uint64_t all_ns = own.launch.ranks * PARTIAL_RANK_NS;
	return all_ns > PARTIAL_NS ? all_ns : PARTIAL_NS;
}

void
ranks_set_run(struct nb_run_options *run)
{
	run->shard = own.launch.rank;
	run->shards = own.launch.ranks;
	run->start = start_of_child;
	run->partial = write_partial;
	run->partial_ns = partial_ns();
}

/* ---- the rank ---- */

int
ranks_prepare(void)
{
	if (own.launch.rank != 0)
		message_set_sender(kept_text("rank %" PRIu32 ": ", own.launch.rank));
	own.shared = mmap(NULL, sizeof(*own.shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (own.shared == MAP_FAILED)
		return message_no_memory();
	for (int i = 0; i < PARTIAL_FILES; i++)
		if ((own.files[i] = memfd_create("partial", MFD_CLOEXEC)) < 0)
			return message_failed(
				"cannot make a file in memory: %s", strerror(errno));
	return STATUS_DONE;
}

int
ranks_join(const struct options *options)
{
	uint64_t silence_ns = options_were_given(options, "hang-after") ? options->hang_after_ns
									: 0;
	own.has_tried_to_join = true;
	int status = message_last_failure(nb_ranks_join(&own.ranks, &own.launch, silence_ns));
	__atomic_store_n(&own.shared->order, status == STATUS_DONE ? CHILD_GOES : CHILD_QUITS,
		__ATOMIC_RELEASE);
	return status;
}

/** Reads a whole file; NULL: it is empty or cannot be read. The caller frees it. */
static char *
read_all(int fd, size_t *size)
{
	struct stat st;
	char *text = NULL;
	*size = 0;
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		text = malloc((size_t)st.st_size);
	if (text == NULL)
		return NULL;
	ssize_t got = pread(fd, text, (size_t)st.st_size, 0);
	*size = got > 0 ? (size_t)got : 0;
	return text;
}

static void
pass_partial(void)
{
	uint64_t number = __atomic_load_n(&own.shared->partials, __ATOMIC_ACQUIRE);
	if (number == own.partials)
		return;
	size_t size;
	char *text = read_all(own.files[number % PARTIAL_FILES], &size);
	own.partials = number;
	if (size > 0 && nb_ranks_tell_partial(own.ranks, text, size) < 0)
		message_last_failure(-1);
	free(text);
}

/** The merged results; NULL: none. */
static struct nb_results *
merge(void)
{
	struct nb_results *merged;
	int rc = nb_ranks_merge(&merged, own.ranks);
	if (rc == 0 && nb_results_count(merged) > 0)
		return merged;
	if (nb_ranks_failure(own.ranks) == NULL)
		message_last_failure(rc);
	return NULL;
}

/** Rank 0 writes the current results: regularly, and when a rank has failed. */
static void
write_partials(const struct options *options)
{
	if (options->output == NULL || strcmp(options->output, "-") == 0)
		return;
	if (nb_ranks_write_partial(own.ranks, options->output) < 0)
		message_last_failure(-1);
}

int
ranks_look(const struct options *options, pid_t child, bool is_stopping)
{
	if (own.ranks == NULL)
		return LOOK_MS;
	if (is_stopping)
		nb_ranks_stop(own.ranks);
	if (!own.was_ready && __atomic_load_n(&own.shared->is_ready, __ATOMIC_ACQUIRE) != 0) {
		own.was_ready = true;
		nb_ranks_ready(own.ranks);
	}
	pass_partial();
	nb_ranks_poll(own.ranks);
	uint64_t start_ns = nb_ranks_start_ns(own.ranks);
	__atomic_store_n(&own.shared->start_ns, start_ns, __ATOMIC_RELEASE);
	if (own.launch.rank == 0)
		write_partials(options);
	if (nb_ranks_is_stopping(own.ranks) && child > 0)
		kill(child, SIGTERM);
	if (!own.was_ready || nb_ranks_is_stopping(own.ranks))
		return LOOK_IDLE_MS;
	return start_ns == 0 ? LOOK_SOON_MS : LOOK_MS;
}

static int
print_merged(const struct options *options, struct nb_results *results, int own_status)
{
	struct nb_results *merged = merge();
	const char *failure = nb_ranks_failure(own.ranks);
	int status = nb_ranks_status(own.ranks);
	if (merged == NULL && status == STATUS_DONE)
		status = STATUS_FAILED;
	if (merged != NULL) {
		int rc = nb_results_append(results, merged);
		if (rc == 0)
			rc = nb_result_write_text(
				nb_results_last(results), output_text(), output_flags(options));
		if (rc < 0)
			status = message_output_failure(rc);
		nb_results_delete(merged);
	}
	if (failure != NULL && (own_status == STATUS_DONE || own_status == STATUS_INTERRUPTED))
		message_error("%s", failure);
	return status;
}

/** Writes the files of this rank. */
static int
write_own(const struct nb_summary *summary, int fd)
{
	struct nb_results *results;
	char path[64];
	if (!own.has_own_results)
		return STATUS_DONE;
	int rc = nb_results_new(&results);
	if (rc < 0)
		return message_last_failure(rc);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int status = message_last_failure(
		output_take(results, path, summary->driver, summary->end));
	if (status == STATUS_DONE)
		status = output_finish(&own.own_results, results, status);
	nb_results_delete(results);
	return status;
}

int
ranks_end(const struct options *options, int status, const struct nb_summary *summary, int fd,
	struct nb_results *results)
{
	size_t size;
	char *text = read_all(fd, &size);
	pass_partial();
	if (nb_ranks_tell_end(own.ranks, status, summary->end, text, size) < 0)
		status = message_last_failure(-1);
	free(text);
	while (!nb_ranks_is_over(own.ranks)) {
		pause_ms(LOOK_END_MS);
		ranks_look(options, 0, nb_stop_requested());
	}
	int written = write_own(summary, fd);
	if (own.launch.rank != 0)
		return written; /* rank 0 reports the run's end */
	int merged = print_merged(options, results, status);
	if (merged != STATUS_DONE)
		return merged;
	return status != STATUS_DONE ? status : written;
}

void
ranks_leave(int status)
{
	fflush(nb_stdout()); /* MPI may end the process; main() checks what was written */
	if (own.ranks != NULL)
		nb_ranks_leave(own.ranks, status);
	own.ranks = NULL;
}

void
ranks_give_up(int status)
{
	if (!own.are_ranks || own.has_tried_to_join)
		return;
	fflush(nb_stdout());
	nb_ranks_give_up(&own.launch, status);
}
