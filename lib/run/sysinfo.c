/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about the machine, read before and after a run and never during it. Facts that cannot
 * be read stay 0 or empty. A missing fact is not a failure, and the report omits it.
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

#include "run/cgroup.h"

static uint64_t
memory_bytes(void)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct cgroup own;
	cgroup_find(&own, "");
	uint64_t limit = cgroup_memory_limit(&own);
	return limit < bytes ? limit : bytes;
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

/** Magic numbers are in statfs(2). */
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
	/* the database itself may be a link to another disk */
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
