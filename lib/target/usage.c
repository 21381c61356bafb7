/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CPU clock of a process counts nanoseconds of all its threads. /proc/PID/stat counts
 * only ticks of 10 ms, and /proc/PID/schedstat only the main thread. For ended children the
 * kernel keeps only ticks, in the parent's cutime and cstime; their storage I/O is added to
 * the parent's. Processes that a server has started and orphaned become children of its
 * guard.
 *
 * Memory is the proportional set size: the resident set size would count PostgreSQL's
 * shared buffers once for each connection.
 */
#include "target/usage.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "target/target.h"

struct look {
	struct target_usage *usage;
	bool is_of_memory;
};

static void
add_processes_of(const struct look *look, pid_t parent);

static FILE *
open_of(pid_t pid, const char *name)
{
	char path[320];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

/** The number in a line "KEY: NUMBER"; 0: no such line. */
static uint64_t
number_of(FILE *file, const char *key)
{
	char line[256];
	uint64_t number = 0;
	size_t length = strlen(key);
	rewind(file);
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			number = strtoull(line + length + 1, NULL, 10);
	return number;
}

static void
add_cpu(struct target_usage *usage, pid_t pid)
{
	clockid_t clock;
	struct timespec used;
	if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
		usage->cpu_ns += (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/** Add the CPU time of ended children. */
static void
add_ended(struct target_usage *usage, pid_t pid)
{
	char line[1024];
	uint64_t user = 0, system = 0, tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	FILE *stat = open_of(pid, "stat");
	const char *after = stat != NULL && fgets(line, sizeof(line), stat) != NULL
		? strrchr(line, ')') /* after the process name, which may contain anything */
		: NULL;
	if (after != NULL &&
		sscanf(after,
			") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %" SCNu64
			" %" SCNu64,
			&user, &system) == 2)
		usage->cpu_ns += (user + system) * tick_ns;
	if (stat != NULL)
		fclose(stat);
}

static void
add_io(struct target_usage *usage, pid_t pid)
{
	FILE *io = open_of(pid, "io");
	if (io == NULL)
		return;
	uint64_t written = number_of(io, "write_bytes");
	uint64_t removed = number_of(io, "cancelled_write_bytes");
	usage->storage_read_bytes += number_of(io, "read_bytes");
	usage->storage_write_bytes += written > removed ? written - removed : 0;
	fclose(io);
}

static void
add_memory(struct target_usage *usage, pid_t pid)
{
	FILE *maps = open_of(pid, "smaps_rollup");
	uint64_t kib = maps != NULL ? number_of(maps, "Pss") : 0;
	FILE *status = kib == 0 ? open_of(pid, "status") : NULL;
	if (status != NULL)
		kib = number_of(status, "VmRSS");
	usage->resident_bytes += kib << 10;
	if (maps != NULL)
		fclose(maps);
	if (status != NULL)
		fclose(status);
}

/** Add the children that a thread started. */
static void
add_children(const struct look *look, pid_t pid, const char *thread)
{
	char name[300];
	int child;
	snprintf(name, sizeof(name), "task/%s/children", thread);
	FILE *children = open_of(pid, name);
	while (children != NULL && fscanf(children, "%d", &child) == 1) {
		add_cpu(look->usage, child);
		add_ended(look->usage, child);
		add_io(look->usage, child);
		if (look->is_of_memory)
			add_memory(look->usage, child);
		add_processes_of(look, child);
	}
	if (children != NULL)
		fclose(children);
}

static void
add_processes_of(const struct look *look, pid_t parent)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
	DIR *threads = opendir(path);
	for (struct dirent *entry; threads != NULL && (entry = readdir(threads)) != NULL;)
		if (entry->d_name[0] != '.')
			add_children(look, parent, entry->d_name);
	if (threads != NULL)
		closedir(threads);
}

void
target_usage(const struct target *target, bool looks_at_memory, struct target_usage *out)
{
	const struct look look = {out, looks_at_memory};
	*out = (struct target_usage){
		.resident_bytes = looks_at_memory ? 0 : out->resident_bytes};
	for (size_t i = 0; i < target_count(target); i++) {
		out->servers++;
		add_ended(out, target_guard(target, i));
		add_processes_of(&look, target_guard(target, i));
	}
}

static uint64_t
growth(uint64_t from, uint64_t until)
{
	return until > from ? until - from : 0;
}

void
target_usage_add(struct target_usage *sum, const struct target_usage *from,
	const struct target_usage *until)
{
	sum->servers = until->servers;
	sum->cpu_ns += growth(from->cpu_ns, until->cpu_ns);
	sum->storage_read_bytes += growth(from->storage_read_bytes, until->storage_read_bytes);
	sum->storage_write_bytes += growth(
		from->storage_write_bytes, until->storage_write_bytes);
	sum->resident_bytes = until->resident_bytes;
}
