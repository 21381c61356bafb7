/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the recorder. If the program runs from the build tree, the recorder is searched
 * there. Else it is searched in the install directory, and then beside the library, in case
 * the tree was moved.
 */
#include "crash/preload.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/install_path.h"

static const char name[] = "libmininb-recorder.so";

/** The real path of `dir`/`part`/name; NULL: it does not exist. */
static char *
find_in(const char *dir, const char *part)
{
	char *path = NULL, *real = NULL;
	if (dir != NULL && asprintf(&path, "%s/%s/%s", dir, part, name) >= 0)
		real = realpath(path, NULL);
	free(path);
	return real;
}

char *
nb_crash_recorder_path(void)
{
	if (install_path_is_build_tree())
		return find_in(NB_BUILD_ROOT, "lib/crash");
	char *path = find_in(NB_ENGINE_DIR, "..");
	char *beside = path == NULL ? install_path_of_library() : NULL;
	if (beside != NULL)
		path = find_in(beside, "mininb");
	free(beside);
	return path;
}

bool
preload_find(struct preload *recorder)
{
	void *begin = dlsym(RTLD_DEFAULT, RECORDER_BEGIN);
	void *point = dlsym(RTLD_DEFAULT, RECORDER_POINT);
	void *boot = dlsym(RTLD_DEFAULT, RECORDER_BOOT);
	memcpy(&recorder->begin, &begin, sizeof(begin));
	memcpy(&recorder->point, &point, sizeof(point));
	memcpy(&recorder->boot, &boot, sizeof(boot));
	return begin != NULL && point != NULL && boot != NULL;
}

int
nb_crash_recorder_is_loaded(void)
{
	struct preload recorder;
	return preload_find(&recorder);
}
