/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files on disk: reads the base of a recording, writes a state, and compares a state.
 * Unallocated parts of a file are neither read nor written.
 */
#include "crash/image_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static const uint8_t zero_page[IMAGE_PAGE];

/* ---- walking through a directory ---- */

/** Called for each entry: `path` is complete, `inside` relative to the top. */
typedef int (*entry_fn)(void *to, const char *path, const char *inside, const struct stat *st);

static int
walk(const char *top, const char *inside, entry_fn each, void *to)
{
	char dir_path[PATH_MAX], path[PATH_MAX], below[PATH_MAX];
	snprintf(dir_path, sizeof(dir_path), "%s%s%s", top, inside[0] != '\0' ? "/" : "",
		inside);
	DIR *dir = opendir(dir_path);
	if (dir == NULL)
		return error_system("%s", dir_path);
	int rc = NB_OK;
	for (const struct dirent *at; rc == NB_OK && (at = readdir(dir)) != NULL;) {
		struct stat st;
		if (strcmp(at->d_name, ".") == 0 || strcmp(at->d_name, "..") == 0)
			continue;
		int length = snprintf(below, sizeof(below), "%s%s%s", inside,
			inside[0] != '\0' ? "/" : "", at->d_name);
		int whole = snprintf(path, sizeof(path), "%s/%.*s", top, length, below);
		if (length >= PATH_MAX || whole >= PATH_MAX || lstat(path, &st) != 0)
			continue;
		rc = each(to, path, below, &st);
		if (rc == NB_OK && S_ISDIR(st.st_mode))
			rc = walk(top, below, each, to);
	}
	closedir(dir);
	return rc;
}

/** Read a page; bytes after the end of the file are zeros. */
static int
read_page(uint8_t page[IMAGE_PAGE], int fd, uint64_t number)
{
	ssize_t got = pread(fd, page, IMAGE_PAGE, (off_t)(number * IMAGE_PAGE));
	if (got < 0)
		return -1;
	memset(page + got, 0, (size_t)(IMAGE_PAGE - got));
	return 0;
}

/** The pages of the next run of data from page *first on; false: none. */
static bool
next_run(int fd, uint64_t *first, uint64_t *end, uint64_t size)
{
	off_t data = lseek(fd, (off_t)(*first * IMAGE_PAGE), SEEK_DATA);
	if (data < 0 || (uint64_t)data >= size)
		return false;
	off_t hole = lseek(fd, data, SEEK_HOLE);
	*first = (uint64_t)data / IMAGE_PAGE;
	*end = ((hole > data ? (uint64_t)hole : size) + IMAGE_PAGE - 1) / IMAGE_PAGE;
	return true;
}

/* ---- the base ---- */

static uint64_t
base_number(const struct image *image, const char *inside)
{
	for (uint32_t i = 0; i < image->count && image->entries[i]->kind == RECORD_BASE; i++)
		if (strcmp(record_path(image->entries[i]), inside) == 0)
			return image->entries[i]->file;
	return 0;
}

static int
read_base_file(struct image *image, const char *path, uint64_t file, uint64_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	if (fd < 0)
		return error_system("%s", path);
	image->files[file].base_size = size;
	for (uint64_t at = 0, end; rc == 0 && next_run(fd, &at, &end, size);) {
		for (; rc == 0 && at < end; at++) {
			uint32_t index = image_page_at(image, file, at);
			struct image_page *page = &image->pages[index];
			if (page->base == NULL) /* else it was read under another name */
				page->base = image_grown(NULL, IMAGE_PAGE);
			page->has_data = true;
			rc = read_page(page->base, fd, at);
		}
	}
	if (rc != 0)
		rc = error_system("%s", path);
	close(fd);
	return rc;
}

static int
read_base_entry(void *to, const char *path, const char *inside, const struct stat *st)
{
	struct image *image = to;
	if (S_ISDIR(st->st_mode)) {
		image_names_set(&image->base, inside, 0);
		return NB_OK;
	}
	uint64_t file = S_ISREG(st->st_mode) ? base_number(image, inside) : 0;
	if (file == 0) /* the recorder never saw it, so no call changed it */
		return NB_OK;
	image_names_set(&image->base, inside, file);
	return read_base_file(image, path, file, (uint64_t)st->st_size);
}

int
image_read_base(struct image *image, const char *path)
{
	return walk(path, "", read_base_entry, image);
}

/* ---- writing ---- */

static int
write_pages(const struct image *image, int fd, const struct image_file *file)
{
	for (uint32_t i = file->first; i != IMAGE_NO_PAGE; i = image->pages[i].next) {
		const struct image_page *page = &image->pages[i];
		uint64_t begin = page->number * IMAGE_PAGE;
		if (begin >= file->size || memcmp(page->now, zero_page, IMAGE_PAGE) == 0)
			continue;
		size_t size = file->size - begin < IMAGE_PAGE ? (size_t)(file->size - begin)
							      : IMAGE_PAGE;
		if (pwrite(fd, page->now, size, (off_t)begin) != (ssize_t)size)
			return -1;
	}
	return ftruncate(fd, (off_t)file->size);
}

/** Link the name to an earlier name of the same file. 1: done; 0: no earlier name. */
static int
link_to_earlier(const struct image *image, int dir, size_t index)
{
	const struct image_name *names = image->names.names;
	for (size_t i = 0; i < index; i++) {
		if (names[i].file != names[index].file)
			continue;
		if (linkat(dir, names[i].path, dir, names[index].path, 0) == 0)
			return 1;
		if (errno != ENOENT && errno != ENOTDIR)
			return -1;
	}
	return 0;
}

static int
write_file(const struct image *image, int dir, size_t index)
{
	const struct image_name *name = &image->names.names[index];
	int linked = link_to_earlier(image, dir, index);
	if (linked != 0)
		return linked > 0 ? 0 : -1;
	int fd = openat(dir, name->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0) /* its directory is lost, and the file with it */
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	int rc = write_pages(image, fd, &image->files[name->file]);
	return close(fd) == 0 ? rc : -1;
}

/**
 * Create each directory whose parent exists. Repeat, because a directory may be listed
 * before its parent.
 */
static int
write_directories(const struct image *image, int dir)
{
	const struct image_names *names = &image->names;
	for (size_t made = 1; made > 0;) {
		made = 0;
		for (size_t i = 0; i < names->count; i++) {
			if (names->names[i].file != 0)
				continue;
			if (mkdirat(dir, names->names[i].path, 0700) == 0)
				made++;
			else if (errno != ENOENT && errno != EEXIST)
				return -1;
		}
	}
	return 0;
}

int
image_write(const struct image *image, const char *path)
{
	int rc = mkdir(path, 0700);
	int dir = rc == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (dir < 0)
		return error_system("%s", path);
	rc = write_directories(image, dir);
	for (size_t i = 0; rc == 0 && i < image->names.count; i++)
		if (image->names.names[i].file != 0)
			rc = write_file(image, dir, i);
	if (rc != 0)
		rc = error_system("%s: cannot write the files of a crash", path);
	close(dir);
	return rc;
}

/* ---- comparing ---- */

struct comparison {
	const struct image *image;
	char *text;
	size_t size, found;
};

static int
differs(struct comparison *comparison, const char *inside, const char *how)
{
	snprintf(comparison->text, comparison->size, "%s %s", inside, how);
	return 1;
}

static bool
is_page_equal(const struct image *image, uint64_t file, uint64_t number, int fd)
{
	uint8_t found[IMAGE_PAGE];
	uint32_t page = image_page_find(image, file, number);
	return read_page(found, fd, number) == 0 &&
		memcmp(found, page != IMAGE_NO_PAGE ? image->pages[page].now : zero_page,
			IMAGE_PAGE) == 0;
}

static int
compare_file(
	struct comparison *comparison, const char *path, const char *inside, uint64_t number)
{
	const struct image *image = comparison->image;
	const struct image_file *file = &image->files[number];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_equal = fd >= 0;
	for (uint64_t at = 0, end; is_equal && next_run(fd, &at, &end, file->size);)
		for (; is_equal && at < end; at++)
			is_equal = is_page_equal(image, number, at, fd);
	for (uint32_t i = file->first; is_equal && i != IMAGE_NO_PAGE; i = image->pages[i].next)
		is_equal = image->pages[i].number * IMAGE_PAGE >= file->size ||
			is_page_equal(image, number, image->pages[i].number, fd);
	if (fd >= 0)
		close(fd);
	return is_equal ? 0 : differs(comparison, inside, "has other bytes");
}

static int
compare_entry(void *to, const char *path, const char *inside, const struct stat *st)
{
	struct comparison *comparison = to;
	const struct image_names *names = &comparison->image->names;
	size_t i = 0;
	while (i < names->count && strcmp(names->names[i].path, inside) != 0)
		i++;
	if (i == names->count)
		return differs(comparison, inside, "is there");
	comparison->found++;
	uint64_t number = names->names[i].file;
	if (S_ISDIR(st->st_mode) != (number == 0))
		return differs(comparison, inside, "is of another type");
	if (number == 0)
		return 0;
	if ((uint64_t)st->st_size != comparison->image->files[number].size)
		return differs(comparison, inside, "has another size");
	return compare_file(comparison, path, inside, number);
}

int
image_differs(const struct image *image, const char *path, char *text, size_t size)
{
	struct comparison comparison = {.image = image, .text = text, .size = size};
	int rc = walk(path, "", compare_entry, &comparison);
	if (rc == NB_OK && comparison.found != image->names.count)
		rc = differs(&comparison, "a file", "is missing");
	return rc;
}
