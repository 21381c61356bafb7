/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces the calls of the C library that make data durable or map a file.
 *
 * The files of an msync(2) range are looked up in /proc/self/maps. The call is rare and
 * slow itself, so the recorder need not track how mappings grow, move and end.
 */
#include "crash/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RANGES = 16, MAPS_LINE = PATH_MAX + 128 };

/* ---- syncs ---- */

static int
sync_by(long call, int fd)
{
	struct stat st;
	char inside[PATH_MAX];
	if (!recorder_begins())
		return (int)syscall(call, fd);
	struct record_entry head = {.kind = RECORD_SYNC_ALL};
	bool is_all = call == SYS_syncfs || call == SYS_sync, is_ours = is_all;
	if (!is_all && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		head.kind = RECORD_SYNC_DIR;
		is_ours = recorder_inside_fd(inside, fd);
	} else if (!is_all) {
		head.kind = RECORD_SYNC;
		head.file = recorder_file(fd, &st);
		is_ours = head.file != 0;
	}
	if (is_ours)
		recorder_look(true);
	head.covers = recorder_count();
	recorder_unlock();
	int rc = (int)syscall(call, fd);
	int error = errno;
	recorder_lock();
	if (rc == 0 && is_ours)
		recorder_put(
			&head, head.kind == RECORD_SYNC_DIR ? inside : NULL, NULL, NULL, 0);
	recorder_leave(error);
	return rc;
}

NB_EXPORT int
fsync(int fd)
{
	return sync_by(SYS_fsync, fd);
}

NB_EXPORT int
fdatasync(int fd)
{
	return sync_by(SYS_fdatasync, fd);
}

NB_EXPORT int
syncfs(int fd)
{
	return sync_by(SYS_syncfs, fd);
}

NB_EXPORT void
sync(void)
{
	sync_by(SYS_sync, -1);
}

/* ---- mappings ---- */

/**
 * Make the sync entry for a line of /proc/self/maps. False: its mapping is outside the
 * range of msync() or belongs to another file.
 */
static bool
range_of_line(struct record_entry *head, const char *line, uintptr_t begin, uintptr_t end)
{
	unsigned long from, to, offset;
	int at = 0;
	char inside[PATH_MAX];
	struct stat st;
	if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &from, &to, &offset, &at) != 3 ||
		at == 0 || line[at] != '/' || to <= begin || from >= end)
		return false;
	if (stat(line + at, &st) != 0 || !recorder_inside(inside, AT_FDCWD, line + at))
		return false;
	*head = (struct record_entry){
		.kind = RECORD_SYNC, .file = recorder_file_at(inside, AT_FDCWD, line + at)};
	uintptr_t first = from > begin ? from : begin, last = to < end ? to : end;
	head->offset = offset + (first - from);
	head->length = last - first;
	if (head->offset == 0 && head->length >= (uint64_t)st.st_size)
		head->length = 0;
	return head->file != 0;
}

static size_t
find_ranges(struct record_entry heads[RANGES], uintptr_t begin, uintptr_t end)
{
	static char text[2 * MAPS_LINE]; /* protected by the lock */
	size_t count = 0, filled = 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	for (ssize_t got; fd >= 0;) {
		got = syscall(SYS_read, fd, text + filled, sizeof(text) - 1 - filled);
		filled += got > 0 ? (size_t)got : 0;
		text[filled] = '\0';
		char *line = text;
		for (char *stop; (stop = strchr(line, '\n')) != NULL; line = stop + 1) {
			*stop = '\0';
			if (count < RANGES && range_of_line(&heads[count], line, begin, end))
				count++;
		}
		filled -= (size_t)(line - text);
		memmove(text, line, filled);
		if (got <= 0)
			break;
	}
	if (fd < 0 || count == RANGES)
		recorder_blind("the files of an msync() cannot be found", "");
	if (fd >= 0)
		syscall(SYS_close, fd);
	return count;
}

NB_EXPORT int
msync(void *address, size_t size, int flags)
{
	struct record_entry heads[RANGES];
	/* MS_ASYNC has done nothing since Linux 2.6.19 */
	if ((flags & MS_SYNC) == 0 || !recorder_begins())
		return (int)syscall(SYS_msync, address, size, flags);
	uintptr_t begin = (uintptr_t)address;
	size_t count = find_ranges(heads, begin, begin + size);
	if (count > 0)
		recorder_look(true);
	uint64_t covers = recorder_count();
	recorder_unlock();
	int rc = (int)syscall(SYS_msync, address, size, flags);
	int error = errno;
	recorder_lock();
	for (size_t i = 0; i < count && rc == 0; i++) {
		heads[i].covers = covers;
		recorder_put(&heads[i], NULL, NULL, NULL, 0);
	}
	recorder_leave(error);
	return rc;
}

static void
note_mapping(int protection, int flags, int fd)
{
	struct stat st;
	int type = flags & MAP_TYPE, error = errno;
	if ((type != MAP_SHARED && type != MAP_SHARED_VALIDATE) ||
		(protection & PROT_WRITE) == 0 || !recorder_enter())
		return;
	uint64_t file = recorder_file(fd, &st);
	if (file != 0 && type == MAP_SHARED_VALIDATE && (flags & MAP_SYNC) != 0)
		recorder_blind("the engine maps persistent memory, which needs no sync", "");
	if (file != 0) {
		recorder_look(false);
		recorder_watch(file, fd, &st);
	}
	recorder_leave(error);
}

NB_EXPORT void *
mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *at = (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
	if (fd >= 0 && at != MAP_FAILED && !recorder_sleeps())
		note_mapping(protection, flags, fd);
	return at;
}
ALSO(mmap64, mmap);

/* free() calls munmap(), too, even inside a call that is being recorded. */
NB_EXPORT int
munmap(void *address, size_t size)
{
	if (!recorder_sleeps() && recorder_is_watching() && !recorder_is_inside() &&
		recorder_enter()) {
		recorder_look(false);
		recorder_leave(errno);
	}
	return (int)syscall(SYS_munmap, address, size);
}
