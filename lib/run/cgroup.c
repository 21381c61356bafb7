/* SPDX-License-Identifier: BSD-2-Clause */
/* The process's own memory cgroup, and its limits. */
#include "run/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "run/procfs.h"

struct search {
	struct cgroup *cgroup;
	const char *root;
};

/**
 * In a container, the name may be the one outside. The mount is then the cgroup itself. A
 * cgroup of version 2 is used only if it has the controller.
 */
static void
take_group(const struct search *search, uint32_t version, const char *mount, const char *group)
{
	struct cgroup *found = search->cgroup;
	const char *file = version == 1 ? "memory.limit_in_bytes" : "cgroup.controllers";
	char controllers[256];
	const char *name = strcmp(group, "/") != 0 ? group : "";
	if (!procfs_exists(search->root, "%s%s/%s", mount, name, file))
		name = "";
	if (version == 2 &&
		(!procfs_line(controllers, sizeof(controllers), search->root, "%s%s/%s", mount,
			 name, file) ||
			strstr(controllers, "memory") == NULL))
		return;
	if (version == 1 && !procfs_exists(search->root, "%s%s/%s", mount, name, file))
		return;
	int used = snprintf(
		found->path, sizeof(found->path), "%s%s%s", search->root, mount, name);
	if (used < 0 || (size_t)used >= sizeof(found->path))
		return;
	found->mount_length = strlen(search->root) + strlen(mount);
	found->version = version;
}

static bool
has_memory(const char *controllers)
{
	for (; *controllers != '\0'; controllers += strspn(controllers, ",")) {
		size_t length = strcspn(controllers, ",");
		if (length == 6 && memcmp(controllers, "memory", 6) == 0)
			return true;
		controllers += length;
	}
	return false;
}

/** "4:memory:/group" of version 1, "0::/group" of version 2. */
static bool
see_group(void *arg, char *line)
{
	const struct search *search = arg;
	strsep(&line, ":");
	const char *controllers = strsep(&line, ":");
	if (line == NULL)
		return true;
	if (has_memory(controllers))
		take_group(search, 1, "/sys/fs/cgroup/memory", line);
	else if (controllers[0] == '\0')
		take_group(search, 2, "/sys/fs/cgroup", line);
	return search->cgroup->version == 0;
}

void
cgroup_find(struct cgroup *cgroup, const char *root)
{
	struct search search = {cgroup, root};
	*cgroup = (struct cgroup){.version = 0};
	procfs_lines(root, "/proc/self/cgroup", see_group, &search);
}

uint64_t
cgroup_memory_limit(const struct cgroup *cgroup)
{
	const char *file = cgroup->version == 1 ? "memory.limit_in_bytes" : "memory.max";
	char path[CGROUP_PATH];
	uint64_t lowest = UINT64_MAX, limit;
	if (cgroup->version == 0)
		return lowest;
	snprintf(path, sizeof(path), "%s", cgroup->path);
	for (size_t length = strlen(path);; length = (size_t)(strrchr(path, '/') - path)) {
		path[length] = '\0';
		/* "max" and a missing file mean: no limit */
		if (procfs_number(&limit, "", "%s/%s", path, file) && limit < lowest)
			lowest = limit;
		if (length <= cgroup->mount_length)
			return lowest;
	}
}
