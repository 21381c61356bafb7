/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Detects the launcher by the environment variables that it sets, and loads the matching
 * link.
 *
 * With a link for the wrong MPI, each process silently becomes a world of one rank. So the
 * number of ranks in the environment must equal the size of the communicator.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/install_path.h"
#include "ranks/ranks.h"

static const struct launcher {
	const char *mpi, *rank, *ranks;
} launchers[] = {
	{"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"mpich", "PMI_RANK", "PMI_SIZE"},
};

enum { LAUNCHERS = sizeof(launchers) / sizeof(launchers[0]) };

static bool
read_number(uint32_t *out, const char *text)
{
	char *end;
	errno = 0;
	unsigned long number = strtoul(text, &end, 10);
	*out = (uint32_t)number;
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
		number <= RANKS_MAX;
}

int
nb_launch_read(struct nb_launch *out)
{
	*out = (struct nb_launch){.size = sizeof(*out)};
	for (int i = 0; i < LAUNCHERS; i++) {
		const char *rank = getenv(launchers[i].rank);
		const char *ranks = getenv(launchers[i].ranks);
		if (rank == NULL || ranks == NULL)
			continue;
		if (!read_number(&out->rank, rank) || !read_number(&out->ranks, ranks) ||
			out->rank >= out->ranks)
			return error_set(NB_ERR_USAGE,
				"%s=%s and %s=%s are not a rank and a number of at most %d ranks",
				launchers[i].rank, rank, launchers[i].ranks, ranks, RANKS_MAX);
		out->mpi = launchers[i].mpi;
		return NB_OK;
	}
	return NB_OK;
}

void
nb_launch_forget(void)
{
	for (int i = 0; i < LAUNCHERS; i++) {
		unsetenv(launchers[i].rank);
		unsetenv(launchers[i].ranks);
	}
}

/** The shared object for that MPI; NULL: none. Yours to free(). */
static char *
find_link(const char *mpi)
{
	char *path = NULL, *library = install_path_of_library();
	int length = install_path_is_build_tree()
		? asprintf(&path, "%s/lib/mininb-%s.so", NB_BUILD_ROOT, mpi)
		: asprintf(
			  &path, "%s/mininb/mininb-%s.so", library != NULL ? library : "", mpi);
	free(library);
	if (length < 0)
		return NULL;
	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static int
load_link(struct nb_ranks *ranks, const char *mpi)
{
	char *path = find_link(mpi);
	if (path == NULL)
		return error_set(NB_FAIL,
			"a launcher of MPI (%s) has started this process, but mininb was built without support for it; install %s and build mininb again, or give each process its own --shard=K/N",
			mpi, strcmp(mpi, "mpich") == 0 ? "libmpich-dev" : "libopenmpi-dev");
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	link_fn *function = NULL;
	if (handle != NULL)
		*(void **)&function = dlsym(handle, LINK_SYMBOL);
	const struct link_calls *calls = function != NULL ? function() : NULL;
	int rc = NB_OK;
	if (calls == NULL)
		rc = error_set(NB_FAIL, "cannot load %s: %s", path, dlerror());
	else if (calls->abi != LINK_ABI)
		rc = error_set(NB_FAIL, "%s is of another version of mininb", path);
	free(path);
	ranks->link = calls;
	return rc;
}

int
ranks_open_link(struct nb_ranks *ranks, const struct nb_launch *launch)
{
	uint32_t rank = 0, count = 0;
	int rc = load_link(ranks, launch->mpi);
	if (rc != NB_OK)
		return rc;
	const char *why = ranks->link->open(&rank, &count);
	if (why != NULL)
		return error_set(NB_FAIL, "MPI (%s) cannot be used: %s", launch->mpi, why);
	if (rank != launch->rank || count != launch->ranks)
		return error_set(NB_FAIL,
			"MPI (%s) has %" PRIu32 " ranks and this is rank %" PRIu32
			", but the launcher's variables say %" PRIu32 " and %" PRIu32
			": the launcher belongs to another MPI",
			launch->mpi, count, rank, launch->ranks, launch->rank);
	return NB_OK;
}
