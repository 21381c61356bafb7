/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of a database that is in the page cache, by mincore(2) on a mapping of each file;
 * and its eviction.
 *
 * Mapping alone reads no data, so measuring changes nothing. Files are opened with O_NOATIME if
 * permitted. Holes are skipped (SEEK_DATA), because space that is only reserved is not part of
 * the database. A page that is half data counts as a whole.
 *
 * A thread with its own table of open files does the work. A process that closes a file loses
 * all its record locks on it (fcntl(2)), whatever the descriptor. The engine whose database is
 * open may have such locks. In some containers no thread may have its own table; then residency
 * is not known.
 *
 * These things would make the number wrong:
 *   - Since Linux 5.2, mincore is right only for the owner of a file or a user who may write
 *     it. To others it reports all pages as resident. Such files are not measured, but counted.
 *   - An engine may bypass the page cache (O_DIRECT). A file system may have its own cache. For
 *     ZFS nothing is known. The server of a network file system or of FUSE may have data in
 *     memory that is not resident here. So may the device itself.
 *   - Storage that is mapped without a cache (DAX) is never resident.
 *
 * The database is made cold by fsync(2) and posix_fadvise(2) on each file. If permitted, all
 * caches are dropped as well, including the file system's metadata. Only clean pages can be
 * dropped. Pages that another process has mapped stay, and the following measurement shows
 * them.
 */
#include "run/residency.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"

enum { DEPTH_MAX = 16 };

#define CHUNK_BYTES (UINT64_C(1) << 30) /* mapped at once */

/* ---- walking the files ---- */

struct walk {
	void (*see)(struct walk *walk, int fd, const struct stat *st);
	struct residency *residency; /* of a measurement */
	unsigned char *map;          /* for mincore(2), one byte per page of a chunk */
	uint64_t page_bytes;
	uint64_t evicted; /* evicted files */
	int failure;      /* errno of the last file that failed */
};

static void
walk_file(struct walk *walk, int dir_fd, const char *name)
{
	struct stat st;
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = openat(dir_fd, name, flags | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = openat(dir_fd, name, flags);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		walk->see(walk, fd, &st);
	} else {
		walk->failure = errno;
		walk->residency->unread++;
	}
	if (fd >= 0)
		close(fd);
}

static void
walk_all(struct walk *walk, int dir_fd, const char *name, unsigned depth)
{
	struct stat st;
	/* the database itself may be a link to another disk */
	if (fstatat(dir_fd, name, &st, depth > 0 ? AT_SYMLINK_NOFOLLOW : 0) != 0)
		return;
	if (S_ISREG(st.st_mode))
		walk_file(walk, dir_fd, name);
	if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX)
		return;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		walk->residency->unread++;
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			walk_all(walk, dirfd(dir), entry->d_name, depth + 1);
	closedir(dir);
}

/* ---- measuring ---- */

/** Measure [begin, end), whole pages of one chunk. False: not possible. */
static bool
look_at_chunk(struct walk *walk, int fd, uint64_t begin, uint64_t end)
{
	size_t bytes = end - begin, resident = 0;
	void *mapped = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, (off_t)begin);
	if (mapped == MAP_FAILED)
		return false;
	bool is_told = mincore(mapped, bytes, walk->map) == 0;
	for (size_t i = 0; is_told && i < bytes / walk->page_bytes; i++)
		resident += walk->map[i] & 1;
	munmap(mapped, bytes);
	walk->residency->resident_bytes += resident * walk->page_bytes;
	walk->residency->total_bytes += is_told ? bytes : 0;
	return is_told;
}

/**
 * Find the next data at or after `from`, and its end, in whole pages. Returns false with errno
 * ENXIO at the end of the data.
 */
static bool
next_data(const struct walk *walk, int fd, uint64_t from, uint64_t *begin, uint64_t *end)
{
	off_t data = lseek(fd, (off_t)from, SEEK_DATA);
	off_t hole = data >= 0 ? lseek(fd, data, SEEK_HOLE) : -1;
	if (hole < 0)
		return false;
	errno = ENXIO; /* the file was truncated meanwhile */
	uint64_t mask = walk->page_bytes - 1;
	*begin = (uint64_t)data & ~mask;
	*begin = *begin < from ? from : *begin;
	*end = ((uint64_t)hole + mask) & ~mask;
	return *end > *begin;
}

static void
look_at_file(struct walk *walk, int fd, const struct stat *st)
{
	char name[32];
	uint64_t begin, end = 0;
	bool is_told = true;
	/* /proc/self would be the process, which has another table of files */
	snprintf(name, sizeof(name), "/proc/thread-self/fd/%d", fd);
	if (st->st_uid != geteuid() && faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) != 0) {
		walk->residency->unread++;
		return;
	}
	while (is_told && next_data(walk, fd, end, &begin, &end)) {
		for (uint64_t at = begin; at < end && is_told;) {
			uint64_t until = at + CHUNK_BYTES < end ? at + CHUNK_BYTES : end;
			is_told = look_at_chunk(walk, fd, at, until);
			at = until;
		}
	}
	if (is_told && errno == ENXIO)
		walk->residency->files++;
	else
		walk->residency->unread++;
}

/** 0x2fc12fc1 is ZFS, which does not use the page cache. statfs(2) does not list this number. */
static bool
has_page_cache(const char *path)
{
	struct statfs fs;
	return statfs(path, &fs) == 0 && ((unsigned long)fs.f_type & 0xffffffffu) != 0x2fc12fc1;
}

struct errand {
	const char *path;
	struct walk walk;
	bool is_done;
};

/**
 * Unshare the table of files, without the descriptors of others if possible: closing them may
 * write (NFS).
 */
static bool
have_own_files(void)
{
#ifdef CLOSE_RANGE_UNSHARE
	if (close_range(3, ~0U, CLOSE_RANGE_UNSHARE) == 0)
		return true;
#endif
	return unshare(CLONE_FILES) == 0;
}

static void *
run_errand(void *arg)
{
	struct errand *errand = arg;
	if (!have_own_files())
		return NULL;
	walk_all(&errand->walk, AT_FDCWD, errand->path, 0);
	errand->is_done = true;
	return NULL;
}

/**
 * Do the work on a thread. False: no thread was available, or it could not have its own files.
 */
static bool
walk_aside(struct errand *errand)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run_errand, errand) != 0)
		return false;
	pthread_join(thread, NULL);
	return errand->is_done;
}

void
residency_look(struct residency *residency, const char *path)
{
	*residency = (struct residency){0};
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct errand errand = {.path = path,
		.walk = {.see = look_at_file,
			.residency = residency,
			.page_bytes = page_bytes,
			.map = malloc(CHUNK_BYTES / page_bytes)}};
	if (errand.walk.map != NULL && has_page_cache(path) && walk_aside(&errand))
		residency->is_known = residency->files > 0;
	free(errand.walk.map);
}

/* ---- evicting ---- */

static void
evict_file(struct walk *walk, int fd, const struct stat *st)
{
	(void)st;
	int failure = fsync(fd) != 0 ? errno : posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (failure == 0)
		walk->evicted++;
	else
		walk->failure = failure;
}

/** 3: pages, and the file system's cached directories and inodes. */
static bool
drop_caches(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool is_done = write(fd, "3\n", 2) == 2;
	close(fd);
	return is_done;
}

/** Write back first, the file system's metadata too. Dirty pages cannot be dropped. */
static void
write_back(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!syncfs(fd);
	close(fd);
}

int
residency_can_be_cold(const char *path)
{
	enum { TMPFS = 0x01021994 };
	const unsigned long ramfs = 0x858458f6;
	struct statfs fs;
	if (statfs(path, &fs) != 0)
		return error_system("%s: cannot be evicted from memory", path);
	unsigned long type = (unsigned long)fs.f_type & 0xffffffffu;
	if (type == TMPFS || type == ramfs)
		return error_set(NB_UNSUPPORTED,
			"%s: is on a file system in memory (%s) and can never be cold; use a --path on a device",
			path, type == TMPFS ? "tmpfs" : "ramfs");
	return NB_OK;
}

int
residency_make_cold(const char *path, const char *drop_path, uint32_t *how)
{
	struct residency seen = {0};
	struct walk walk = {.see = evict_file, .residency = &seen};
	*how = COLD_NOT;
	int rc = residency_can_be_cold(path);
	if (rc != NB_OK)
		return rc;
	walk_all(&walk, AT_FDCWD, path, 0);
	write_back(path);
	if (drop_caches(drop_path))
		*how = COLD_CACHES;
	else if (walk.evicted > 0)
		*how = COLD_FILES;
	if (*how != COLD_NOT)
		return NB_OK;
	errno = walk.failure != 0 ? walk.failure : ENOENT;
	return error_system("%s: no file of it could be evicted from memory", path);
}
