/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Child processes that test an engine: fork() without exec(), because the engine is already
 * loaded, by a parent with a single thread. A crash of the engine ends only the child.
 *
 * A file of a database may be a sparse terabyte. So a copy shares blocks if possible (FICLONE).
 * Else it copies only the ranges that contain data (SEEK_DATA), in the kernel
 * (copy_file_range).
 */
#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

void
process_take_signals_back(void)
{
	static const int signals[] = {
		SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGABRT};
	enum { REQUESTS = 4 /* number of signals that request a stop */ };
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction action;
		/* A sanitizer's handlers report more than the default. */
		if (sigaction(signals[i], NULL, &action) == 0 &&
			(i < REQUESTS || (action.sa_flags & SA_SIGINFO) == 0) &&
			action.sa_handler != SIG_IGN)
			signal(signals[i], SIG_DFL);
	}
}

int
process_make_scratch(char **out, const char *in, const char *name)
{
	char *absolute = realpath(in, NULL), *scratch;
	int length = asprintf(&scratch, "%s/%s-XXXXXX", absolute != NULL ? absolute : in, name);
	free(absolute);
	if (length < 0)
		return error_set(NB_FAIL, "out of memory");
	if (mkdtemp(scratch) != NULL) {
		*out = scratch;
		return NB_OK;
	}
	int rc = error_system("%s: no directory can be made in it", in);
	free(scratch);
	return rc;
}

static int directory = -1;

void
process_note_directory(void)
{
	if (directory >= 0)
		close(directory);
	directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void
process_return_to_directory(void)
{
	if (directory >= 0 && fchdir(directory) != 0)
		return; /* no permission any more: nothing can be done */
}

/** Wait until the process of `pidfd` has ended, a signal arrives, or most_ns has passed. */
static void
wait_a_while(int pidfd, uint64_t most_ns)
{
	enum { LOOK_NS = 20000000, LOOK_WITHOUT_NS = 500000 };
	uint64_t look_ns = pidfd < 0 ? LOOK_WITHOUT_NS : LOOK_NS;
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	ppoll(&end, 1,
		&(struct timespec){.tv_nsec = (long)(most_ns < look_ns ? most_ns : look_ns)},
		NULL);
}

int
process_await(pid_t pid, int *status, uint64_t timeout_ns)
{
	uint64_t begin = clock_monotonic(), gone = 0;
	int pidfd = timeout_ns == 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	int how = PROCESS_ENDED;
	while (how == PROCESS_ENDED && waitpid(pid, status, WNOHANG) != pid) {
		if (stop_requested())
			how = PROCESS_STOPPED;
		else if ((gone = clock_monotonic() - begin) >= timeout_ns)
			how = PROCESS_LATE;
		else
			wait_a_while(pidfd, timeout_ns - gone);
	}
	if (pidfd >= 0)
		close(pidfd);
	return how;
}

void
process_kill(pid_t pid, int *status)
{
	kill(pid, SIGKILL);
	pid_t seen;
	do /* a traced process may stop before it ends */
		seen = waitpid(pid, status, 0);
	while (seen < 0 ? errno == EINTR : WIFSTOPPED(*status));
}

const char *
process_signal_name(int signal, char text[PROCESS_SIGNAL_SIZE])
{
	const char *name = sigabbrev_np(signal);
	if (name != NULL)
		snprintf(text, PROCESS_SIGNAL_SIZE, "SIG%s", name);
	else
		snprintf(text, PROCESS_SIGNAL_SIZE, "signal %d", signal);
	return text;
}

void
process_describe_end(char *text, size_t size, int how, int status, uint64_t timeout_ns)
{
	char name[PROCESS_SIGNAL_SIZE];
	text[0] = '\0';
	if (how == PROCESS_LATE)
		snprintf(text, size, "it hangs: no end after %.3g s", (double)timeout_ns / 1e9);
	else if (WIFSIGNALED(status))
		snprintf(text, size, "the process was ended by %s",
			process_signal_name(WTERMSIG(status), name));
	else if (WEXITSTATUS(status) != EXIT_SUCCESS)
		snprintf(text, size, "the process ended with status %d", WEXITSTATUS(status));
}

/* ---- directories ---- */

/** Copy `size` bytes at `at`, in the kernel or, between some file systems, through a buffer. */
static int
copy_range(int to, int from, off_t at, off_t size)
{
	static char buf[1 << 16];
	off_t in = at, out = at;
	while (size > 0) {
		ssize_t copied = copy_file_range(from, &in, to, &out, (size_t)size, 0);
		if (copied <= 0) {
			copied = pread(from, buf,
				(size_t)size < sizeof(buf) ? (size_t)size : sizeof(buf), in);
			if (copied <= 0)
				return copied < 0 ? -1 : 0; /* it was truncated */
			copied = pwrite(to, buf, (size_t)copied, out);
			if (copied < 0)
				return -1;
			in += copied;
			out += copied;
		}
		size -= copied;
	}
	return 0;
}

static int
copy_data(int to, int from, off_t size)
{
	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	if (ftruncate(to, size) != 0)
		return -1;
	for (off_t at = 0; at < size;) {
		off_t data = lseek(from, at, SEEK_DATA);
		if (data < 0)
			return errno == ENXIO ? 0 : -1; /* a hole up to the end */
		off_t end = lseek(from, data, SEEK_HOLE);
		if (end < 0 || copy_range(to, from, data, end - data) != 0)
			return -1;
		at = end;
	}
	return 0;
}

static int
copy_file(int to_dir, int from_dir, const char *name, const struct stat *info)
{
	int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		(info->st_mode & 0777) | S_IWUSR);
	int rc = from >= 0 && to >= 0 ? copy_data(to, from, info->st_size) : -1;
	int cause = errno;
	if (from >= 0)
		close(from);
	if (to >= 0 && close(to) != 0 && rc == 0)
		return -1;
	errno = cause;
	return rc;
}

/** Whether a link in a tree leads out of it. */
static bool
leads_out(const char *target)
{
	bool is_out = target[0] == '/';
	for (const char *at = target; *at != '\0' && !is_out; at += *at == '/') {
		size_t length = strcspn(at, "/");
		is_out = length == 2 && at[0] == '.' && at[1] == '.';
		at += length;
	}
	return is_out;
}

/** ELOOP: it leads out of the tree, and the engine would write to a file outside. */
static int
copy_link(int to_dir, int from_dir, const char *name)
{
	char target[4096];
	ssize_t size = readlinkat(from_dir, name, target, sizeof(target) - 1);
	if (size < 0)
		return -1;
	target[size] = '\0';
	if (leads_out(target)) {
		errno = ELOOP;
		return -1;
	}
	return symlinkat(target, to_dir, name);
}

static int
copy_directory(int to_parent, int from_parent, const char *to, const char *from);

static int
copy_entry(int to_dir, int from_dir, const char *name)
{
	struct stat info;
	if (fstatat(from_dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	if (S_ISDIR(info.st_mode))
		return copy_directory(to_dir, from_dir, name, name);
	if (S_ISREG(info.st_mode))
		return copy_file(to_dir, from_dir, name, &info);
	return S_ISLNK(info.st_mode) ? copy_link(to_dir, from_dir, name) : 0;
}

static int
copy_entries(int to_dir, DIR *list)
{
	int rc = 0;
	errno = 0;
	for (struct dirent *entry; rc == 0 && (entry = readdir(list)) != NULL;)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = copy_entry(to_dir, dirfd(list), entry->d_name);
	return rc;
}

static int
copy_directory(int to_parent, int from_parent, const char *to, const char *from)
{
	enum { HOW = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
	int rc = -1, cause;
	int from_fd = openat(from_parent, from, HOW);
	DIR *list = from_fd >= 0 ? fdopendir(from_fd) : NULL;
	int to_fd = list != NULL && mkdirat(to_parent, to, 0700) == 0
		? openat(to_parent, to, HOW)
		: -1;
	if (to_fd >= 0)
		rc = copy_entries(to_fd, list);
	cause = errno;
	if (to_fd >= 0)
		close(to_fd);
	if (list != NULL)
		closedir(list);
	else if (from_fd >= 0)
		close(from_fd);
	errno = cause;
	return rc;
}

int
process_copy_tree(const char *to, const char *from)
{
	if (copy_directory(AT_FDCWD, AT_FDCWD, to, from) == 0)
		return NB_OK;
	if (errno == ELOOP)
		return error_set(NB_FAIL,
			"%s holds a symbolic link that leads out of it; mininb does not copy it, because an engine could write through the link",
			from);
	return error_system("%s cannot be copied to %s", from, to);
}
