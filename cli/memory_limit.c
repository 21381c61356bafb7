/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --memory: the same memory for every engine.
 *
 * The limit applies to the engine: its memory, its servers, and the page cache of its files.
 * mininb runs in the same process and needs memory for histograms, keys and records. The amount
 * depends on the job, so mininb measures it: it runs the same job on the null engine, in a
 * control group without a limit, and adds the result to the limit. A short run suffices,
 * because this memory does not grow with the number of operations.
 *
 * Rejected: to calculate the share from sizes of allocations. That omits page tables, stacks
 * and memory of libraries.
 */
#include "memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "ending.h"
#include "interrupt.h"
#include "kept.h"
#include "message.h"
#include "options.h"

/** The options of a short run on the null engine, without files. */
static struct options
null_options(const struct options *options)
{
	static const char *const bounds[] = {"duration=300ms", "warmup=0s", "preconditions=no",
		"batch-read=no" /* need ordered scans, which null does not have */};
	struct options null = *options;
	null.driver = "null";
	null.servers = null.record = null.pinirq = null.steady = null.start_at = NULL;
	null.engine_option_count = 0;
	null.checkpoint_every_ns = null.interval_ns = null.report_interval = 0;
	null.durability = null.cache_bytes = 0;
	null.is_cold = null.is_fresh = null.has_hardware = false;
	null.is_quiet = true;
	if (!options->action->has_workload || options->action == &cmd_load)
		return null;
	null.job_settings = kept_array(
		options->job_setting_count + sizeof(bounds) / sizeof(bounds[0]),
		sizeof(*null.job_settings));
	memcpy(null.job_settings, options->job_settings,
		options->job_setting_count * sizeof(*null.job_settings));
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		null.job_settings[null.job_setting_count++] = kept_text("%s", bounds[i]);
	return null;
}

/** Data shared with the process that runs on the null engine. */
struct counted {
	const struct nb_memory_group *group;
	uint64_t peak_bytes; /* while the engine was open; the following report needs more */
};

static struct counted *counted;

static void
note_peak(void *arg, const struct nb_progress *progress)
{
	(void)arg;
	(void)progress;
	counted->peak_bytes = nb_memory_group_peak(counted->group);
}

static _Noreturn void
be_null(const struct options *options, run_fn run, const struct nb_memory_group *group,
	pid_t parent)
{
	struct run_sink sink = {.progress = note_peak};
	struct options null = null_options(options);
	null.memory = group; /* so the run takes all memory that a longer one may need */
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ending_begin();
	if (getppid() != parent || nowhere < 0 || nb_memory_group_enter(group) != 0)
		ending_end(STATUS_FAILED);
	dup2(nowhere, fileno(nb_stdout()));
	dup2(nowhere, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
	message_set_quiet(true);
	sweep_own = (struct sweep_own){.slo = NULL};
	experiments_own.path = NULL;
	int status = message_last_failure(nb_results_new(&sink.results));
	if (status == STATUS_DONE) {
		status = run(&null, &sink);
		nb_results_delete(sink.results);
	}
	ending_end(status);
}

static int
look(void *arg, bool is_stopping)
{
	(void)arg;
	(void)is_stopping;
	return INTERRUPT_LOOK_MS;
}

/** Gets the peak memory of that process; *bytes is 0 if it did not complete. */
static int
measure_in(struct nb_memory_group *group, uint64_t *bytes, const struct options *options,
	run_fn run)
{
	int status = STATUS_DONE;
	*counted = (struct counted){.group = group};
	fflush(NULL);
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		be_null(options, run, group, parent);
	if (pid < 0) {
		status = message_failed("cannot start a process: %s", strerror(errno));
	} else {
		int end = interrupt_wait(pid, look, NULL);
		bool is_done = WIFEXITED(end) && WEXITSTATUS(end) == STATUS_DONE;
		*bytes = is_done ? counted->peak_bytes : 0;
	}
	return status;
}

static int
measure(uint64_t *bytes, const struct options *options, run_fn run)
{
	struct nb_memory_group *group;
	int status = message_last_failure(nb_memory_group_new(&group, 0, 0));
	if (status != STATUS_DONE)
		return status;
	counted = mmap(NULL, sizeof(*counted), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	status = counted != MAP_FAILED ? measure_in(group, bytes, options, run)
				       : message_no_memory();
	if (counted != MAP_FAILED)
		munmap(counted, sizeof(*counted));
	nb_memory_group_delete(group);
	return status;
}

static uint64_t harness_bytes; /* same for all engines of a list */
static bool is_measured;

int
memory_limit_begin(struct nb_memory_group **group, const struct options *options, run_fn run)
{
	int status = STATUS_DONE;
	*group = NULL;
	if (options->memory_bytes == 0)
		return STATUS_DONE;
	if (!is_measured)
		status = measure(&harness_bytes, options, run);
	if (status != STATUS_DONE)
		return status;
	is_measured = true;
	return message_last_failure(
		nb_memory_group_new(group, options->memory_bytes, harness_bytes));
}

void
memory_limit_end(struct nb_memory_group *group, bool is_good)
{
	if (group != NULL && is_good && harness_bytes == 0)
		message_warning(
			"--memory: this job does not run on the null engine, so the limit also contains what mininb needs itself");
	nb_memory_group_delete(group);
}
