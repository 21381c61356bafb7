/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engines of --driver=a,b,c. A single one runs in this process. Several run
 * one after the other, each in a process of its own: a plugin that crashes, exits or hangs costs its own run and no other's, and nothing
 * that one engine has left in its process touches the next.
 *
 * The child is a fork() of this process before any engine was loaded. It prints
 * its report itself; its results come back as a result file in memory. What the table at
 * the end needs it leaves in memory that both share, since that is there of one that was
 * killed, too, and so does it its progress, by which this process sees a hang:
 * no operation more in --hang-after, or, where an engine's one long call cannot
 * be looked into, no next phase in OPAQUE_FACTOR times that.
 *
 * Meanwhile this process sleeps, but for a look each second, so that it takes
 * nothing from what is measured.
 */
#include <errno.h>
#include <inttypes.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "cmd_run.h"
#include "ending.h"
#include "interrupt.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "progress.h"

enum { LOOK_MS = 1000, STOP_LOOK_MS = 100, OPAQUE_FACTOR = 6 };
#define PAUSE_NS UINT64_C(3000000000) /* no look comes so late by itself */

/** In memory that parent and child share. One writes, the other looks now and then. */
struct shared {
	uint64_t beats;     /* atomic: more whenever something was done */
	uint32_t is_opaque; /* atomic: within one long call of the engine */
	char phase[32];     /* only for a message, so no lock */
	struct nb_summary summary;
};

static struct shared *shared;

/** What the child shows of its progress, or NULL. */
static nb_progress_fn show;

static uint64_t
now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- what was asked for ---- */

static bool
has_driver(const struct drivers *drivers, const char *name)
{
	for (size_t i = 0; i < drivers->count; i++)
		if (strcmp(drivers->names[i], name) == 0)
			return true;
	return false;
}

/** Name of the engine: of a plugin's file, what stands before ".so". Into buf. */
static const char *
engine_name(const char *driver, char *buf, size_t size)
{
	const char *slash = strrchr(driver, '/');
	if (slash == NULL)
		return driver;
	snprintf(buf, size, "%.*s", (int)strcspn(slash + 1, "."), slash + 1);
	return buf;
}

/** The engine's name; of several with one name the file, or "#1" if that is the same, too. */
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

bool
drivers_split(struct drivers *drivers, const char *list, bool may_repeat)
{
	*drivers = (struct drivers){.text = strdup(list)};
	if (drivers->text == NULL) {
		message_error("out of memory");
		return false;
	}
	if (strchr(list, '/') != NULL && access(list, F_OK) == 0) {
		drivers->names[drivers->count++] = drivers->text; /* a file with a comma */
		set_label(drivers, 0, may_repeat);
		return true;
	}
	char *rest = drivers->text;
	for (char *name; (name = strsep(&rest, ",")) != NULL;) {
		if (name[0] == '\0')
			message_usage("--driver: '%s' has an empty name in it", list);
		else if (!may_repeat && has_driver(drivers, name))
			message_usage("--driver: '%s' stands there twice; only vs compares an "
				      "engine with itself",
				name);
		else if (drivers->count == DRIVERS_MAX)
			message_usage("--driver: more than %d engines", DRIVERS_MAX);
		else {
			drivers->names[drivers->count++] = name;
			continue;
		}
		free(drivers->text);
		return false;
	}
	for (size_t i = 0; i < drivers->count; i++)
		set_label(drivers, i, may_repeat);
	return true;
}

/** Of "leveldb.block_size=4KiB" the length of what stands before the dot; 0: no such. */
static size_t
prefix_length(const char *option)
{
	size_t length = strcspn(option, ".=");
	return option[length] == '.' ? length : 0;
}

/** "leveldb.block_size=4KiB" of all with that name, "leveldb#2.block_size=4KiB" of one. */
static bool
is_option_of(const char *option, const char *driver, uint32_t number)
{
	char buf[64], label[80], prefix[80];
	const char *name = engine_name(driver, buf, sizeof(buf));
	snprintf(prefix, sizeof(prefix), "%.*s", (int)prefix_length(option), option);
	snprintf(label, sizeof(label), "%.63s#%u", name, number);
	return strcmp(prefix, name) == 0 || (number > 0 && strcmp(prefix, label) == 0);
}

bool
drivers_have_options(const struct options *options, const struct drivers *drivers)
{
	for (size_t i = 0; i < options->engine_option_count; i++) {
		const char *option = options->engine_options[i];
		bool is_known = prefix_length(option) == 0;
		for (size_t j = 0; j < drivers->count; j++)
			is_known |= is_option_of(
				option, drivers->names[j], drivers->numbers[j]);
		if (!is_known) {
			message_usage("-o %s: '%.*s' is none of the engines that are to run",
				option, (int)prefix_length(option), option);
			return false;
		}
	}
	return true;
}

void
drivers_choose_options(struct options *options, uint32_t number, const char **chosen)
{
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

/** Two builds of one engine have one database. Reading it changes nothing for the other. */
static bool
are_apart(const struct options *options, const struct drivers *drivers)
{
	char buf[64], other_buf[64];
	for (size_t i = 1; i < drivers->count && options->action != ACTION_GET; i++) {
		const char *name = engine_name(drivers->names[i], buf, sizeof(buf));
		for (size_t k = 0; k < i; k++) {
			const char *other = engine_name(
				drivers->names[k], other_buf, sizeof(other_buf));
			if (strcmp(name, other) != 0)
				continue;
			message_usage("--driver: '%s' and '%s' share the database %s/%s; "
				      "compare them with vs, or run each with its own --path",
				drivers->names[k], drivers->names[i], options->path, name);
			return false;
		}
	}
	return true;
}

/** A comparison of puts into databases of different ages would be none. */
static bool
are_fresh(const struct options *options, const struct drivers *drivers,
	const struct run_kind *kind)
{
	if (!kind->makes_data || options->is_fresh || drivers->count == 1)
		return true;
	for (size_t i = 0; i < drivers->count; i++) {
		char name[64], path[4096];
		snprintf(path, sizeof(path), "%s/%s", options->path,
			engine_name(drivers->names[i], name, sizeof(name)));
		if (holds_something(path)) {
			message_usage("%s holds data, and several engines are compared on "
				      "fresh data: "
				      "--fresh removes it first, --path is for another place",
				path);
			return false;
		}
	}
	return true;
}

/* ---- the child ---- */

static void
beat(void *arg, const struct nb_progress *progress)
{
	bool is_opaque = progress->total == 0;
	(void)arg;
	snprintf(shared->phase, sizeof(shared->phase), "%s", progress->what);
	__atomic_store_n(&shared->is_opaque, is_opaque, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->beats, 1, __ATOMIC_RELEASE);
	if (show != NULL)
		show(arg, progress);
}

/** Run one engine of the list in this process. */
static int
run_here(const struct options *options, const struct run_kind *kind, const char *driver,
	nb_progress_fn progress, struct nb_results *results, struct nb_summary *summary)
{
	struct options own = *options;
	const char **chosen = calloc(options->engine_option_count + 1, sizeof(*chosen));
	if (chosen == NULL) {
		message_error("out of memory");
		return STATUS_FAILED;
	}
	own.driver = driver;
	drivers_choose_options(&own, 0, chosen);
	int status = kind->run(&own, progress, results, summary);
	free(chosen);
	return status;
}

/** As a result file, into one that the parent has open as well. */
static int
hand_over(const struct nb_results *results, int fd)
{
	FILE *file = fdopen(dup(fd), "w");
	int rc = file != NULL ? nb_results_write(results, "json", file, 0) : NB_FAIL;
	if (file == NULL || fclose(file) != 0) {
		message_error("the results cannot be handed over: %s", strerror(errno));
		return STATUS_FAILED;
	}
	return message_last_failure(rc);
}

static _Noreturn void
be_child(const struct options *options, const struct run_kind *kind, const char *driver,
	pid_t parent, int fd)
{
	struct nb_results *results;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ending_begin();
	if (getppid() != parent)
		ending_end(STATUS_FAILED); /* it has died meanwhile */
	show = progress_function(!options->is_quiet && options->report_interval > 0);
	int status = message_last_failure(nb_results_new(&results));
	if (status == STATUS_DONE) {
		status = run_here(options, kind, driver, beat, results, &shared->summary);
		int handed = hand_over(results, fd);
		status = status == STATUS_DONE ? handed : status;
	}
	nb_results_delete(results);
	ending_end(message_close_output(status));
}

/* ---- the parent ---- */

/** Sleep until the child ends, a signal comes, or it is time to look. */
static void
wait_a_little(int pidfd, bool is_stopping)
{
	struct pollfd wait = {.fd = pidfd, .events = POLLIN};
	poll(&wait, 1, pidfd < 0 || is_stopping ? STOP_LOOK_MS : LOOK_MS);
}

/** Until the child has ended, of itself or as it hangs. *hung_s: after so long; 0: it did not. */
static int
watch(pid_t pid, uint64_t hang_after_ns, uint64_t *hung_s)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	uint64_t beats = 0, beat_ns = now_ns(), looked_ns = beat_ns;
	struct interrupt_passed passed = {0};
	int status;
	*hung_s = 0;
	while (waitpid(pid, &status, WNOHANG) != pid) {
		interrupt_pass_on(&passed, pid);
		uint64_t now = now_ns(),
			 seen = __atomic_load_n(&shared->beats, __ATOMIC_ACQUIRE);
		if (now - looked_ns > PAUSE_NS) /* both were stopped, by ^Z say */
			beat_ns += now - looked_ns;
		looked_ns = now;
		if (seen != beats) {
			beats = seen;
			beat_ns = now;
		}
		bool is_opaque = __atomic_load_n(&shared->is_opaque, __ATOMIC_RELAXED) != 0;
		uint64_t most = hang_after_ns * (is_opaque ? OPAQUE_FACTOR : 1);
		if (hang_after_ns != 0 && now - beat_ns > most && *hung_s == 0) {
			*hung_s = (now - beat_ns) / 1000000000u;
			kill(pid, SIGKILL);
		}
		wait_a_little(pidfd, passed.requests > 0);
	}
	if (pidfd >= 0)
		close(pidfd);
	return status;
}

/** Say how a child ended that did not say so itself. Returns its exit status. */
static int
tell_end(const char *driver, int status, uint64_t hung_s, struct nb_summary *summary)
{
	if (WIFEXITED(status)) {
		int code = WEXITSTATUS(status);
		if (code != STATUS_DONE && summary->end[0] == '\0')
			snprintf(summary->end, sizeof(summary->end),
				"the process ended with status %d", code);
		if (code == STATUS_DONE && !summary->is_measured) {
			snprintf(summary->end, sizeof(summary->end),
				"the engine ended the process with status 0");
			message_error("%s: %s", driver, summary->end);
			return STATUS_FAILED;
		}
		return code;
	}
	char phase[sizeof(shared->phase)];
	memcpy(phase, shared->phase, sizeof(phase));
	phase[sizeof(phase) - 1] = '\0';
	if (hung_s == 0 && summary->end[0] != '\0')
		return STATUS_FAILED; /* the child has said it, before it let itself be killed */
	if (hung_s > 0)
		snprintf(summary->end, sizeof(summary->end),
			"hung during %s: nothing was done for %" PRIu64 " s, so it was killed",
			phase[0] != '\0' ? phase : "start", hung_s);
	else
		snprintf(summary->end, sizeof(summary->end),
			"killed by signal %d (%s) during %s", WTERMSIG(status),
			strsignal(WTERMSIG(status)), phase[0] != '\0' ? phase : "start");
	message_error("%s: %s", driver, summary->end);
	return STATUS_FAILED;
}

/** Append what the child has handed over; how it ended, if that was nothing. */
static int
take_results(struct nb_results *into, int fd, const struct nb_summary *summary)
{
	char path[64];
	struct stat st;
	struct nb_results *own = NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int rc = fstat(fd, &st) == 0 && st.st_size > 0 ? nb_results_read(&own, path) : NB_OK;
	bool has_any = own != NULL && nb_results_count(own) > 0;
	if (rc == NB_OK && own != NULL)
		rc = nb_results_append(into, own);
	if (rc == NB_OK && !has_any)
		rc = nb_results_add_failure(into, summary->driver, summary->end);
	else if (rc == NB_OK && summary->end[0] != '\0')
		nb_results_set_end(into, summary->end);
	nb_results_delete(own);
	return message_last_failure(rc);
}

static int
run_child(const struct options *options, const struct run_kind *kind, const char *driver,
	struct nb_results *results, struct nb_summary *summary)
{
	memset(shared, 0, sizeof(*shared));
	char name[sizeof(summary->driver)];
	snprintf(shared->summary.driver, sizeof(summary->driver), "%s",
		engine_name(driver, name, sizeof(name)));
	int fd = memfd_create("results", MFD_CLOEXEC);
	fflush(NULL); /* or the child would write it again */
	pid_t parent = getpid(), pid = fd >= 0 ? fork() : -1;
	if (pid == 0)
		be_child(options, kind, driver, parent, fd);
	if (pid < 0) {
		message_error("%s: a process cannot be made: %s", driver, strerror(errno));
		if (fd >= 0)
			close(fd);
		return STATUS_FAILED;
	}
	uint64_t hung_s;
	int status = watch(pid, options->hang_after_ns, &hung_s);
	*summary = shared->summary;
	status = tell_end(driver, status, hung_s, summary);
	int taken = take_results(results, fd, summary);
	close(fd);
	return status == STATUS_DONE ? taken : status;
}

/** All of `text`, or "..." and its end. */
static void
copy_end(char *to, size_t size, const char *text)
{
	size_t length = strlen(text);
	bool is_cut = length >= size;
	snprintf(to, size, "%s%s", is_cut ? "..." : "",
		is_cut ? text + length - (size - 1 - strlen("...")) : text);
}

static int
run_all(const struct options *options, const struct run_kind *kind,
	const struct drivers *drivers, struct nb_results *results)
{
	static struct nb_summary summaries[DRIVERS_MAX];
	int status = STATUS_DONE;
	size_t done = 0;
	for (; done < drivers->count && !nb_stop_requested(); done++) {
		if (drivers->count > 1)
			fprintf(output_text(), "%s== %s, %zu of %zu\n", done == 0 ? "" : "\n",
				drivers->labels[done], done + 1, drivers->count);
		int one = run_child(
			options, kind, drivers->names[done], results, &summaries[done]);
		if (strpbrk(drivers->labels[done], "/#") != NULL) /* the name does not tell */
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
		message_error("interrupted: %zu of %zu engines were not run",
			drivers->count - done, drivers->count);
	nb_results_set_list(results, (uint32_t)drivers->count);
	fprintf(output_text(), "\n== all\n");
	int rc = nb_summaries_write_text(summaries, done, output_text(), output_flags(options));
	return rc < 0 ? message_output_failure(rc) : status;
}

static int
run_apart(const struct options *options, const struct run_kind *kind,
	const struct drivers *drivers, struct nb_results *results)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	if (shared == MAP_FAILED) {
		message_error("out of memory");
		return STATUS_FAILED;
	}
	int status = run_all(options, kind, drivers, results);
	munmap(shared, sizeof(*shared));
	return status;
}

static int
run_and_write(const struct options *options, const struct run_kind *kind,
	const struct drivers *drivers)
{
	struct nb_results *results;
	int begun = output_begin(options);
	if (begun != STATUS_DONE)
		return begun;
	int rc = nb_results_new(&results);
	if (rc < 0)
		return message_last_failure(rc);
	bool is_apart = drivers->count > 1 || options_were_given(options, "hang-after");
	int status = is_apart ? run_apart(options, kind, drivers, results)
			      : run_here(options, kind, drivers->names[0], NULL, results, NULL);
	if (nb_results_count(results) > 0)
		status = output_finish(options, results, status);
	nb_results_delete(results);
	return status;
}

int
run_drivers(const struct options *options, const struct run_kind *kind)
{
	struct drivers drivers;
	int status = STATUS_USAGE;
	if (!drivers_split(&drivers, options->driver, false))
		return status;
	if (drivers_have_options(options, &drivers) && are_apart(options, &drivers) &&
		are_fresh(options, &drivers, kind))
		status = run_and_write(options, kind, &drivers);
	free(drivers.text);
	return status;
}
