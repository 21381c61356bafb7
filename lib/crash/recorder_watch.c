/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that change without a call: through a shared mapping, or by internal writes of the
 * C library for a stream. The recorder maps each of them, too, and so sees the same pages
 * of the page cache. It compares them with a copy of the previous contents. So the engine's
 * own mappings do not matter.
 *
 * Rejected: write protection with SIGSEGV. It would see each store, but takes a signal from
 * the engine, and makes the kernel's own stores into such a page fail with EFAULT. Also
 * rejected: the soft-dirty bits of pagemap(5), which many kernels lack.
 *
 * Comparing takes 0.1 ms for each MiB, so above COARSE bytes it happens only at syncs and
 * points. SEEK_DATA skips holes, so a sparse file costs only its data. If bytes change
 * twice between two comparisons, only the last value is recorded.
 */
#include "crash/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WATCHES = 64, PAGE = 4096, ROOM = 1 << 20 };

#define COARSE (UINT64_C(8) << 20)
#define TOO_LARGE (UINT64_C(512) << 20) /* limit for the data that is compared */

struct watch {
	uint64_t file;
	uint64_t size; /* of the file when the copy was made */
	uint64_t room; /* size of both mappings */
	const uint8_t *now;
	uint8_t *before;
	int fd;
};

static struct watch watches[WATCHES];
static size_t watch_count;
static uint64_t looked_at; /* bytes compared by the last recorder_look() */

bool
recorder_is_watching(void)
{
	return watch_count > 0;
}

static void *
map(size_t size, int protection, int flags, int fd)
{
	void *at = (void *)syscall(SYS_mmap, NULL, size, protection, flags, fd, (off_t)0);
	return at != MAP_FAILED ? at : NULL;
}

static bool
make_room(struct watch *watch, uint64_t size)
{
	uint64_t room = (size + size / 2 + ROOM) & ~(uint64_t)(ROOM - 1);
	if (size <= watch->room && watch->before != NULL)
		return true;
	void *now = map(room, PROT_READ, MAP_SHARED, watch->fd);
	void *before = watch->before == NULL
		? map(room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1)
		: (void *)syscall(SYS_mremap, watch->before, watch->room, room, MREMAP_MAYMOVE);
	if (now == NULL || before == NULL || before == MAP_FAILED) {
		recorder_blind("a mapping is too large to compare", strerror(errno));
		return false;
	}
	if (watch->now != NULL)
		syscall(SYS_munmap, watch->now, watch->room);
	watch->now = now;
	watch->before = before;
	watch->room = room;
	return true;
}

/** The next run of data at or after `from`; false: none. */
static bool
next_data(
	const struct watch *watch, uint64_t from, uint64_t size, uint64_t *begin, uint64_t *end)
{
	if (from >= size)
		return false;
	off_t data = (off_t)syscall(SYS_lseek, watch->fd, from, SEEK_DATA);
	if (data < 0 || (uint64_t)data >= size)
		return false;
	off_t hole = (off_t)syscall(SYS_lseek, watch->fd, data, SEEK_HOLE);
	*begin = (uint64_t)data & ~(uint64_t)(PAGE - 1);
	*end = hole > data && (uint64_t)hole < size ? (uint64_t)hole : size;
	return true;
}

/**
 * Compare a page with `size` bytes in the file. All new bytes of a file that has grown are
 * recorded, so that the size is right.
 */
static void
look_at_page(struct watch *watch, uint64_t at, uint64_t size, bool is_grown)
{
	const uint8_t *now = watch->now + at;
	uint8_t *before = watch->before + at;
	if (!is_grown && memcmp(now, before, size) == 0)
		return;
	uint8_t page[PAGE]; /* a copy: the page may change meanwhile */
	memcpy(page, now, size);
	size_t from = 0, to = (size_t)size;
	while (!is_grown && from < to && page[from] == before[from])
		from++;
	while (!is_grown && to > from && page[to - 1] == before[to - 1])
		to--;
	if (from == to)
		return;
	memcpy(before + from, page + from, to - from);
	const struct iovec piece = {page + from, to - from};
	recorder_put(&(struct record_entry){.kind = RECORD_MAPPED,
			     .file = watch->file,
			     .offset = at + from,
			     .length = to - from},
		NULL, NULL, &piece, 1);
}

static void
look_at(struct watch *watch)
{
	struct stat st;
	if (fstat(watch->fd, &st) != 0 || !make_room(watch, (uint64_t)st.st_size))
		return;
	uint64_t size = (uint64_t)st.st_size, old = watch->size, begin, end;
	if (size < old) {
		recorder_put(
			&(struct record_entry){
				.kind = RECORD_TRUNCATE, .file = watch->file, .offset = size},
			NULL, NULL, NULL, 0);
		recorder_watch_size(watch->file, size);
	}
	for (uint64_t from = 0; next_data(watch, from, size, &begin, &end); from = end) {
		for (uint64_t at = begin; at < end; at += PAGE) {
			uint64_t length = size - at < PAGE ? size - at : PAGE;
			look_at_page(watch, at, length, at + length > old && size > old);
		}
		looked_at += end - begin;
	}
	watch->size = size;
}

void
recorder_look(bool is_point)
{
	if (watch_count == 0 || (looked_at > COARSE && !is_point))
		return;
	looked_at = 0;
	for (size_t i = 0; i < watch_count; i++)
		look_at(&watches[i]);
	recorder_looked(looked_at, looked_at > COARSE);
	if (looked_at > TOO_LARGE) {
		recorder_blind("mappings are too large to compare", "");
		watch_count = 0;
	}
}

static struct watch *
find(uint64_t file)
{
	for (size_t i = 0; i < watch_count; i++)
		if (watches[i].file == file)
			return &watches[i];
	return NULL;
}

void
recorder_watch(uint64_t file, int fd, const struct stat *st)
{
	if (find(file) != NULL)
		return;
	if (watch_count == WATCHES) {
		recorder_blind("the engine maps too many files", "");
		return;
	}
	struct watch *watch = &watches[watch_count];
	*watch = (struct watch){.file = file, .fd = recorder_reader(fd)};
	uint64_t begin, end, size = (uint64_t)st->st_size;
	if (watch->fd < 0) {
		recorder_blind("a mapped file cannot be read", strerror(errno));
		return;
	}
	if (!make_room(watch, size))
		return;
	for (uint64_t from = 0; next_data(watch, from, size, &begin, &end); from = end)
		memcpy(watch->before + begin, watch->now + begin, end - begin);
	watch->size = size;
	watch_count++;
}

void
recorder_watch_write(
	uint64_t file, uint64_t offset, uint64_t length, const struct iovec *pieces, int count)
{
	struct watch *watch = find(file);
	if (watch == NULL || !make_room(watch, offset + length))
		return;
	for (int i = 0; i < count && length > 0; i++) {
		size_t part = pieces[i].iov_len < length ? pieces[i].iov_len : length;
		memcpy(watch->before + offset, pieces[i].iov_base, part);
		offset += part;
		length -= part;
	}
	watch->size = offset > watch->size ? offset : watch->size;
}

void
recorder_watch_size(uint64_t file, uint64_t size)
{
	struct watch *watch = find(file);
	if (watch == NULL || !make_room(watch, size))
		return;
	if (size < watch->size) {
		/* MADV_DONTNEED zeroes whole pages */
		uint64_t page = (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
		uint64_t end = (watch->size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
		memset(watch->before + size, 0, page - size);
		if (end > page)
			syscall(SYS_madvise, watch->before + page, end - page, MADV_DONTNEED);
	}
	watch->size = size;
}
