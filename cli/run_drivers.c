/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engines of --driver=a,b,c. A single engine runs in this process. Several run one after
 * another, each in its own process: a plugin that crashes, exits or hangs loses only its own
 * run, and an engine cannot affect the next one through its process.
 *
 * The child is a fork() of this process before any engine was loaded. It prints its own report;
 * its results are returned in a result file in memory. Its summary and its progress are in
 * shared memory, which survives a killed child. They show the parent a hang: no operation in
 * --hang-after or, during one long call of the engine, no next phase in OPAQUE_FACTOR times
 * that.
 *
 * Meanwhile the parent sleeps, except for one check per second, so it does not disturb the
 * measurement.
 */
#include <errno.h>
#include <inttypes.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cmd.h"
#include "cmd_run.h"
#include "ending.h"
#include "interrupt.h"
#include "kept.h"
#include "memory_limit.h"
#include "message.h"
#include "output.h"
#include "progress.h"
#include "ranks.h"

enum { OPAQUE_FACTOR = 6 };
#define PAUSE_NS UINT64_C(3000000000) /* longer than any delay between two checks */

/** Memory that parent and child share. The child writes, the parent reads. */
struct shared {
	uint64_t beats;     /* atomic: grows with each operation or phase */
	uint32_t is_opaque; /* atomic: the engine is in one long call */
	char phase[32];     /* only for a message, so no lock */
	struct nb_summary summary;
};

static struct shared *shared;

static const struct nb_memory_group *own_group; /* memory group of the child, or NULL */

/** Shows the child's progress to the user, or NULL. */
static nb_progress_fn show;

/* ---- the engines ---- */

/** The engine's name; for a plugin's file the part before ".so". Uses `buf`. */
static const char *
engine_name(const char *driver, char *buf, size_t size)
{
	const char *slash = strrchr(driver, '/');
	if (slash == NULL)
		return driver;
	snprintf(buf, size, "%.*s", (int)strcspn(slash + 1, "."), slash + 1);
	return buf;
}

/**
 * The label is the engine's name. If several engines have that name it is the file, or "name#1"
 * if the files are equal, too.
 */
static void
set_label(struct drivers *drivers, size_t index, bool may_repeat)
{
	char buf[64], other_buf[64];
	const char *driver = drivers->names[index];
	const char *name = engine_name(driver, buf, sizeof(buf));
	bool is_twice = strlen(driver) >= DRIVER_LABEL;
	uint32_t same = 0, number = 0;
	for (size_t i = 0; i < drivers->count; i++) {
		const char *other = engine_name(
			drivers->names[i], other_buf, sizeof(other_buf));
		if (strcmp(name, other) != 0)
			continue;
		same++;
		number += i <= index;
		for (size_t k = 0; k < i; k++)
			is_twice |= strcmp(drivers->names[i], drivers->names[k]) == 0;
	}
	drivers->numbers[index] = may_repeat && same > 1 ? number : 0;
	if (same > 1 && is_twice)
		snprintf(drivers->labels[index], DRIVER_LABEL, "%.63s#%u", name, number);
	else
		snprintf(drivers->labels[index], DRIVER_LABEL, "%s", same > 1 ? driver : name);
}

static int
split(struct drivers *drivers, const char *list, bool may_repeat)
{
	/* one file, whose name may contain commas */
	bool is_file = strchr(list, '/') != NULL && access(list, F_OK) == 0;
	char *rest = kept_text("%s", list);
	drivers->count = 0;
	for (char *name; (name = strsep(&rest, is_file ? "" : ",")) != NULL;) {
		if (name[0] == '\0')
			return message_usage("--driver: '%s' contains an empty name", list);
		if (drivers->count == DRIVERS_MAX)
			return message_usage("--driver: more than %d engines", DRIVERS_MAX);
		for (size_t i = 0; i < drivers->count && !may_repeat; i++) {
			if (strcmp(drivers->names[i], name) == 0)
				return message_usage(
					"--driver: '%s' is named twice; only vs compares an engine with itself",
					name);
		}
		drivers->names[drivers->count++] = name;
	}
	for (size_t i = 0; i < drivers->count; i++)
		set_label(drivers, i, may_repeat);
	return STATUS_DONE;
}

/** The length before the dot in "leveldb.block_size=4KiB"; 0: no prefix. */
static size_t
prefix_length(const char *option)
{
	size_t length = strcspn(option, ".=");
	return option[length] == '.' ? length : 0;
}

/**
 * "leveldb.block_size=4KiB" applies to all of that name, "leveldb#2.block_size=4KiB" to one.
 */
static bool
is_option_of(const char *option, const char *driver, uint32_t number)
{
	char buf[64], label[80], prefix[80];
	const char *name = engine_name(driver, buf, sizeof(buf));
	snprintf(prefix, sizeof(prefix), "%.*s", (int)prefix_length(option), option);
	snprintf(label, sizeof(label), "%.63s#%u", name, number);
	return strcmp(prefix, name) == 0 || (number > 0 && strcmp(prefix, label) == 0);
}

int
drivers_read(struct drivers *drivers, const struct options *options, bool may_repeat)
{
	int status = split(drivers, options->driver, may_repeat);
	for (size_t i = 0; i < options->engine_option_count && status == STATUS_DONE; i++) {
		const char *option = options->engine_options[i];
		bool is_known = prefix_length(option) == 0;
		for (size_t j = 0; j < drivers->count; j++)
			is_known |= is_option_of(
				option, drivers->names[j], drivers->numbers[j]);
		if (!is_known)
			return message_usage("-o %s: '%.*s' is not one of the engines to run",
				option, (int)prefix_length(option), option);
	}
	return status;
}

void
drivers_choose_options(struct options *options, uint32_t number)
{
	const char **chosen = kept_array(options->engine_option_count, sizeof(*chosen));
	size_t count = 0;
	for (size_t i = 0; i < options->engine_option_count; i++) {
		const char *option = options->engine_options[i];
		size_t length = prefix_length(option);
		if (length == 0)
			chosen[count++] = option;
		else if (is_option_of(option, options->driver, number))
			chosen[count++] = option + length + 1;
	}
	options->engine_options = chosen;
	options->engine_option_count = count;
}

static bool
holds_something(const char *path)
{
	DIR *dir = opendir(path);
	bool is_empty = true;
	if (dir == NULL)
		return false;
	for (struct dirent *entry; is_empty && (entry = readdir(dir)) != NULL;)
		is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(dir);
	return !is_empty;
}

/** Two builds of one engine share a database, which get does not change. */
static int
check_apart(const struct options *options, const struct drivers *drivers)
{
	char buf[64], other_buf[64];
	for (size_t i = 1; i < drivers->count && options->action != &cmd_get; i++) {
		const char *name = engine_name(drivers->names[i], buf, sizeof(buf));
		for (size_t k = 0; k < i; k++) {
			const char *other = engine_name(
				drivers->names[k], other_buf, sizeof(other_buf));
			if (strcmp(name, other) == 0)
				return message_usage(
					"--driver: '%s' and '%s' share the database %s/%s; compare them with vs, or run each with its own --path",
					drivers->names[k], drivers->names[i], options->path,
					name);
		}
	}
	return STATUS_DONE;
}

/** Puts into databases of different ages cannot be compared. */
static int
check_fresh(const struct options *options, const struct drivers *drivers)
{
	for (size_t i = 0; i < drivers->count; i++) {
		char name[64], path[4096];
		snprintf(path, sizeof(path), "%s/%s", options->path,
			engine_name(drivers->names[i], name, sizeof(name)));
		if (holds_something(path))
			return message_usage(
				"%s contains data, and several engines are compared on new data: use --fresh to remove it, or another --path",
				path);
	}
	return STATUS_DONE;
}

/* ---- the child ---- */

/**
 * Store the current phase, unless the kernel has killed a process of the memory group. Then the
 * phase stays the one in which the limit was too low; later phases, such as stopping the
 * server, do not count.
 */
static void
set_phase(const char *phase)
{
	char text[sizeof(shared->phase)];
	snprintf(text, sizeof(text), "%s", phase);
	if (strcmp(text, shared->phase) != 0 &&
		(own_group == NULL || nb_memory_group_kills(own_group) == 0))
		memcpy(shared->phase, text, sizeof(text));
}

static void
beat(void *arg, const struct nb_progress *progress)
{
	bool is_opaque = progress->total == 0;
	(void)arg;
	set_phase(progress->what);
	__atomic_store_n(&shared->is_opaque, is_opaque, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->beats, 1, __ATOMIC_RELEASE);
	if (show != NULL)
		show(arg, progress);
}

/** Runs one engine of the list in this process. */
static int
run_here(const struct options *options, run_fn run, const char *driver,
	const struct run_sink *sink)
{
	struct options own = *options;
	own.driver = driver;
	drivers_choose_options(&own, 0);
	return run(&own, sink);
}

/** Writes the results to a file that the parent has open. */
static int
hand_over(const struct nb_results *results, int fd)
{
	FILE *file = fdopen(dup(fd), "w");
	int rc = file != NULL ? nb_results_write(results, "json", file, 0) : NB_FAIL;
	if (file == NULL || fclose(file) != 0) {
		return message_failed(
			"cannot pass the results to the parent process: %s", strerror(errno));
	}
	return message_last_failure(rc);
}

static _Noreturn void
be_child(const struct options *options, run_fn run, const char *driver, pid_t parent, int fd)
{
	struct run_sink sink = {.progress = beat, .summary = &shared->summary};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ending_begin();
	if (getppid() != parent || (options->is_rank && !ranks_enter_child(parent)))
		ending_end(STATUS_FAILED); /* the parent died, or cannot go on */
	if (options->memory != NULL) {
		int status = message_last_failure(nb_memory_group_enter(options->memory));
		if (status != STATUS_DONE)
			ending_end(status);
		own_group = options->memory;
	}
	show = options->is_rank && ranks_is_silent() ? NULL : progress_of(options);
	int status = message_last_failure(nb_results_new(&sink.results));
	if (status == STATUS_DONE) {
		status = run_here(options, run, driver, &sink);
		int handed = hand_over(sink.results, fd);
		status = status == STATUS_DONE ? handed : status;
	}
	nb_results_delete(sink.results);
	ending_end(message_close_output(status));
}

/* ---- the parent ---- */

/** The progress of a child, as the parent saw it. */
struct watch {
	pid_t pid;
	const struct options *options;
	uint64_t hang_after_ns, beats, beat_ns, looked_ns;
	uint64_t hung_s; /* time without progress after which it was killed; 0: it was not */
};

static int
look(void *arg, bool is_stopping)
{
	struct watch *watch = arg;
	uint64_t now = clock_now_ns();
	uint64_t seen = __atomic_load_n(&shared->beats, __ATOMIC_ACQUIRE);
	if (now - watch->looked_ns > PAUSE_NS) /* both were suspended, for example by ^Z */
		watch->beat_ns += now - watch->looked_ns;
	watch->looked_ns = now;
	if (seen != watch->beats) {
		watch->beats = seen;
		watch->beat_ns = now;
	}
	bool is_opaque = __atomic_load_n(&shared->is_opaque, __ATOMIC_RELAXED) != 0;
	uint64_t most = watch->hang_after_ns * (is_opaque ? OPAQUE_FACTOR : 1);
	if (watch->hang_after_ns != 0 && now - watch->beat_ns > most && watch->hung_s == 0) {
		watch->hung_s = (now - watch->beat_ns) / 1000000000u;
		kill(watch->pid, SIGKILL);
	}
	return watch->options->is_rank ? ranks_look(watch->options, watch->pid, is_stopping)
				       : INTERRUPT_LOOK_MS;
}

/** Reports the end of a child that did not report it itself. Returns its exit status. */
static int
report_end(const char *driver, int status, uint64_t hung_s, struct nb_summary *summary)
{
	if (WIFEXITED(status)) {
		int code = WEXITSTATUS(status);
		if (code != STATUS_DONE && summary->end[0] == '\0')
			snprintf(summary->end, sizeof(summary->end),
				"the process ended with status %d", code);
		if (code == STATUS_DONE && !summary->is_measured) {
			snprintf(summary->end, sizeof(summary->end),
				"the engine ended the process with status 0");
			return message_failed("%s: %s", driver, summary->end);
		}
		return code;
	}
	char phase[sizeof(shared->phase)], name[SIGNAL_SIZE];
	memcpy(phase, shared->phase, sizeof(phase));
	phase[sizeof(phase) - 1] = '\0';
	if (hung_s == 0 && summary->end[0] != '\0')
		return STATUS_FAILED; /* the child reported it before it died */
	if (hung_s > 0)
		snprintf(summary->end, sizeof(summary->end),
			"hung during %s: no progress for %" PRIu64 " s, so mininb killed it",
			phase[0] != '\0' ? phase : "start", hung_s);
	else
		snprintf(summary->end, sizeof(summary->end), "killed by %s during %s",
			message_signal(WTERMSIG(status), name),
			phase[0] != '\0' ? phase : "start");
	return message_failed("%s: %s", driver, summary->end);
}

/**
 * Reports that the kernel killed a process because of --memory. The group contains only the
 * run's processes and its servers.
 */
static int
report_limit(const struct options *options, const char *driver, int status,
	struct nb_summary *summary)
{
	char phase[sizeof(shared->phase)];
	memcpy(phase, shared->phase, sizeof(phase));
	phase[sizeof(phase) - 1] = '\0';
	snprintf(summary->end, sizeof(summary->end),
		"the kernel killed %s during %s, because it needs more memory than --memory=%" PRIu64,
		WIFSIGNALED(status)          ? "the engine"
			: options->procs > 1 ? "a process of the run"
					     : "the server",
		phase[0] != '\0' ? phase : "start", options->memory_bytes);
	return message_failed("%s: %s", driver, summary->end);
}

/** `options` with its control group. */
static int
run_in_group(const struct options *options, run_fn run, const char *driver,
	struct nb_results *results, struct nb_summary *summary)
{
	memset(shared, 0, sizeof(*shared));
	char name[sizeof(summary->driver)], path[64];
	snprintf(shared->summary.driver, sizeof(summary->driver), "%s",
		engine_name(driver, name, sizeof(name)));
	int fd = memfd_create("results", MFD_CLOEXEC);
	fflush(NULL); /* so the child does not write it again */
	pid_t parent = getpid(), pid = fd >= 0 ? fork() : -1;
	if (pid == 0)
		be_child(options, run, driver, parent, fd);
	if (pid < 0) {
		message_error("%s: cannot start a process: %s", driver, strerror(errno));
		if (fd >= 0)
			close(fd);
		return STATUS_FAILED;
	}
	struct watch watch = {
		.pid = pid, .options = options, .hang_after_ns = options->hang_after_ns};
	watch.beat_ns = watch.looked_ns = clock_now_ns();
	int joined = options->is_rank ? ranks_join(options) : STATUS_DONE;
	int status = interrupt_wait(pid, look, &watch);
	if (joined != STATUS_DONE) {
		close(fd);
		return joined;
	}
	*summary = shared->summary;
	if (options->memory != NULL && nb_memory_group_kills(options->memory) > 0)
		status = report_limit(options, driver, status, summary);
	else
		status = report_end(driver, status, watch.hung_s, summary);
	if (options->is_rank) {
		status = ranks_end(options, status, summary, fd, results);
		close(fd);
		return status;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int taken = message_last_failure(
		output_take(results, path, summary->driver, summary->end));
	close(fd);
	return status == STATUS_DONE ? taken : status;
}

static int
run_child(const struct options *options, run_fn run, const char *driver,
	struct nb_results *results, struct nb_summary *summary)
{
	struct options own = *options;
	struct nb_memory_group *group;
	char name[sizeof(summary->driver)];
	int status = STATUS_DONE;
	own.is_rank = ranks_are_launched(options, &status);
	if (status == STATUS_DONE && own.is_rank)
		status = ranks_prepare();
	if (status != STATUS_DONE)
		return status;
	status = memory_limit_begin(&group, options, run);
	if (status != STATUS_DONE) { /* for the table of all engines */
		snprintf(summary->driver, sizeof(summary->driver), "%s",
			engine_name(driver, name, sizeof(name)));
		snprintf(summary->end, sizeof(summary->end), "no control group for --memory");
		return status;
	}
	own.memory = group;
	status = run_in_group(&own, run, driver, results, summary);
	memory_limit_end(group, status == STATUS_DONE);
	return status;
}

/** Copies `text`, or "..." and its end. */
static void
copy_end(char *to, size_t size, const char *text)
{
	size_t length = strlen(text);
	bool is_cut = length >= size;
	memcpy(to, is_cut ? text + length - (size - 1) : text, is_cut ? size : length + 1);
	if (is_cut)
		memcpy(to, "...", 3);
}

static int
run_all(const struct options *options, run_fn run, const struct drivers *drivers,
	struct nb_results *results)
{
	static struct nb_summary summaries[DRIVERS_MAX];
	int status = STATUS_DONE;
	size_t done = 0;
	for (; done < drivers->count && !nb_stop_requested(); done++) {
		if (drivers->count > 1)
			fprintf(output_text(), "%s== %s, %zu of %zu\n", done == 0 ? "" : "\n",
				drivers->labels[done], done + 1, drivers->count);
		int one = run_child(
			options, run, drivers->names[done], results, &summaries[done]);
		if (strpbrk(drivers->labels[done], "/#") != NULL) /* the name alone is
								     ambiguous */
			copy_end(summaries[done].driver, sizeof(summaries->driver),
				drivers->labels[done]);
		if (status == STATUS_DONE)
			status = one;
	}
	if (nb_stop_requested())
		status = STATUS_INTERRUPTED;
	if (drivers->count == 1)
		return status;
	if (done < drivers->count)
		message_error("interrupted: %zu of %zu engines did not run",
			drivers->count - done, drivers->count);
	nb_results_set_list(results, (uint32_t)drivers->count);
	fprintf(output_text(), "\n== all\n");
	int rc = nb_summaries_write_text(summaries, done, output_text(), output_flags(options));
	return rc < 0 ? message_output_failure(rc) : status;
}

static int
run_apart(const struct options *options, run_fn run, const struct drivers *drivers,
	struct nb_results *results)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	if (shared == MAP_FAILED)
		return message_no_memory();
	int status = run_all(options, run, drivers, results);
	munmap(shared, sizeof(*shared));
	return status;
}

static int
run_and_write(const struct options *options, run_fn run, const struct drivers *drivers)
{
	struct run_sink sink = {.progress = NULL};
	int status = output_begin(options);
	if (status == STATUS_DONE)
		status = message_last_failure(nb_results_new(&sink.results));
	if (status != STATUS_DONE)
		return status;
	bool are_ranks = ranks_are_launched(options, &status);
	if (status != STATUS_DONE) {
		nb_results_delete(sink.results);
		return status;
	}
	status = drivers->count > 1 || options->memory_bytes > 0 || are_ranks ||
			options_were_given(options, "hang-after")
		? run_apart(options, run, drivers, sink.results)
		: run_here(options, run, drivers->names[0], &sink);
	if (nb_results_count(sink.results) > 0)
		status = output_finish(options, sink.results, status);
	ranks_leave(status);
	nb_results_delete(sink.results);
	return status;
}

int
run_drivers(const struct options *options, run_fn run, bool makes_data)
{
	struct drivers drivers;
	int status = drivers_read(&drivers, options, false);
	if (status == STATUS_DONE)
		status = check_apart(options, &drivers);
	if (status == STATUS_DONE && makes_data && !options->is_fresh && drivers.count > 1)
		status = check_fresh(options, &drivers);
	return status == STATUS_DONE ? run_and_write(options, run, &drivers) : status;
}
