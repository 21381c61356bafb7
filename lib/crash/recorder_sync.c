/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that are recorded, in the place of the C library's: those that make durable, and
 * those that map a file.
 *
 * What an msync(2) concerns is read from /proc/self/maps: it is called seldom, and is slow
 * itself, and so mappings that grow, move and end need not be followed.
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
	struct crash_moment moment;
	struct stat st;
	char inside[PATH_MAX] = "";
	if (recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(call, fd);
	struct record_entry head = entry_of(RECORD_SYNC_ALL, 0);
	bool is_ours = call == SYS_syncfs;
	if (!is_ours && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		head.kind = RECORD_SYNC_DIR;
		is_ours = recorder_inside_fd(inside, fd);
	} else if (!is_ours) {
		head = entry_of(RECORD_SYNC, recorder_file(fd, &st, &moment));
		is_ours = head.file != 0;
	}
	if (is_ours)
		recorder_look(true, &moment);
	head.covers = recorder_count();
	recorder_unlock();
	int rc = (int)syscall(call, fd);
	int error = errno;
	recorder_lock();
	if (rc == 0 && is_ours)
		put(&head, &moment, head.kind == RECORD_SYNC_DIR ? inside : NULL, NULL);
	recorder_leave();
	errno = error;
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
	struct crash_moment moment;
	if (recorder_sleeps() || !recorder_enter(&moment)) {
		syscall(SYS_sync);
		return;
	}
	struct record_entry head = entry_of(RECORD_SYNC_ALL, 0);
	recorder_look(true, &moment);
	head.covers = recorder_count();
	recorder_unlock();
	syscall(SYS_sync);
	recorder_lock();
	put(&head, &moment, NULL, NULL);
	recorder_leave();
}

/* ---- mappings ---- */

/** The sync entry of the part of one mapping, a line of /proc/self/maps, that msync() is
 * called on; false: none of it, or no file of the database. */
static bool
range_of_line(struct record_entry *head, const char *line, uintptr_t begin, uintptr_t end,
	const struct crash_moment *moment)
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
	*head = entry_of(RECORD_SYNC, recorder_file_at(inside, AT_FDCWD, line + at, moment));
	uintptr_t first = from > begin ? from : begin, last = to < end ? to : end;
	head->offset = offset + (first - from);
	head->length = last - first;
	if (head->offset == 0 && head->length >= (uint64_t)st.st_size)
		head->length = 0;
	return head->file != 0;
}

static size_t
find_ranges(struct record_entry heads[RANGES], uintptr_t begin, uintptr_t end,
	const struct crash_moment *moment)
{
	static char text[2 * MAPS_LINE]; /* under the lock */
	size_t count = 0, filled = 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	for (ssize_t got; fd >= 0;) {
		got = syscall(SYS_read, fd, text + filled, sizeof(text) - 1 - filled);
		filled += got > 0 ? (size_t)got : 0;
		text[filled] = '\0';
		char *line = text;
		for (char *stop; (stop = strchr(line, '\n')) != NULL; line = stop + 1) {
			*stop = '\0';
			if (count < RANGES &&
				range_of_line(&heads[count], line, begin, end, moment))
				count++;
		}
		filled -= (size_t)(line - text);
		memmove(text, line, filled);
		if (got <= 0)
			break;
	}
	if (fd < 0 || count == RANGES)
		recorder_blind("what msync() concerns cannot be told", "");
	if (fd >= 0)
		syscall(SYS_close, fd);
	return count;
}

NB_EXPORT int
msync(void *address, size_t size, int flags)
{
	struct crash_moment moment;
	struct record_entry heads[RANGES];
	/* MS_ASYNC does nothing in Linux since 2.6.19 */
	if ((flags & MS_SYNC) == 0 || recorder_sleeps() || !recorder_enter(&moment))
		return (int)syscall(SYS_msync, address, size, flags);
	uintptr_t begin = (uintptr_t)address;
	size_t count = find_ranges(heads, begin, begin + size, &moment);
	if (count > 0)
		recorder_look(true, &moment);
	uint64_t covers = recorder_count();
	recorder_unlock();
	int rc = (int)syscall(SYS_msync, address, size, flags);
	int error = errno;
	recorder_lock();
	for (size_t i = 0; i < count && rc == 0; i++) {
		heads[i].covers = covers;
		put(&heads[i], &moment, NULL, NULL);
	}
	recorder_leave();
	errno = error;
	return rc;
}

static void
note_mapping(int protection, int flags, int fd)
{
	struct crash_moment moment;
	struct stat st;
	int type = flags & MAP_TYPE, error = errno;
	if ((type != MAP_SHARED && type != MAP_SHARED_VALIDATE) ||
		(protection & PROT_WRITE) == 0 || !recorder_enter(&moment))
		return;
	uint64_t file = recorder_file(fd, &st, &moment);
	if (file != 0 && type == MAP_SHARED_VALIDATE && (flags & MAP_SYNC) != 0)
		recorder_blind("persistent memory is mapped, which needs no sync", "");
	if (file != 0) {
		recorder_look(false, &moment);
		recorder_watch(file, fd, &st);
	}
	recorder_leave();
	errno = error;
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

/* free() calls it too, also within a call that is being recorded. */
NB_EXPORT int
munmap(void *address, size_t size)
{
	struct crash_moment moment;
	if (!recorder_sleeps() && recorder_is_watching() && !recorder_is_inside() &&
		recorder_enter(&moment)) {
		recorder_look(false, &moment);
		recorder_leave();
	}
	return (int)syscall(SYS_munmap, address, size);
}
