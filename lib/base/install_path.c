/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mininb searches engines and workloads in the build directory if it runs from there, so a
 * build works without an installation. The path of the program decides, not the working
 * directory, which must not affect measurements.
 */
#include "base/install_path.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/mininb.h>

bool
install_path_is_build_tree(void)
{
	char *root = realpath(NB_BUILD_ROOT, NULL);
	char *exe = realpath("/proc/self/exe", NULL);
	size_t length = root != NULL ? strlen(root) : 0;
	bool is_inside = length > 0 && exe != NULL && strncmp(exe, root, length) == 0 &&
		exe[length] == '/';
	free(root);
	free(exe);
	return is_inside;
}

char *
install_path_of_library(void)
{
	Dl_info info;
	if (dladdr((void *)(uintptr_t)&nb_version, &info) == 0)
		return NULL;
	char *library = realpath(info.dli_fname, NULL);
	char *slash = library != NULL ? strrchr(library, '/') : NULL;
	if (slash != NULL)
		*slash = '\0';
	return library;
}
