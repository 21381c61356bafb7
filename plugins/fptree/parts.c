/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of the database, and the parts of the pool in it.
 *
 * libpmemobj (1.12) does not check for parts of more bytes than are reserved, or for an empty
 * first part. It then ends the process or writes where it must not. So this engine checks the
 * parts first, and the chunks of the heap (zones.c). libpmemobj itself has to find other damage
 * within the parts, and does not survive all of it.
 */
#include "parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int
pool_fail_system(const struct pool *pool, const char *what)
{
	return pool->host->fail(NB_FAIL, "%s: %s", what, strerror(errno));
}

static int
open_directory_at(int fd, const char *name)
{
	return openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int
pool_lock_directory(struct pool *pool)
{
	pool->directory_fd = open_directory_at(AT_FDCWD, pool->directory);
	if (pool->directory_fd < 0)
		return pool_fail_system(pool, "the directory of the database");
	if (flock(pool->directory_fd, LOCK_EX | LOCK_NB) == 0)
		return NB_OK;
	if (errno != EWOULDBLOCK)
		return pool_fail_system(pool, "the directory of the database");
	return pool->host->fail(
		NB_FAIL, "the pool is in use by another process, or open in this one");
}

static bool
is_part(const char *name, unsigned *number)
{
	int length = 0;

	return sscanf(name, "%9u.pmem%n", number, &length) == 1 && length > 0 &&
		name[length] == '\0';
}

void
pool_part_name(char *name, unsigned number)
{
	snprintf(name, POOL_PART_NAME, "%06u.pmem", number);
}

/* List the names in a directory from the first one on. */
static DIR *
list(int fd)
{
	int own = open_directory_at(fd, ".");
	DIR *names = own < 0 ? NULL : fdopendir(own);

	if (names == NULL && own >= 0)
		close(own);
	return names;
}

bool
pool_clear_unfinished(const struct pool *pool)
{
	int fd = open_directory_at(pool->directory_fd, POOL_PARTS_NEW);
	unsigned number;

	if (fd < 0)
		return errno == ENOENT;
	DIR *names = list(fd);
	for (struct dirent *at = names == NULL ? NULL : readdir(names); at != NULL;
		at = readdir(names))
		if (is_part(at->d_name, &number))
			unlinkat(fd, at->d_name, 0);
	if (names != NULL)
		closedir(names);
	close(fd);
	return unlinkat(pool->directory_fd, POOL_PARTS_NEW, AT_REMOVEDIR) == 0;
}

static int
fail_missing(const struct pool *pool)
{
	bool is_unfinished = faccessat(pool->directory_fd, POOL_PARTS_NEW, F_OK,
				     AT_SYMLINK_NOFOLLOW) == 0;

	return pool->host->fail(NB_FAIL, "no database: %s",
		is_unfinished ? "its creation was interrupted; a put makes it again"
			      : "no directory parts");
}

int
pool_find_parts(struct pool *pool, bool may_create)
{
	pool->parts_fd = open_directory_at(pool->directory_fd, POOL_PARTS);
	if (pool->parts_fd >= 0)
		return NB_OK;
	if (errno != ENOENT)
		return pool_fail_system(pool, POOL_PARTS);
	if (!may_create)
		return fail_missing(pool);
	if (!pool_clear_unfinished(pool))
		return pool_fail_system(pool, POOL_PARTS_NEW);
	if (mkdirat(pool->directory_fd, POOL_PARTS_NEW, 0777) != 0)
		return pool_fail_system(pool, POOL_PARTS_NEW);
	pool->is_new = true;
	pool->is_unnamed = true;
	pool->parts_fd = open_directory_at(pool->directory_fd, POOL_PARTS_NEW);
	return pool->parts_fd >= 0 ? NB_OK : pool_fail_system(pool, POOL_PARTS_NEW);
}

static int
survey_part(const struct pool *pool, struct pool_survey *survey, const char *name)
{
	struct stat info;
	unsigned number;

	if (!is_part(name, &number))
		return NB_OK;
	if (fstatat(pool->parts_fd, name, &info, 0) != 0)
		return pool_fail_system(pool, POOL_PARTS);
	survey->count++;
	if (number > survey->last)
		survey->last = number;
	if ((uint64_t)info.st_size >= PMEMOBJ_MIN_PART) {
		survey->bytes += (uint64_t)info.st_size;
		return NB_OK;
	}
	survey->short_count++;
	survey->short_last = number;
	return NB_OK;
}

int
pool_survey(const struct pool *pool, struct pool_survey *survey)
{
	DIR *names = list(pool->parts_fd);
	int rc = NB_OK;

	*survey = (struct pool_survey){.count = 0};
	if (names == NULL)
		return pool_fail_system(pool, POOL_PARTS);
	for (struct dirent *at = readdir(names); at != NULL && rc == NB_OK; at = readdir(names))
		rc = survey_part(pool, survey, at->d_name);
	closedir(names);
	return rc;
}

int
pool_check_parts(struct pool *pool)
{
	struct pool_survey survey;
	int rc = pool_survey(pool, &survey);

	if (rc != NB_OK)
		return rc;
	if (survey.count == 0 || survey.last != survey.count - 1)
		return pool->host->fail(NB_FAIL,
			"the pool is damaged: some of its parts (000000.pmem, ...) are missing; delete it to make a new one");
	bool is_cut_off = survey.short_count == 1 && survey.short_last == survey.last &&
		survey.last > 0;
	if (survey.short_count > 0 && !is_cut_off)
		return pool->host->fail(NB_FAIL,
			"the pool is damaged: its part %06u.pmem was cut short; delete the pool to make a new one",
			survey.short_last);
	pool->cut_off = is_cut_off ? (int)survey.last : 0;
	pool->taken_bytes = survey.bytes;
	return NB_OK;
}

/* --- sync of unflushed data --- */

/* The kernel knows which pages of a shared mapping were written, also on DAX. */
static bool
sync_part(const struct pool *pool, unsigned number)
{
	char name[POOL_PART_NAME];

	pool_part_name(name, number);
	int fd = openat(pool->parts_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool is_synced = fsync(fd) == 0;
	int error = errno;
	close(fd);
	errno = error;
	return is_synced;
}

int
pool_sync_parts(const struct pool *pool)
{
	unsigned number = 0;

	while (sync_part(pool, number))
		number++;
	if (number == 0 || errno != ENOENT || fsync(pool->parts_fd) != 0)
		return pool_fail_system(pool, POOL_PARTS);
	return NB_OK;
}
