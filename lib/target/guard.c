/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mininb may be killed at any moment. A server that survived would keep its port, memory
 * and lock, and disturb the next measurement. So the guard waits on a pipe whose other end
 * only mininb has; the kernel closes that end when mininb ends.
 *
 * If the guard itself is killed, the kernel kills the server (PR_SET_PDEATHSIG). That is
 * not armed in mininb, where it would fire when the forking thread ends.
 *
 * Processes that the server started become children of the guard when their parent ends
 * (PR_SET_CHILD_SUBREAPER). So the guard finds all of them, and so does target_usage().
 *
 * The guard is a fork without exec of a process that may have threads. So it allocates
 * nothing and takes no lock until the server has ended.
 */
#include "target/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

enum { REPORT_STARTED, REPORT_FAILED, REPORT_ENDED };

/** A message from the guard; small enough that a pipe writes it atomically. */
struct report {
	int what, value, cause;
};

/** The state of the guard process. */
struct watch {
	const struct guard_ask *ask;
	int orders, reports, log;
	pid_t server;
	bool has_ended;
};

#define KILL_NS UINT64_C(5000000000) /* limit for the wait after SIGKILL */

/* ---- the server process, until exec ---- */

static _Noreturn void
give_up(int to, int where)
{
	struct report report = {REPORT_FAILED, where, errno};
	_exit(write(to, &report, sizeof(report)) == sizeof(report) ? 127 : 126);
}

static void
take_signals_back(void)
{
	sigset_t none;
	sigemptyset(&none);
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool
become(const struct guard_user *user)
{
	return user == NULL ||
		(setgroups((size_t)user->group_count, user->groups) == 0 &&
			setgid(user->gid) == 0 && setuid(user->uid) == 0);
}

/** exec closes `to`. */
static _Noreturn void
be_server(const struct watch *watch, const char *program, const struct words *words, int to,
	pid_t guard)
{
	const struct guard_ask *ask = watch->ask;
	take_signals_back();
	setpgid(0, 0);
	if (ask->cpus != NULL && sched_setaffinity(0, sizeof(*ask->cpus), ask->cpus) != 0)
		give_up(to, GUARD_CPUS);
	if (!become(ask->user))
		give_up(to, GUARD_USER);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* after setuid(), which would clear it */
	if (getppid() != guard)
		_exit(126);
	if (chdir(ask->directory) != 0)
		give_up(to, GUARD_DIRECTORY);
	if (dup2(watch->log, STDOUT_FILENO) < 0 || dup2(watch->log, STDERR_FILENO) < 0)
		give_up(to, GUARD_EXEC);
	execv(program, words->items);
	give_up(to, GUARD_EXEC);
}

/* ---- the guard process ---- */

static void
note_child(int signal_number)
{
	(void)signal_number;
}

static void
tell(const struct watch *watch, int what, int value)
{
	struct report report = {what, value, 0};
	if (write(watch->reports, &report, sizeof(report)) != sizeof(report))
		return; /* mininb has ended */
}

static void
close_others(const struct watch *watch)
{
	const int kept[] = {watch->orders, watch->reports, watch->log, watch->ask->lock};
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		if (null >= 0 && null != fd)
			dup2(null, fd);
	for (int from = 3; from >= 0;) {
		int next = -1;
		for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
			if (kept[i] >= from && (next < 0 || kept[i] < next))
				next = kept[i];
		if (next != from)
			close_range((unsigned)from, next < 0 ? ~0u : (unsigned)next - 1, 0);
		from = next < 0 ? -1 : next + 1;
	}
}

/** Reap ended children. Returns whether others remain. */
static bool
reap(struct watch *watch)
{
	pid_t pid;
	for (int status; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		if (pid != watch->server)
			continue;
		watch->has_ended = true;
		tell(watch, REPORT_ENDED, status);
	}
	return pid == 0;
}

/**
 * Wait for an order, the end of mininb or of a child, or the timeout. Returns whether to
 * stop.
 */
static bool
wait_for(const struct watch *watch, const uint64_t *timeout_ns)
{
	sigset_t none;
	sigemptyset(&none);
	struct pollfd poll = {.fd = timeout_ns == NULL ? watch->orders : -1, .events = POLLIN};
	struct timespec time = {0};
	if (timeout_ns != NULL)
		time = (struct timespec){.tv_sec = (time_t)(*timeout_ns / 1000000000),
			.tv_nsec = (long)(*timeout_ns % 1000000000)};
	return ppoll(&poll, 1, timeout_ns != NULL ? &time : NULL, &none) > 0;
}

static pid_t
start(struct watch *watch, const char *program, const struct words *words,
	struct report *failed)
{
	int ends[2];
	pid_t guard = getpid();
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0)
		be_server(watch, program, words, ends[1], guard);
	close(ends[1]);
	ssize_t got;
	do
		got = read(ends[0], failed, sizeof(*failed));
	while (got < 0 && errno == EINTR);
	if (got != sizeof(*failed))
		failed->value = 0;
	close(ends[0]);
	return pid;
}

/** Kill each child. Call it repeatedly: orphaned grandchildren become children. */
static void
kill_children(void)
{
	char text[4096];
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof(text)) : 0;
	if (fd >= 0)
		close(fd);
	pid_t pid = 0;
	for (ssize_t i = 0; i < size; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = 10 * pid + (text[i] - '0');
			continue;
		}
		if (pid > 0)
			kill(pid, SIGKILL);
		pid = 0;
	}
}

static void
stop(struct watch *watch)
{
	const struct guard_ask *ask = watch->ask;
	struct report failed = {0};
	uint64_t begin = clock_monotonic(), gone = 0;
	if (watch->has_ended)
		return;
	if (ask->stop_program != NULL)
		start(watch, ask->stop_program, ask->stop_words, &failed);
	if (ask->stop_program == NULL || failed.value != 0)
		kill(watch->server, ask->stop_signal);
	for (; !watch->has_ended && gone < ask->stop_timeout_ns;
		gone = clock_monotonic() - begin) {
		uint64_t left = ask->stop_timeout_ns - gone;
		wait_for(watch, &left);
		reap(watch);
	}
}

static void
end_all(struct watch *watch)
{
	const uint64_t pause_ns = 1000000;
	uint64_t begin = clock_monotonic();
	kill(-watch->server, SIGKILL);
	while (reap(watch) && clock_monotonic() - begin < KILL_NS) {
		kill_children();
		wait_for(watch, &pause_ns);
	}
}

static void
remove_scratch(const char *path)
{
	DIR *list = path != NULL ? opendir(path) : NULL;
	if (list == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(list)) != NULL;)
		unlinkat(dirfd(list), entry->d_name, 0);
	closedir(list);
	rmdir(path);
}

static _Noreturn void
be_guard(struct watch *watch)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP};
	sigset_t child;
	struct report failed = {0};
	setsid();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_SETMASK, &child, NULL);
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = note_child}, NULL);
	close_others(watch);
	watch->server = start(watch, watch->ask->program, watch->ask->words, &failed);
	if (watch->server < 0)
		failed = (struct report){REPORT_FAILED, GUARD_EXEC, errno};
	if (failed.value != 0) {
		failed.what = REPORT_FAILED;
		if (write(watch->reports, &failed, sizeof(failed)) != sizeof(failed))
			_exit(1);
		_exit(0);
	}
	tell(watch, REPORT_STARTED, watch->server);
	while (!watch->has_ended && !wait_for(watch, NULL))
		reap(watch);
	stop(watch);
	end_all(watch);
	remove_scratch(watch->ask->scratch);
	_exit(0);
}

/* ---- in mininb ---- */

static void
close_pipes(struct guard *guard)
{
	if (guard->orders >= 0)
		close(guard->orders);
	if (guard->reports >= 0)
		close(guard->reports);
	guard->orders = guard->reports = -1;
}

int
guard_start(struct guard *guard, const struct guard_ask *ask)
{
	int orders[2] = {-1, -1}, reports[2] = {-1, -1};
	*guard = (struct guard){.orders = -1, .reports = -1};
	int log = open(ask->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (log < 0)
		return error_system("%s", ask->log);
	if (pipe2(orders, O_CLOEXEC) == 0 && pipe2(reports, O_CLOEXEC | O_NONBLOCK) == 0)
		guard->pid = fork();
	else
		guard->pid = -1;
	if (guard->pid == 0) {
		struct watch watch = {
			.ask = ask, .orders = orders[0], .reports = reports[1], .log = log};
		be_guard(&watch);
	}
	int cause = errno;
	close(log);
	if (orders[0] >= 0)
		close(orders[0]);
	if (reports[1] >= 0)
		close(reports[1]);
	guard->orders = orders[1];
	guard->reports = reports[0];
	if (guard->pid > 0)
		return NB_OK;
	guard->pid = 0;
	close_pipes(guard);
	errno = cause;
	return error_system("cannot create a process for a server");
}

bool
guard_look(struct guard *guard)
{
	struct report report;
	while (guard->reports >= 0) {
		ssize_t size = read(guard->reports, &report, sizeof(report));
		if (size < 0 && errno == EINTR)
			continue;
		if (size != sizeof(report)) {
			/*
			 * the pipe closed without a report: the guard was killed, and the
			 * server with it
			 */
			if (size == 0 && !guard->has_ended) {
				guard->has_ended = true;
				guard->status = SIGKILL;
			}
			break;
		}
		if (report.what == REPORT_STARTED)
			guard->server = report.value;
		guard->has_ended |= report.what != REPORT_STARTED;
		if (report.what == REPORT_ENDED)
			guard->status = report.value;
		if (report.what == REPORT_FAILED) {
			guard->failed_at = report.value;
			guard->cause = report.cause;
		}
	}
	return guard->has_ended;
}

void
guard_order_stop(struct guard *guard)
{
	if (guard->orders >= 0)
		close(guard->orders); /* to the guard, this looks like the end of mininb */
	guard->orders = -1;
}

void
guard_await(struct guard *guard)
{
	if (guard->pid <= 0)
		return;
	guard_order_stop(guard);
	while (waitpid(guard->pid, NULL, WNOHANG) == 0) {
		if (stop_waiting_requested() && guard->server > 0 && !guard_look(guard))
			kill(guard->server, SIGKILL);
		usleep(500);
	}
	guard_look(guard);
	close_pipes(guard);
	guard->pid = 0;
}
