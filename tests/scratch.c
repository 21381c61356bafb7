/* SPDX-License-Identifier: BSD-2-Clause */
#include "scratch.h"

#include <dirent.h>

char scratch_path[64];

void
scratch_enter(void)
{
	strcpy(scratch_path, "/dev/shm/mininb-test-XXXXXX");
	if (mkdtemp(scratch_path) == NULL) {
		strcpy(scratch_path, "/tmp/mininb-test-XXXXXX");
		if (mkdtemp(scratch_path) == NULL)
			abort();
	}
	if (chdir(scratch_path) != 0)
		abort();
}

int
scratch_remove(const char *path, const struct stat *st, int type, struct FTW *where)
{
	return remove(path);
}

void
scratch_leave(void)
{
	if (chdir("/") != 0)
		abort();
	nftw(scratch_path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

void
scratch_fresh(const char *name)
{
	ck_assert_int_eq(chdir(scratch_path), 0);
	ck_assert_int_eq(mkdir(name, 0700), 0);
	ck_assert_int_eq(chdir(name), 0);
}

void
file_put(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	ck_assert_msg(fd >= 0, "%s", path);
	const char *bytes = data;
	while (size > 0) {
		ssize_t written = write(fd, bytes, size);
		ck_assert_int_gt(written, 0);
		bytes += written;
		size -= (size_t)written;
	}
	close(fd);
}

uint8_t *
file_get(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s", path);
	struct stat st;
	ck_assert_int_eq(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	uint8_t *data = malloc(*size + 1);
	ck_assert_ptr_nonnull(data);
	for (size_t at = 0; at < *size;) {
		ssize_t got = read(fd, data + at, *size - at);
		ck_assert_int_gt(got, 0);
		at += (size_t)got;
	}
	data[*size] = 0;
	close(fd);
	return data;
}

void
file_flip(const char *path, size_t at)
{
	size_t size;
	uint8_t *bytes = file_get(path, &size);

	ck_assert_uint_lt(at, size);
	bytes[at] ^= 1;
	file_put(path, bytes, size);
	free(bytes);
}

void
file_is(const char *path, const void *data, size_t size)
{
	size_t found_size;
	uint8_t *found = file_get(path, &found_size);
	ck_assert_uint_eq(found_size, size);
	ck_assert_msg(memcmp(found, data, size) == 0, "%s: different content", path);
	free(found);
}

int
entries_of(const char *path)
{
	DIR *dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	int count = -2;
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}
