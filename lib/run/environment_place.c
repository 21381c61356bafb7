/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The place of the database: its directory, the file system, and the device below.
 *
 * The mount is the one with the longest mount point that is a prefix of the directory. Of two
 * with the same mount point, the later one covers the other (proc_pid_mountinfo(5)). Device
 * numbers are not compared, because those of btrfs and overlay differ from st_dev. The device
 * is that of st_dev. If the kernel knows no device of that number, it is the mounted one. For a
 * partition, its disk is used; a mapped device (LVM, dm-crypt) is used itself.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "run/environment.h"
#include "run/procfs.h"

/**
 * Resolve a path that need not exist. `full` is absolute, with links followed. `nearest` is the
 * existing part: the path itself, or the nearest directory above it.
 */
static bool
resolve(const char *path, char full[PATH_MAX], char nearest[PATH_MAX])
{
	char rest[PATH_MAX] = "", part[PATH_MAX];
	if ((size_t)snprintf(part, sizeof(part), "%s", path) >= sizeof(part))
		return false;
	while (realpath(part, nearest) == NULL) {
		char *slash = strrchr(part, '/');
		char tail[PATH_MAX];
		const char *name = slash != NULL ? slash + 1 : part;
		if (strcmp(part, ".") == 0 || strcmp(part, "/") == 0)
			return false;
		if ((size_t)snprintf(tail, sizeof(tail), "/%s%s", name, rest) >= sizeof(tail))
			return false;
		strcpy(rest, tail);
		if (slash == NULL)
			strcpy(part, ".");
		else
			slash[slash == part] = '\0'; /* "/a" is in "/" */
	}
	const char *base = strcmp(nearest, "/") == 0 && rest[0] != '\0' ? "" : nearest;
	return (size_t)snprintf(full, PATH_MAX, "%s%s", base, rest) < PATH_MAX;
}

/* ---- the mount ---- */

/** In place: blanks and similar characters are written as \040 there. */
static void
unescape(char *text)
{
	char *into = text;
	for (; *text != '\0'; into++) {
		unsigned value;
		if (text[0] == '\\' && sscanf(text + 1, "%3o", &value) == 1 && value > 0 &&
			value < 256 && strspn(text + 1, "01234567") >= 3) {
			*into = (char)value;
			text += 4;
		} else {
			*into = *text++;
		}
	}
	*into = '\0';
}

struct mount_search {
	const char *directory;
	struct environment *environment;
	size_t longest;
};

/** Whether `directory` is `point` or below it. */
static bool
is_below(const char *directory, const char *point)
{
	size_t length = strlen(point);
	if (strcmp(point, "/") == 0)
		return true;
	return strncmp(directory, point, length) == 0 &&
		(directory[length] == '/' || directory[length] == '\0');
}

/** 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue */
static bool
see_mount(void *arg, char *line)
{
	enum { POINT = 4, OPTIONS = 5, FIELDS = 6 };
	struct mount_search *search = arg;
	char *fields[FIELDS] = {0}, *left = line;
	char *separator = strstr(line, " - ");
	if (separator == NULL)
		return true;
	*separator = '\0';
	for (int i = 0; i < FIELDS; i++)
		fields[i] = strsep(&left, " ");
	char *behind = separator + 3;
	char *type = strsep(&behind, " ");
	char *source = strsep(&behind, " ");
	if (fields[OPTIONS] == NULL || type == NULL || source == NULL)
		return true;
	unescape(fields[POINT]);
	unescape(source);
	if (!is_below(search->directory, fields[POINT]) ||
		strlen(fields[POINT]) < search->longest)
		return true;
	struct environment *environment = search->environment;
	search->longest = strlen(fields[POINT]);
	procfs_keep(PROCFS_INTO(environment->mount), fields[POINT]);
	procfs_keep(PROCFS_INTO(environment->mount_source), source);
	procfs_keep(PROCFS_INTO(environment->mount_options), fields[OPTIONS]);
	return true;
}

/* ---- the device ---- */

/**
 * Find the name of the disk with the device number: the last component of the target of its
 * sysfs link.
 */
static bool
find_disk(struct environment *environment, const char *root)
{
	char path[PATH_MAX], full[PATH_MAX];
	if ((size_t)snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u", root,
		    environment->device_major, environment->device_minor) >= sizeof(path) ||
		realpath(path, full) == NULL)
		return false;
	const char *inside = full + strlen(full);
	while (inside > full && *inside != '/')
		inside--;
	char part[PATH_MAX];
	if ((size_t)snprintf(part, sizeof(part), "%s/partition", full) < sizeof(part) &&
		access(part, F_OK) == 0) {
		/* the directory of a partition is in that of its disk */
		full[inside - full] = '\0';
		inside = strrchr(full, '/');
	}
	if (inside == NULL)
		return false;
	procfs_keep(PROCFS_INTO(environment->device), inside + 1);
	return environment->device[0] != '\0';
}

/**
 * Use the number of the mounted device. A file system on several devices has a number of its
 * own.
 */
static void
take_number_of_source(struct environment *environment)
{
	struct stat st;
	if (strncmp(environment->mount_source, "/dev/", 5) != 0 ||
		stat(environment->mount_source, &st) != 0 || !S_ISBLK(st.st_mode))
		return;
	environment->device_major = major(st.st_rdev);
	environment->device_minor = minor(st.st_rdev);
}

static void
read_device(struct environment *environment, const char *root)
{
	const char *device = environment->device;
	uint64_t rotational;
	if (!find_disk(environment, root)) {
		take_number_of_source(environment);
		if (!find_disk(environment, root))
			return;
	}
	char *model = environment->device_model;
	size_t size = sizeof(environment->device_model);
	if (!procfs_line(model, size, root, "/sys/block/%s/device/model", device))
		procfs_line(model, size, root, "/sys/block/%s/dm/name", device);
	procfs_chosen(PROCFS_INTO(environment->scheduler), root,
		"/sys/block/%s/queue/scheduler", device);
	if (procfs_number(&rotational, root, "/sys/block/%s/queue/rotational", device))
		environment->is_rotational = rotational == 1;
}

void
environment_read_place(struct environment *environment, const char *path, const char *root)
{
	char full[PATH_MAX], nearest[PATH_MAX];
	struct stat st;
	struct statvfs fs;
	if (!resolve(path, full, nearest))
		return;
	procfs_keep(PROCFS_INTO(environment->directory), full);
	struct mount_search search = {.directory = full, .environment = environment};
	procfs_lines(root, "/proc/self/mountinfo", see_mount, &search);
	if (stat(nearest, &st) != 0)
		return;
	if (statvfs(nearest, &fs) == 0) {
		environment->filesystem_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
		environment->free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	}
	environment->device_major = major(st.st_dev);
	environment->device_minor = minor(st.st_dev);
	read_device(environment, root);
}
