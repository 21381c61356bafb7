/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts of the machine, read before and after a run and never during it. What
 * cannot be read is left 0 or empty: a missing fact is no reason to fail, and
 * the report leaves it out. CPU times of /proc/stat come in ticks of 10 ms, so
 * short runs show no steal; that is said where it is used.
 */
#include "run/sysinfo.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static uint64_t
memory_bytes(void)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
	unsigned long long limit;
	if (file == NULL)
		return bytes;
	if (fscanf(file, "%llu", &limit) == 1 && limit < bytes) /* "max" is no number */
		bytes = limit;
	fclose(file);
	return bytes;
}

static void
find_hypervisor(char *name, size_t size)
{
	name[0] = '\0';
#if defined(__x86_64__)
	unsigned eax, ebx, ecx, edx;
	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & 1u << 31) == 0)
		return;
	char vendor[13] = "";
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(vendor, &ebx, 4);
	memcpy(vendor + 4, &ecx, 4);
	memcpy(vendor + 8, &edx, 4);
	if (strncmp(vendor, "KVM", 3) == 0)
		strcpy(vendor, "KVM");
	snprintf(name, size, "%s", vendor[0] != '\0' ? vendor : "unknown");
#else
	(void)size;
#endif
}

/** Magic numbers: statfs(2). */
static void
find_filesystem(struct sysinfo *info, const char *path)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} known[] = {{0x01021994, "tmpfs"}, {0x858458f6, "ramfs"}, {0xef53, "ext4"},
		{0x58465342, "xfs"}, {0x9123683e, "btrfs"}, {0x794c7630, "overlay"},
		{0x6969, "nfs"}, {0x65735546, "fuse"}, {0xf2f52010, "f2fs"},
		{0x2fc12fc1, "zfs"}};
	struct statfs fs;
	if (statfs(path, &fs) != 0)
		return;
	unsigned long magic = (unsigned long)fs.f_type & 0xffffffffu;
	snprintf(info->filesystem, sizeof(info->filesystem), "0x%lx", magic);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].magic == magic) {
			strcpy(info->filesystem, known[i].name);
			info->is_memory_filesystem = i < 2;
		}
}

void
sysinfo_create(struct sysinfo *info, const char *path)
{
	*info = (struct sysinfo){.memory_bytes = memory_bytes()};
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		info->cpus = (uint32_t)CPU_COUNT(&set);
	long machine_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (machine_cpus > 0)
		info->machine_cpus = (uint32_t)machine_cpus;
	find_hypervisor(info->hypervisor, sizeof(info->hypervisor));
	find_filesystem(info, path);
}

static void
read_cpu_times(struct sysinfo_usage *usage)
{
	FILE *file = fopen("/proc/stat", "re");
	unsigned long long t[8] = {0}; /* user nice system idle iowait irq softirq steal */
	if (file == NULL)
		return;
	if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2],
		    &t[3], &t[4], &t[5], &t[6], &t[7]) == 8) {
		uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
		usage->steal_ns = t[7] * tick_ns;
		usage->busy_ns = (t[0] + t[1] + t[2] + t[5] + t[6]) * tick_ns;
	}
	fclose(file);
}

static uint64_t
timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

void
sysinfo_usage(struct sysinfo_usage *usage)
{
	*usage = (struct sysinfo_usage){0};
	/* Of processes that it waited for, too: those of a run that has several. */
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	for (size_t i = 0; i < 2; i++) {
		struct rusage used;
		getrusage(whose[i], &used);
		usage->user_ns += timeval_ns(used.ru_utime);
		usage->system_ns += timeval_ns(used.ru_stime);
		usage->involuntary_switches += (uint64_t)used.ru_nivcsw;
	}
	read_cpu_times(usage);
}

/** Some kernels let steal run backwards, as when a machine is migrated. */
static uint64_t
grown(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

struct sysinfo_usage
sysinfo_usage_between(const struct sysinfo_usage *before, const struct sysinfo_usage *after)
{
	return (struct sysinfo_usage){
		.user_ns = grown(before->user_ns, after->user_ns),
		.system_ns = grown(before->system_ns, after->system_ns),
		.involuntary_switches = grown(
			before->involuntary_switches, after->involuntary_switches),
		.steal_ns = grown(before->steal_ns, after->steal_ns),
		.busy_ns = grown(before->busy_ns, after->busy_ns),
	};
}

uint64_t
sysinfo_max_resident_bytes(void)
{
	struct rusage own, largest_child;
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &largest_child);
	long most = own.ru_maxrss > largest_child.ru_maxrss ? own.ru_maxrss
							    : largest_child.ru_maxrss;
	return (uint64_t)most * 1024;
}

static uint64_t
add_allocated(int dir_fd, const char *name, unsigned depth)
{
	enum { DEPTH_MAX = 16 };
	struct stat st;
	/* the database itself may be a link to where there is room */
	if (fstatat(dir_fd, name, &st, depth > 0 ? AT_SYMLINK_NOFOLLOW : 0) != 0)
		return 0;
	uint64_t bytes = (uint64_t)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX)
		return bytes;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return bytes;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			bytes += add_allocated(dirfd(dir), entry->d_name, depth + 1);
	closedir(dir);
	return bytes;
}

uint64_t
sysinfo_allocated_bytes(const char *path)
{
	return add_allocated(AT_FDCWD, path, 0);
}

bool
sysinfo_is_empty_dir(const char *path)
{
	DIR *dir = opendir(path);
	if (dir == NULL)
		return true;
	bool is_empty = true;
	for (struct dirent *entry; is_empty && (entry = readdir(dir)) != NULL;)
		is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(dir);
	return is_empty;
}
