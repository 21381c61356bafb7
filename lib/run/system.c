/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system's counters, read from files of /proc and /sys that stay open. A reading is a dozen
 * preads, and the kernel formats the text anew for each. It takes one or two hundred
 * microseconds on a small machine. It is meant for a few times a second, on a thread that does
 * not execute operations.
 *
 * These preads would appear in the process's own counts of read(2), and so among the engine's.
 * They are counted here and subtracted. So two readings with nothing in between do not differ.
 *
 * Some numbers are inexact by nature. The device's counters include all its users. Dirty pages
 * may be written long after their writer has closed the file. The page cache's write counter
 * (/proc/self/io, write_bytes) is of pages that became dirty, not of data sent to the device.
 * CPU times of /proc/stat have ticks of 10 ms.
 */
#include "run/system.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "run/procfs.h"
#include "run/hardware.h"
#include "run/syncs.h"
#include "run/sysinfo.h"

enum {
	TEXT_SIZE = 16384, /* of a file; of /proc/stat only the first line is needed */
	SECTOR = 512,  /* of /sys/dev/block: always, whatever the sector size of the device */
	PACKAGES = 16, /* of processors */
	MISSING_SIZE = 160,
};

enum {
	FILE_IO,
	FILE_STATUS,
	FILE_STAT,
	FILE_VMSTAT,
	FILE_MEMINFO,
	FILE_PRESSURE_CPU,
	FILE_PRESSURE_MEMORY,
	FILE_PRESSURE_IO,
	FILE_DEVICE,
	FILE_CGROUP,
	FILE_ENERGY, /* of the first package; those of the others follow */
	FILES = FILE_ENERGY + PACKAGES
};

static const char *const paths[FILE_DEVICE] = {
	[FILE_IO] = "/proc/self/io",
	[FILE_STATUS] = "/proc/self/status",
	[FILE_STAT] = "/proc/stat",
	[FILE_VMSTAT] = "/proc/vmstat",
	[FILE_MEMINFO] = "/proc/meminfo",
	[FILE_PRESSURE_CPU] = "/proc/pressure/cpu",
	[FILE_PRESSURE_MEMORY] = "/proc/pressure/memory",
	[FILE_PRESSURE_IO] = "/proc/pressure/io",
};

struct system_probe {
	int fds[FILES]; /* -1: none */
	struct hardware hardware;
	char *path;
	uint64_t own_read_bytes, own_reads; /* by this probe */
	uint64_t page_bytes;
	struct {
		uint64_t range_uj, last_uj; /* the counter wraps to 0 after range_uj */
	} packages[PACKAGES];
	uint64_t package_count, energy_uj; /* since the creation of the probe */
	char missing[MISSING_SIZE];
	char text[TEXT_SIZE]; /* of the last file read */
};

/* ---- files ---- */

/** Read a file into probe->text. False: it does not exist or cannot be read. */
static bool
load(struct system_probe *probe, int file)
{
	if (probe->fds[file] < 0)
		return false;
	ssize_t size = pread(probe->fds[file], probe->text, TEXT_SIZE - 1, 0);
	probe->own_reads++;
	if (size <= 0)
		return false;
	probe->own_read_bytes += (uint64_t)size;
	probe->text[size] = '\0';
	return true;
}

/** Find the number after `name` at the start of a line. False: no such line. */
static bool
find_number(const char *text, const char *name, uint64_t *out)
{
	size_t length = strlen(name);
	while (text != NULL && strncmp(text, name, length) != 0) {
		text = strchr(text, '\n');
		text = text != NULL ? text + 1 : NULL;
	}
	return text != NULL && sscanf(text + length, "%" SCNu64, out) == 1;
}

/** Read up to `max` consecutive numbers. Returns their count. */
static size_t
read_numbers(const char *text, uint64_t *numbers, size_t max)
{
	size_t count = 0;
	for (char *end; count < max; text = end, count++) {
		numbers[count] = strtoull(text, &end, 10);
		if (end == text)
			break;
	}
	return count;
}

/**
 * Open the statistics of a device. A file system without its own device, like btrfs or tmpfs,
 * has none.
 */
static int
open_device(const char *root, const char *path, uint32_t device_major, uint32_t device_minor)
{
	char name[512];
	struct stat st;
	if (device_major == 0 && device_minor == 0 && stat(path, &st) == 0) {
		device_major = major(st.st_dev);
		device_minor = minor(st.st_dev);
	}
	snprintf(name, sizeof(name), "%s/sys/dev/block/%u:%u/stat", root, device_major,
		device_minor);
	return open(name, O_RDONLY | O_CLOEXEC);
}

/** Open cpu.stat if it contains throttling. That of the topmost group does not. */
static int
open_throttled(const char *mount, const char *group)
{
	char name[512], text[1024];
	uint64_t number;
	snprintf(name, sizeof(name), "/sys/fs/cgroup%s%s/cpu.stat", mount,
		strcmp(group, "/") != 0 ? group : "");
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	if (find_number(text, "throttled_usec ", &number) ||
		find_number(text, "throttled_time ", &number))
		return fd;
	close(fd);
	return -1;
}

/** Version 2 has a line "0::/group", version 1 "3:cpu,cpuacct:/group". */
static bool
see_cgroup(void *arg, char *line)
{
	int *fd = arg;
	strsep(&line, ":");
	const char *controllers = strsep(&line, ":");
	if (line == NULL)
		return true;
	if (controllers[0] == '\0')
		*fd = open_throttled("", line);
	else if (strcmp(controllers, "cpu") == 0 || strncmp(controllers, "cpu,", 4) == 0)
		*fd = open_throttled("/cpu", line);
	return *fd < 0;
}

/** Open the zones of packages. Other zones are inside these, or cover the whole platform. */
static void
open_packages(struct system_probe *probe, const char *root)
{
	static const char zones[] = "/sys/class/powercap/intel-rapl:%d/%s";
	char name[64], path[512];
	for (int zone = 0; probe->package_count < PACKAGES &&
		procfs_line(name, sizeof(name), root, zones, zone, "name");
		zone++) {
		int *fd = &probe->fds[FILE_ENERGY + probe->package_count];
		uint64_t *range_uj = &probe->packages[probe->package_count].range_uj;
		if (strncmp(name, "package", 7) != 0 ||
			!procfs_number(range_uj, root, zones, zone, "max_energy_range_uj"))
			continue;
		size_t used = (size_t)snprintf(path, sizeof(path), "%s", root);
		snprintf(path + used, sizeof(path) - used, zones, zone, "energy_uj");
		*fd = open(path, O_RDONLY | O_CLOEXEC);
		probe->package_count += *fd >= 0;
	}
}

static void
note_missing(struct system_probe *probe, const char *what)
{
	size_t used = strlen(probe->missing);
	if (what[0] != '\0')
		snprintf(probe->missing + used, MISSING_SIZE - used, "%s%s",
			used > 0 ? "; " : "", what);
}

static void
note_all_missing(struct system_probe *probe)
{
	static const struct {
		uint64_t group;
		const char *why;
	} reasons[] = {{SYSTEM_DEVICE, "device: none of its own below this file system"},
		{SYSTEM_IO, "bytes: no /proc/self/io"},
		{SYSTEM_PRESSURE, "pressure: no /proc/pressure"},
		{SYSTEM_ENERGY, "energy: no readable /sys/class/powercap"}};
	struct system_counts counts;
	system_look(probe, &counts);
	note_missing(probe, probe->hardware.missing);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if ((counts.known & reasons[i].group) == 0)
			note_missing(probe, reasons[i].why);
	}
}

struct system_probe *
system_probe_new(const char *root, const char *path, uint32_t device_major,
	uint32_t device_minor, const char *no_hardware)
{
	struct system_probe *probe = calloc(1, sizeof(*probe));
	char *copy = realpath(path, NULL); /* an engine may change the working directory */
	if (copy == NULL)
		copy = strdup(path);
	if (probe == NULL || copy == NULL) {
		free(probe);
		free(copy);
		error_memory();
		return NULL;
	}
	probe->path = copy;
	probe->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	for (int i = 0; i < FILES; i++)
		probe->fds[i] = i < FILE_DEVICE ? open(paths[i], O_RDONLY | O_CLOEXEC) : -1;
	probe->fds[FILE_DEVICE] = open_device(root, path, device_major, device_minor);
	procfs_lines("", "/proc/self/cgroup", see_cgroup, &probe->fds[FILE_CGROUP]);
	open_packages(probe, root);
	if (no_hardware == NULL)
		hardware_open(&probe->hardware);
	else
		hardware_leave_out(&probe->hardware, no_hardware);
	note_all_missing(probe);
	return probe;
}

void
system_probe_delete(struct system_probe *probe)
{
	if (probe == NULL)
		return;
	for (int i = 0; i < FILES; i++) {
		if (probe->fds[i] >= 0)
			close(probe->fds[i]);
	}
	hardware_close(&probe->hardware);
	free(probe->path);
	free(probe);
}

const char *
system_missing(const struct system_probe *probe)
{
	return probe->missing;
}

/* ---- a reading: each function sets the counters that it knows ---- */

static uint64_t
timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static void
look_process(struct system_counts *counts)
{
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	for (size_t i = 0; i < 2; i++) {
		struct rusage used;
		getrusage(whose[i], &used);
		counts->user_ns += timeval_ns(used.ru_utime);
		counts->system_ns += timeval_ns(used.ru_stime);
		counts->minor_faults += (uint64_t)used.ru_minflt;
		counts->major_faults += (uint64_t)used.ru_majflt;
		counts->voluntary_switches += (uint64_t)used.ru_nvcsw;
		counts->involuntary_switches += (uint64_t)used.ru_nivcsw;
	}
	counts->known |= SYSTEM_PROCESS;
}

static void
look_io(struct system_probe *probe, struct system_counts *counts)
{
	/* the current read is not counted yet */
	uint64_t own_bytes = probe->own_read_bytes, own_reads = probe->own_reads;
	if (!load(probe, FILE_IO))
		return;
	const struct {
		const char *name;
		uint64_t *into;
	} lines[] = {{"rchar: ", &counts->call_read_bytes},
		{"wchar: ", &counts->call_write_bytes}, {"syscr: ", &counts->read_calls},
		{"syscw: ", &counts->write_calls},
		{"read_bytes: ", &counts->storage_read_bytes},
		{"write_bytes: ", &counts->storage_write_bytes},
		{"cancelled_write_bytes: ", &counts->cancelled_write_bytes}};
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (!find_number(probe->text, lines[i].name, lines[i].into))
			return;
	}
	counts->call_read_bytes -= own_bytes;
	counts->read_calls -= own_reads;
	counts->known |= SYSTEM_IO;
}

/** Fields: Documentation/block/stat.rst of the kernel. Flushes exist since Linux 5.5. */
static void
look_device(struct system_probe *probe, struct system_counts *counts)
{
	enum { READS, READ_SECTORS = 2, WRITES = 4, WRITE_SECTORS = 6, BUSY_MS = 9 };
	enum { FLUSHES = 15, FIELDS = 17 };
	uint64_t fields[FIELDS] = {0};
	if (!load(probe, FILE_DEVICE) || read_numbers(probe->text, fields, FIELDS) <= BUSY_MS)
		return;
	counts->device_reads = fields[READS];
	counts->device_writes = fields[WRITES];
	counts->device_read_bytes = fields[READ_SECTORS] * SECTOR;
	counts->device_write_bytes = fields[WRITE_SECTORS] * SECTOR;
	counts->device_busy_ns = fields[BUSY_MS] * 1000000;
	counts->device_flushes = fields[FLUSHES];
	counts->known |= SYSTEM_DEVICE;
}

/** Parse the first line of /proc/stat. False: it is a different line. */
static bool
read_cpu_times(const char *text, struct system_counts *counts)
{
	uint64_t t[8]; /* user nice system idle iowait irq softirq steal */
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	if (strncmp(text, "cpu ", 4) != 0 || read_numbers(text + 4, t, 8) != 8)
		return false;
	counts->steal_ns = t[7] * tick_ns;
	counts->busy_ns = (t[0] + t[1] + t[2] + t[5] + t[6]) * tick_ns;
	return true;
}

void
system_usage(struct system_counts *counts)
{
	char line[256];
	*counts = (struct system_counts){0};
	look_process(counts);
	if (procfs_line(line, sizeof(line), "", "/proc/stat") && read_cpu_times(line, counts))
		counts->known |= SYSTEM_MACHINE;
}

static void
look_machine(struct system_probe *probe, struct system_counts *counts)
{
	if (!load(probe, FILE_STAT) || !read_cpu_times(probe->text, counts))
		return;
	if (!load(probe, FILE_VMSTAT))
		return;
	uint64_t in, out; /* a kernel without swap may not have them */
	if (find_number(probe->text, "pswpin ", &in) &&
		find_number(probe->text, "pswpout ", &out)) {
		counts->swap_in_bytes = in * probe->page_bytes;
		counts->swap_out_bytes = out * probe->page_bytes;
	}
	counts->known |= SYSTEM_MACHINE;
}

/** "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in microseconds. */
static bool
look_pressure(struct system_probe *probe, int file, uint64_t *ns)
{
	uint64_t us;
	const char *total = load(probe, file) ? strstr(probe->text, "total=") : NULL;
	if (total == NULL || sscanf(total, "total=%" SCNu64, &us) != 1)
		return false;
	*ns = us * 1000;
	return true;
}

static void
look_pressures(struct system_probe *probe, struct system_counts *counts)
{
	if (look_pressure(probe, FILE_PRESSURE_CPU, &counts->pressure_cpu_ns) &&
		look_pressure(probe, FILE_PRESSURE_MEMORY, &counts->pressure_memory_ns) &&
		look_pressure(probe, FILE_PRESSURE_IO, &counts->pressure_io_ns))
		counts->known |= SYSTEM_PRESSURE;
}

/** Microseconds in version 2, nanoseconds in version 1. */
static void
look_cgroup(struct system_probe *probe, struct system_counts *counts)
{
	uint64_t us;
	if (!load(probe, FILE_CGROUP))
		return;
	if (find_number(probe->text, "throttled_usec ", &us))
		counts->throttled_ns = us * 1000;
	else if (!find_number(probe->text, "throttled_time ", &counts->throttled_ns))
		return;
	counts->known |= SYSTEM_CGROUP;
}

static void
look_hardware(struct system_probe *probe, struct system_counts *counts)
{
	static const struct {
		uint32_t bit;
		int first, second;
	} pairs[] = {{SYSTEM_CYCLES, HARDWARE_CYCLES, HARDWARE_INSTRUCTIONS},
		{SYSTEM_CACHE, HARDWARE_CACHE_REFERENCES, HARDWARE_CACHE_MISSES},
		{SYSTEM_BRANCHES, HARDWARE_BRANCHES, HARDWARE_BRANCH_MISSES}};
	uint64_t read[HARDWARE_EVENTS], *into = &counts->cycles;
	uint32_t known = hardware_read(
		&probe->hardware, read, &probe->own_read_bytes, &probe->own_reads);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		uint32_t both = 1u << pairs[i].first | 1u << pairs[i].second;
		if ((known & both) != both)
			continue;
		into[pairs[i].first] = read[pairs[i].first];
		into[pairs[i].second] = read[pairs[i].second];
		counts->known |= pairs[i].bit;
	}
}

_Static_assert(offsetof(struct system_counts, branch_misses) -
			offsetof(struct system_counts, cycles) ==
		(HARDWARE_EVENTS - 1) * sizeof(uint64_t),
	"the events are in the order of the fields");

static void
look_syncs(struct system_counts *counts)
{
	uint64_t calls[SYNCS_KINDS];
	if (syncs_missing()[0] != '\0')
		return;
	syncs_count(calls);
	counts->fsync_calls = calls[SYNCS_FSYNC];
	counts->fdatasync_calls = calls[SYNCS_FDATASYNC];
	counts->msync_calls = calls[SYNCS_MSYNC];
	counts->sync_calls = calls[SYNCS_FILESYSTEM];
	counts->known |= SYSTEM_SYNCS;
}

/** Readings are frequent enough to notice each wrap of a counter. */
static void
look_energy(struct system_probe *probe, struct system_counts *counts)
{
	for (uint64_t i = 0; i < probe->package_count; i++) {
		if (!load(probe, FILE_ENERGY + (int)i))
			return;
		uint64_t now_uj = strtoull(probe->text, NULL, 10);
		uint64_t last_uj = probe->packages[i].last_uj;
		probe->energy_uj += now_uj - last_uj +
			(now_uj < last_uj ? probe->packages[i].range_uj : 0);
		probe->packages[i].last_uj = now_uj;
	}
	counts->package_energy_uj = probe->energy_uj;
	if (probe->package_count > 0)
		counts->known |= SYSTEM_ENERGY;
}

void
system_look(struct system_probe *probe, struct system_counts *counts)
{
	*counts = (struct system_counts){0};
	look_hardware(probe, counts); /* first, before the cost of the reading itself */
	look_process(counts);
	look_io(probe, counts);
	look_device(probe, counts);
	look_machine(probe, counts);
	look_pressures(probe, counts);
	look_cgroup(probe, counts);
	look_syncs(counts);
	look_energy(probe, counts);
}

void
system_levels(struct system_probe *probe, struct system_levels *levels, bool with_data)
{
	uint64_t kib = 0;
	*levels = (struct system_levels){0};
	if (load(probe, FILE_STATUS)) {
		if (find_number(probe->text, "RssAnon:", &kib))
			levels->anonymous_bytes = kib * 1024;
		if (find_number(probe->text, "RssFile:", &kib))
			levels->file_bytes = kib * 1024;
		if (find_number(probe->text, "RssShmem:", &kib))
			levels->shared_bytes = kib * 1024;
		if (find_number(probe->text, "Threads:", &kib))
			levels->threads = kib;
	}
	if (load(probe, FILE_MEMINFO) && find_number(probe->text, "Dirty:", &kib))
		levels->dirty_bytes = kib * 1024;
	if (with_data)
		levels->data_bytes = sysinfo_allocated_bytes(probe->path);
}

/* ---- differences and sums ---- */

/** The numbers after `known`, as an array. */
static const uint64_t *
numbers(const struct system_counts *counts)
{
	return &counts->known + 1;
}

void
system_forget(struct system_counts *counts, uint64_t groups)
{
#define FORGET(member, column, group, ...) \
	if ((groups & SYSTEM_##group) != 0) \
		counts->member = 0;
	SYSTEM_COUNTS_LIST(FORGET)
#undef FORGET
	counts->known &= ~groups;
}

struct system_counts
system_between(const struct system_counts *before, const struct system_counts *after)
{
	struct system_counts grown = {.known = before->known & after->known};
	uint64_t *into = &grown.known + 1;
	for (int i = 0; i < SYSTEM_COUNTS; i++)
		into[i] = numbers(after)[i] > numbers(before)[i]
			? numbers(after)[i] - numbers(before)[i]
			: 0;
	return grown;
}

void
system_add(struct system_counts *sum, const struct system_counts *more)
{
	uint64_t *into = &sum->known + 1;
	bool is_empty = sum->known == 0;
	for (int i = 0; i < SYSTEM_COUNTS; i++) {
		is_empty &= into[i] == 0;
		into[i] += numbers(more)[i];
	}
	sum->known = is_empty ? more->known : sum->known & more->known;
}
