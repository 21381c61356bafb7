/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time, mininb itself, and the libraries in its process.
 *
 * The allocator is the one whose malloc() the program and every plugin find first. If its
 * object also contains a function that only one allocator has, that function identifies it.
 * Otherwise the name of the object is used. An allocator under other names, which some engines
 * bring along, is not detected.
 */
#include "run/environment.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include <mininb/engine.h>

#include "run/procfs.h"
#include "run/revision.h"

/* dlsym(3) returns a data pointer, which C does not convert to a function pointer. */
static void
find(void *function, size_t size, const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);
	memcpy(function, &symbol, size);
}

/* ---- versions of allocators ---- */

static void
tell_jemalloc(char *text, size_t size)
{
	int (*mallctl)(const char *, void *, size_t *, void *, size_t);
	const char *version = NULL;
	size_t version_size = sizeof(version);
	find(&mallctl, sizeof(mallctl), "mallctl");
	if (mallctl("version", (void *)&version, &version_size, NULL, 0) != 0 ||
		version == NULL)
		version = "";
	snprintf(text, size, "jemalloc %.*s", (int)strcspn(version, "-"), version);
}

static void
tell_tcmalloc(char *text, size_t size)
{
	const char *(*tc_version)(int *, int *, const char **);
	int major = 0, minor = 0;
	const char *patch = NULL;
	find(&tc_version, sizeof(tc_version), "tc_version");
	tc_version(&major, &minor, &patch);
	snprintf(text, size, "tcmalloc (gperftools) %d.%d%s", major, minor,
		patch != NULL ? patch : "");
}

static void
tell_mimalloc(char *text, size_t size)
{
	int (*mi_version)(void);
	find(&mi_version, sizeof(mi_version), "mi_version");
	int version = mi_version(); /* 212 is 2.1.2 */
	snprintf(text, size, "mimalloc %d.%d.%d", version / 100, version / 10 % 10,
		version % 10);
}

static void
tell_glibc(char *text, size_t size)
{
	snprintf(text, size, "glibc %s", gnu_get_libc_version());
}

static const struct {
	const char *own; /* a function that no other allocator has */
	void (*tell)(char *text, size_t size);
	const char *name; /* of an allocator without a version */
} allocators[] = {
	{"mallctl", tell_jemalloc, NULL},
	{"tc_version", tell_tcmalloc, NULL},
	{"mi_version", tell_mimalloc, NULL},
	{"__asan_init", NULL, "AddressSanitizer"},
	{"__tsan_init", NULL, "ThreadSanitizer"},
	{"gnu_get_libc_version", tell_glibc, NULL},
};

static const void *
object_of(const void *symbol, Dl_info *info)
{
	return symbol != NULL && dladdr(symbol, info) != 0 ? info->dli_fbase : NULL;
}

static void
find_allocator(struct environment *environment)
{
	Dl_info info, other;
	char *text = environment->allocator;
	size_t size = sizeof(environment->allocator);
	const void *object = object_of(dlsym(RTLD_DEFAULT, "malloc"), &info);
	if (object == NULL)
		return;
	for (size_t i = 0; i < sizeof(allocators) / sizeof(*allocators); i++) {
		if (object_of(dlsym(RTLD_DEFAULT, allocators[i].own), &other) != object)
			continue;
		if (allocators[i].tell != NULL)
			allocators[i].tell(text, size);
		else
			snprintf(text, size, "%s", allocators[i].name);
		return;
	}
	const char *slash = strrchr(info.dli_fname, '/');
	procfs_keep(text, size, slash != NULL ? slash + 1 : info.dli_fname);
}

/* ---- mininb itself ---- */

static const char *
jansson_version(void)
{
#if JANSSON_VERSION_HEX >= 0x020d00
	return jansson_version_str();
#else
	return JANSSON_VERSION;
#endif
}

static void
read_program(struct environment *environment)
{
	const char *preload = getenv("LD_PRELOAD");
	find_allocator(environment);
	if (preload != NULL)
		procfs_keep(PROCFS_INTO(environment->preload), preload);
#ifdef __clang__
	procfs_keep(PROCFS_INTO(environment->compiler), "clang " __clang_version__);
#else
	procfs_keep(PROCFS_INTO(environment->compiler), "gcc " __VERSION__);
#endif
	snprintf(environment->build, sizeof(environment->build), "%s", NB_ENGINE_BUILD);
	procfs_keep(PROCFS_INTO(environment->revision), MININB_REVISION);
	snprintf(environment->libraries, sizeof(environment->libraries), "zlib %s, jansson %s",
		zlibVersion(), jansson_version());
}

/** RFC 3339, local time. */
static void
read_time(struct environment *environment)
{
	char text[24], zone[8];
	struct tm tm;
	time_t now = time(NULL);
	if (localtime_r(&now, &tm) == NULL || strftime(zone, sizeof(zone), "%z", &tm) != 5 ||
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return;
	snprintf(environment->begun, sizeof(environment->begun), "%s%.3s:%.2s", text, zone,
		zone + 3);
}

void
environment_read(struct environment *environment, const char *path, const char *root)
{
	*environment = (struct environment){0};
	read_time(environment);
	environment_read_machine(environment, root);
	environment_read_place(environment, path, root);
	read_program(environment);
}
