/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flock(), because its lock belongs to the open file: processes that are forked by the one that
 * has it have it too, and it lasts until the last of them is gone. A POSIX lock would end at the
 * first close() of the same file anywhere in the process, and no child would have it.
 *
 * The kernel lists in /proc/locks which process took a lock. A process in another container is
 * not listed there, and a device number may differ from that of stat(2) in its minor part where
 * a file system has no device of its own (btrfs).
 */
#include "run/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

/* A process that was killed releases its locks a moment after its parent has been told. */
enum { TRIES = 50, PAUSE_NS = 10 * 1000 * 1000, COMMAND_SIZE = 160 };

/** The process that has a flock() on that file; 0: not known. */
static int
find_holder(const struct stat *st)
{
	char line[256];
	int holder = 0, pid;
	unsigned device_major, device_minor;
	uint64_t inode;
	FILE *file = fopen("/proc/locks", "re");
	while (file != NULL && holder == 0 && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%" SCNu64, &pid, &device_major,
			    &device_minor, &inode) == 4 &&
			inode == st->st_ino && device_major == major(st->st_dev) &&
			(device_minor == minor(st->st_dev) || device_major == 0) && pid > 0)
			holder = pid;
	}
	if (file != NULL)
		fclose(file);
	return holder;
}

/** Its words with a space after each; "" if it is gone or hidden. */
static void
read_command(char text[COMMAND_SIZE], int pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, COMMAND_SIZE - 1) : 0;
	if (fd >= 0)
		close(fd);
	while (size > 0 && text[size - 1] == '\0')
		size--;
	text[size > 0 ? size : 0] = '\0';
	for (ssize_t i = 0; i < size; i++)
		text[i] = (char)(text[i] == '\0' ? ' ' : text[i]);
}

static int
refuse(int fd, const char *what)
{
	static const char advice[] = "wait until it ends, or name another --path";
	char command[COMMAND_SIZE];
	struct stat st;
	int holder = fstat(fd, &st) == 0 ? find_holder(&st) : 0;
	if (holder == 0)
		return error_set(NB_FAIL, "%s: is in use by another process; %s", what, advice);
	read_command(command, holder);
	return error_set(NB_FAIL, "%s: is in use by process %d%s%s%s; %s", what, holder,
		command[0] != '\0' ? " (" : "", command, command[0] != '\0' ? ")" : "", advice);
}

int
lock_take(int fd, bool is_shared, const char *what)
{
	int how = (is_shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
	int rc = flock(fd, how);
	for (int i = 0; rc != 0 && i < TRIES && (errno == EWOULDBLOCK || errno == EINTR); i++) {
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		rc = flock(fd, how);
	}
	if (rc == 0)
		return NB_OK;
	if (errno == EWOULDBLOCK || errno == EINTR)
		return refuse(fd, what);
	log_message(NB_LOG_WARNING,
		"%s: cannot be locked (%s), so another mininb that uses it would not be noticed",
		what, strerror(errno));
	return NB_OK;
}
