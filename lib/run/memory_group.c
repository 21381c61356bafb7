/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cgroup with a memory limit, for one run and its children.
 *
 * The limit covers everything that they touch first: their own memory, page cache, kernel
 * structures. Memory that a process had before it entered stays charged to its old cgroup. The
 * same holds for file pages that were cached before. So the caller enters early, and the run
 * evicts its files.
 *
 * The cgroup is a child of the process's own one, so a limit above it still applies. Version 2
 * allows no processes next to cgroups with controllers. If the own cgroup has not delegated
 * memory yet, this process first moves into a cgroup of its own. That works if it is alone in
 * its cgroup, as in a scope of systemd-run.
 *
 * Swap is disabled, because an engine that swaps has more memory than the limit. Version 1
 * without swap accounting gets swappiness 0 instead, which swaps only as a last resort.
 *
 * Version 2 was tested in User-mode Linux 6.1, with and without systemd; version 1 runs the
 * tests.
 */
#include "run/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "run/procfs.h"

enum { REMOVE_TRIES = 200, REMOVE_STEP_US = 10000 };

static const char prefix[] = "mininb-";

struct nb_memory_group {
	struct cgroup own; /* of the process that created it */
	char path[CGROUP_PATH + 64];
	char beside[CGROUP_PATH + 64]; /* the cgroup into which that process moved; "": none */
	uint64_t limit_bytes, harness_bytes;
};

/* ---- files of a cgroup ---- */

/** False, with errno, if the kernel rejects it. */
static bool
put_text(const char *group, const char *file, const char *text)
{
	char path[CGROUP_PATH + 128];
	snprintf(path, sizeof(path), "%s/%s", group, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool is_good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	int failure = errno;
	close(fd);
	errno = failure;
	return is_good;
}

static bool
put_number(const char *group, const char *file, uint64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, number);
	return put_text(group, file, text);
}

/** The number after `key` in a file of lines "key number"; 0: none. */
static uint64_t
get_value(const struct nb_memory_group *group, const char *file, const char *key)
{
	char path[CGROUP_PATH + 128], line[256];
	uint64_t value = 0;
	size_t length = strlen(key);
	snprintf(path, sizeof(path), "%s/%s", group->path, file);
	FILE *in = fopen(path, "re");
	while (in != NULL && fgets(line, sizeof(line), in) != NULL)
		if (strncmp(line, key, length) == 0 && line[length] == ' ')
			value = strtoull(line + length, NULL, 10);
	if (in != NULL)
		fclose(in);
	return value;
}

static uint64_t
get_number(const struct nb_memory_group *group, const char *file)
{
	uint64_t number;
	return procfs_number(&number, "", "%s/%s", group->path, file) ? number : 0;
}

/* ---- creation ---- */

/** Remove the cgroups of killed processes. One that contains processes stays. */
static void
remove_stale(const char *parent)
{
	char path[CGROUP_PATH + 300];
	DIR *dir = opendir(parent);
	for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
		long pid = 0;
		if (strncmp(entry->d_name, prefix, sizeof(prefix) - 1) == 0)
			pid = strtol(entry->d_name + sizeof(prefix) - 1, NULL, 10);
		if (pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
			continue;
		snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
		(void)rmdir(path);
	}
	if (dir != NULL)
		closedir(dir);
}

/** For version 2: allow memory limits in cgroups below the own one. */
static bool
delegate(struct nb_memory_group *group)
{
	char controllers[256] = "";
	const char *own = group->own.path;
	procfs_line(controllers, sizeof(controllers), "", "%s/cgroup.subtree_control", own);
	if (strstr(controllers, "memory") != NULL ||
		put_text(own, "cgroup.subtree_control", "+memory"))
		return true;
	snprintf(group->beside, sizeof(group->beside), "%s/%s%ld-harness", own, prefix,
		(long)getpid());
	if (mkdir(group->beside, 0755) == 0 && put_text(group->beside, "cgroup.procs", "0") &&
		put_text(own, "cgroup.subtree_control", "+memory"))
		return true;
	int failure = errno;
	put_text(own, "cgroup.procs", "0");
	rmdir(group->beside);
	group->beside[0] = '\0';
	errno = failure;
	return false;
}

static bool
make(struct nb_memory_group *group)
{
	static uint32_t number;
	remove_stale(group->own.path);
	if (group->own.version == 2 && !delegate(group))
		return false;
	snprintf(group->path, sizeof(group->path), "%s/%s%ld-%u", group->own.path, prefix,
		(long)getpid(), ++number);
	return mkdir(group->path, 0755) == 0;
}

static bool
limit(const struct nb_memory_group *group)
{
	uint64_t bytes = group->limit_bytes + group->harness_bytes;
	const char *path = group->path;
	if (group->own.version == 2)
		return put_number(path, "memory.max", bytes) &&
			(put_number(path, "memory.swap.max", 0) || errno == ENOENT);
	return put_number(path, "memory.limit_in_bytes", bytes) &&
		(put_number(path, "memory.memsw.limit_in_bytes", bytes) ||
			put_number(path, "memory.swappiness", 0));
}

int
nb_memory_group_new(struct nb_memory_group **out, uint64_t limit_bytes, uint64_t harness_bytes)
{
	struct nb_memory_group *group = calloc(1, sizeof(*group));
	if (group == NULL)
		return error_memory();
	group->limit_bytes = limit_bytes;
	group->harness_bytes = harness_bytes;
	cgroup_find(&group->own, "");
	if (group->own.version != 0 && make(group) && (limit_bytes == 0 || limit(group))) {
		*out = group;
		return NB_OK;
	}
	int failure = errno;
	int rc = group->own.version == 0
		? error_set(NB_FAIL,
			  "memory: this system has no control group of memory, so no limit can be set; mount control groups with the controller memory, or omit --memory")
		: error_set(NB_FAIL,
			  "memory: cannot make a control group with a limit in %s: %s; run mininb as root, or in a group of its own: systemd-run --user --scope -p Delegate=yes mininb ...",
			  group->own.path, strerror(failure));
	nb_memory_group_delete(group);
	return rc;
}

int
nb_memory_group_enter(const struct nb_memory_group *group)
{
	if (put_text(group->path, "cgroup.procs", "0"))
		return NB_OK;
	return error_system("memory: cannot enter the control group %s", group->path);
}

/** Killed processes leave the cgroup a moment later, so removal is repeated. */
void
nb_memory_group_delete(struct nb_memory_group *group)
{
	if (group == NULL)
		return;
	for (int i = 0; group->path[0] != '\0' && i < REMOVE_TRIES; i++) {
		if (rmdir(group->path) == 0 || errno != EBUSY)
			break;
		usleep(REMOVE_STEP_US);
	}
	if (group->beside[0] != '\0') {
		put_text(group->own.path, "cgroup.subtree_control", "-memory");
		put_text(group->own.path, "cgroup.procs", "0");
		rmdir(group->beside);
	}
	free(group);
}

/* ---- measurements ---- */

/** "some avg10=0.00 avg60=0.00 avg300=0.00 total=123", in microseconds. */
static uint64_t
pressure_ns(const struct nb_memory_group *group)
{
	char line[256];
	if (!procfs_line(line, sizeof(line), "", "%s/memory.pressure", group->path))
		return 0;
	const char *total = strstr(line, "total=");
	return total != NULL ? strtoull(total + 6, NULL, 10) * 1000 : 0;
}

uint64_t
nb_memory_group_peak(const struct nb_memory_group *group)
{
	return get_number(
		group, group->own.version == 1 ? "memory.max_usage_in_bytes" : "memory.peak");
}

uint64_t
nb_memory_group_kills(const struct nb_memory_group *group)
{
	return get_value(group,
		group->own.version == 1 ? "memory.oom_control" : "memory.events", "oom_kill");
}

void
memory_group_use(const struct nb_memory_group *group, struct memory_use *use)
{
	bool is_old = group->own.version == 1;
	*use = (struct memory_use){.limit_bytes = group->limit_bytes,
		.harness_bytes = group->harness_bytes,
		.peak_bytes = nb_memory_group_peak(group),
		.anonymous_bytes = get_value(
			group, "memory.stat", is_old ? "total_rss" : "anon"),
		.file_bytes = get_value(group, "memory.stat", is_old ? "total_cache" : "file"),
		.pressure_ns = pressure_ns(group),
		.kills = nb_memory_group_kills(group)};
}
