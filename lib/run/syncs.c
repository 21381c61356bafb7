/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting of calls that make data durable.
 *
 * An engine or its library calls fsync(2) by name. The dynamic linker uses the first definition
 * in the order of the program's libraries. This library precedes the C library. The same holds
 * for plugins that are opened with RTLD_LOCAL, because their own scope is searched after the
 * program's. syncs_missing() asks the linker which definition it uses. If that is not the one
 * below, the count is unknown, which differs from 0. This happens in a program that opens this
 * library by dlopen(3), and after a preloaded library (libeatmydata).
 *
 * The names have the base version, which a version script cannot assign. A reference to
 * fsync@GLIBC_2.2.5 is bound to a name without a version, and never to one of MININB_0. Some
 * linkers do not treat "@@" like that (lib/meson.build). Then the names are plain. That is
 * right in a program that contains this library, but the names of the shared library are not
 * found.
 *
 * The functions use syscall(2) and not the next definition. So nothing must be looked up at the
 * first call, which may be on any thread.
 *
 * Some ways to durability are not counted: system calls that bypass the C library, requests to
 * an io_uring, pwritev2(2) with RWF_DSYNC, aio_fsync(3), files opened with O_DSYNC, and
 * persistent memory. syncs_look() finds those that leave a trace. Failed calls make nothing
 * durable and are not counted. sync_file_range(2) makes no promise of durability.
 */
#include "run/syncs.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "run/procfs.h"

enum { WHY_SIZE = 96 };

struct tally {
	uint64_t counts[SYNCS_KINDS]; /* atomic */
	uint32_t elsewhere;           /* atomic */
};

static struct tally own;
static struct tally *tally = &own;

/* ---- the calls ---- */

#ifndef NB_SYNCS_BASE_VERSION
#define STANDS_FOR(name) __asm__(name)
#define BASE_VERSION(mine, name)
#elif defined(__has_attribute) && __has_attribute(symver)
#define STANDS_FOR(name) __attribute__((symver(name "@@")))
#define BASE_VERSION(mine, name)
#else
#define STANDS_FOR(name)
#define BASE_VERSION(mine, name) __asm__(".symver " mine "," name "@@");
#endif

/* clang-format off */
int syncs_fsync(int fd) STANDS_FOR("fsync");
int syncs_fdatasync(int fd) STANDS_FOR("fdatasync");
int syncs_msync(void *begin, size_t size, int flags) STANDS_FOR("msync");
int syncs_syncfs(int fd) STANDS_FOR("syncfs");
void syncs_sync(void) STANDS_FOR("sync");
/* clang-format on */
BASE_VERSION("syncs_fsync", "fsync")
BASE_VERSION("syncs_fdatasync", "fdatasync")
BASE_VERSION("syncs_msync", "msync")
BASE_VERSION("syncs_syncfs", "syncfs")
BASE_VERSION("syncs_sync", "sync")

/** Count a successful call. Keeps the errno of the call. */
static int
note(int kind, long rc)
{
	if (rc == 0)
		__atomic_add_fetch(&tally->counts[kind], 1, __ATOMIC_RELAXED);
	return (int)rc;
}

int
syncs_fsync(int fd)
{
	return note(SYNCS_FSYNC, syscall(SYS_fsync, fd));
}

int
syncs_fdatasync(int fd)
{
	return note(SYNCS_FDATASYNC, syscall(SYS_fdatasync, fd));
}

int
syncs_msync(void *begin, size_t size, int flags)
{
	long rc = syscall(SYS_msync, begin, size, flags);
	return (flags & MS_SYNC) != 0 ? note(SYNCS_MSYNC, rc) : (int)rc;
}

int
syncs_syncfs(int fd)
{
	return note(SYNCS_FILESYSTEM, syscall(SYS_syncfs, fd));
}

void
syncs_sync(void)
{
	note(SYNCS_FILESYSTEM, syscall(SYS_sync));
}

/* ---- whether the calls arrive here ---- */

typedef void (*function)(void); /* only for comparison; no call uses this type */

static const struct {
	const char *name;
	function own;
} calls[] = {{"fsync", (function)syncs_fsync}, {"fdatasync", (function)syncs_fdatasync},
	{"msync", (function)syncs_msync}, {"syncfs", (function)syncs_syncfs},
	{"sync", (function)syncs_sync}};

static char why[WHY_SIZE];

static void
find_why(void)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		void *found = dlsym(RTLD_DEFAULT, calls[i].name);
		Dl_info info = {.dli_fname = NULL};
		if (memcmp(&found, &calls[i].own, sizeof(found)) == 0)
			continue;
		const char *file = found != NULL && dladdr(found, &info) != 0 ? info.dli_fname
									      : NULL;
		const char *base = file != NULL ? strrchr(file, '/') : NULL;
		snprintf(why, sizeof(why), "%s is that of %.40s, which comes before mininb's",
			calls[i].name,
			base != NULL           ? base + 1
				: file != NULL ? file
					       : "another library");
		return;
	}
}

const char *
syncs_missing(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_why);
	return why;
}

void
syncs_count(uint64_t counts[SYNCS_KINDS])
{
	for (int i = 0; i < SYNCS_KINDS; i++)
		counts[i] = __atomic_load_n(&tally->counts[i], __ATOMIC_RELAXED);
}

/** Permanent. Call it once, before processes are forked and while no engine runs. */
int
syncs_share(void)
{
	if (tally != &own)
		return NB_OK;
	struct tally *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return error_system("out of memory");
	*shared = own;
	tally = shared;
	return NB_OK;
}

/* ---- durability without calls ---- */

void
syncs_begin(void)
{
	__atomic_store_n(&tally->elsewhere, 0, __ATOMIC_RELAXED);
}

uint32_t
syncs_elsewhere(void)
{
	return __atomic_load_n(&tally->elsewhere, __ATOMIC_RELAXED);
}

static bool
is_below(const char *file, const char *directory)
{
	size_t length = strlen(directory);
	return strncmp(file, directory, length) == 0 &&
		(file[length] == '/' || file[length] == '\0');
}

/** The O_* flags of a file that is open for writing; 0: it is not, or not known. */
static int
flags_of(const char *fd)
{
	char path[64], text[32];
	unsigned flags = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.20s", fd);
	if (procfs_value(text, sizeof(text), "", path, "flags"))
		sscanf(text, "%o", &flags);
	return (flags & O_ACCMODE) != O_RDONLY ? (int)flags : 0;
}

static uint32_t
look_at_files(const char *directory)
{
	uint32_t found = 0;
	DIR *dir = opendir("/proc/self/fd");
	for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
		char target[PATH_MAX];
		ssize_t size = readlinkat(
			dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		target[size > 0 ? size : 0] = '\0';
		if (strcmp(target, "anon_inode:[io_uring]") == 0)
			found |= SYNCS_IO_URING;
		else if (is_below(target, directory) &&
			(flags_of(entry->d_name) & O_DSYNC) != 0)
			found |= SYNCS_DSYNC_FILE;
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

/** "sf" in the flags of a mapping is MAP_SYNC, see proc(5). */
bool
syncs_is_persistent(FILE *smaps, const char *directory)
{
	char *line = NULL;
	size_t room = 0;
	bool is_its = false, is_found = false;
	while (!is_found && getline(&line, &room, smaps) > 0) {
		const char *path = strchr(line, '/');
		line[strcspn(line, "\n")] = '\0';
		if (line[strcspn(line, "-:")] ==
			'-') /* "begin-end ... path", the first line of a mapping */
			is_its = path != NULL && is_below(path, directory);
		else if (strncmp(line, "VmFlags:", 8) == 0)
			is_found = is_its && strstr(line, " sf") != NULL;
	}
	free(line);
	return is_found;
}

static uint32_t
look_at_mappings(const char *directory)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	bool is_persistent = file != NULL && syncs_is_persistent(file, directory);
	if (file != NULL)
		fclose(file);
	return is_persistent ? SYNCS_PERSISTENT_MEMORY : 0;
}

void
syncs_look(const char *path)
{
	char *directory = realpath(path, NULL);
	if (directory == NULL)
		return;
	uint32_t found = look_at_files(directory) | look_at_mappings(directory);
	__atomic_or_fetch(&tally->elsewhere, found, __ATOMIC_RELAXED);
	free(directory);
}
