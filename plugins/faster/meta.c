/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file `meta`. A write creates a new file and renames it, so a crash leaves the old or the new
 * one. The checksum detects an incomplete file, if the file was not synced.
 */
#include "meta.h"

#include <stddef.h>
#include <xxhash.h>

#include "../common/plugin.h"

static const uint64_t magic = 0x32676f6c74736166; /* "fastlog2" */

static uint64_t
checksum_of(const struct meta *meta)
{
	return XXH3_64bits(meta, offsetof(struct meta, checksum));
}

int
meta_read(struct meta *meta, const struct nb_host *host, const char *directory)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/meta", directory);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return NB_NOT_FOUND;
	if (fd < 0)
		return host->fail(NB_FAIL, "open %s: %s", path, strerror(errno));
	ssize_t got = read(fd, meta, sizeof(*meta));
	int error = got < 0 ? errno : 0;
	close(fd);
	if (error != 0)
		return host->fail(NB_FAIL, "read %s: %s", path, strerror(error));
	if (got != sizeof(*meta) || meta->magic != magic || meta->checksum != checksum_of(meta))
		return host->fail(NB_FAIL, "%s is damaged: %zd bytes, a wrong %s", path, got,
			got == sizeof(*meta) && meta->magic == magic ? "checksum" : "format");
	return NB_OK;
}

static int
write_new(struct meta *meta, const char *path, bool is_synced)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int error = 0;

	if (fd < 0)
		return errno;
	ssize_t done = write(fd, meta, sizeof(*meta));
	if (done != sizeof(*meta))
		error = done < 0 ? errno : ENOSPC;
	if (error == 0 && is_synced && fsync(fd) != 0)
		error = errno;
	if (close(fd) != 0 && error == 0)
		error = errno;
	return error;
}

int
meta_write(struct meta *meta, const struct nb_host *host, const char *directory, bool is_synced)
{
	char path[PATH_MAX], made[PATH_MAX];

	meta->magic = magic;
	meta->checksum = checksum_of(meta);
	snprintf(path, sizeof(path), "%s/meta", directory);
	snprintf(made, sizeof(made), "%s/meta.new", directory);
	int error = write_new(meta, made, is_synced);
	if (error == 0 && rename(made, path) != 0)
		error = errno;
	if (error == 0 && is_synced)
		error = sync_path(directory);
	return error == 0 ? NB_OK : host->fail(NB_FAIL, "write %s: %s", path, strerror(error));
}
