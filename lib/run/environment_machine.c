/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine as the kernel describes it, in proc(5), sysfs(5) and os-release(5).
 *
 * Facts that differ between processors, such as the governor, are those of the first one that
 * the process may use. On an asymmetric machine the others may differ. The highest frequency is
 * the limit of the governor, with turbo if that is on. Most virtual machines have no governors,
 * and then it is not known: /proc/cpuinfo only has the current frequency.
 */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "run/environment.h"
#include "run/procfs.h"

#define CPU_DIR "/sys/devices/system/cpu"

static unsigned
first_cpu(void)
{
	cpu_set_t set;
	unsigned cpu = 0;
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 0;
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

static void
read_system(struct environment *environment, const char *root)
{
	struct utsname name;
	char *system = environment->system;
	size_t size = sizeof(environment->system);
	if (!procfs_value(system, size, root, "/etc/os-release", "PRETTY_NAME"))
		procfs_value(system, size, root, "/usr/lib/os-release", "PRETTY_NAME");
	if (uname(&name) != 0)
		return;
	procfs_keep(PROCFS_INTO(environment->host), name.nodename);
	char kernel[3 * sizeof(name.sysname)];
	snprintf(kernel, sizeof(kernel), "%s %s %s", name.sysname, name.release, name.machine);
	procfs_keep(PROCFS_INTO(environment->kernel), kernel);
}

/* ---- processors ---- */

/** x86 has a model name; ARM has numbers, and perhaps a board with a name. */
static void
read_cpu_name(struct environment *environment, const char *root)
{
	static const char *const keys[] = {"model name", "cpu model", "cpu", "Model"};
	static const char info[] = "/proc/cpuinfo";
	char *cpu = environment->cpu, implementer[16], part[16];
	size_t size = sizeof(environment->cpu);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (procfs_value(cpu, size, root, info, keys[i]))
			return;
	}
	if (procfs_value(implementer, sizeof(implementer), root, info, "CPU implementer") &&
		procfs_value(part, sizeof(part), root, info, "CPU part"))
		snprintf(cpu, size, "implementer %s, part %s", implementer, part);
}

/** The data cache of the highest level. */
static void
read_caches(struct environment *environment, const char *root, unsigned cpu)
{
	enum { INDEX_MAX = 16 };
	uint64_t highest = 0, level, bytes;
	for (unsigned i = 0; i < INDEX_MAX; i++) {
		char type[16] = "";
		if (!procfs_number(
			    &level, root, CPU_DIR "/cpu%u/cache/index%u/level", cpu, i) ||
			!procfs_number(
				&bytes, root, CPU_DIR "/cpu%u/cache/index%u/size", cpu, i))
			continue;
		procfs_line(
			type, sizeof(type), root, CPU_DIR "/cpu%u/cache/index%u/type", cpu, i);
		if (level <= highest || strcmp(type, "Instruction") == 0)
			continue;
		highest = level;
		environment->last_level_cache_bytes = bytes;
	}
	long told = sysconf(_SC_LEVEL3_CACHE_SIZE);
	if (highest == 0 && root[0] == '\0' && told > 0)
		environment->last_level_cache_bytes = (uint64_t)told;
}

static void
read_frequency(struct environment *environment, const char *root, unsigned cpu)
{
	/* the driver decides which of them exists; the first one has the opposite meaning */
	static const struct {
		const char *path;
		uint64_t on;
	} switches[] = {{CPU_DIR "/intel_pstate/no_turbo", 0}, {CPU_DIR "/cpufreq/boost", 1}};
	uint64_t value;
	procfs_line(PROCFS_INTO(environment->governor), root,
		CPU_DIR "/cpu%u/cpufreq/scaling_governor", cpu);
	if (procfs_number(&value, root, CPU_DIR "/cpu%u/cpufreq/cpuinfo_max_freq", cpu))
		environment->cpu_mhz_max = (double)value / 1000;
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
		if (procfs_number(&value, root, "%s", switches[i].path) && value <= 1)
			strcpy(environment->turbo, value == switches[i].on ? "on" : "off");
	}
}

/** Whether `name` is `prefix` followed by a number. */
static bool
is_numbered(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);
	if (strncmp(name, prefix, length) != 0 || name[length] == '\0')
		return false;
	return name[length + strspn(name + length, "0123456789")] == '\0';
}

static DIR *
open_dir(const char *root, const char *path)
{
	char full[PATH_MAX];
	if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
		return NULL;
	return opendir(full);
}

static void
count_sockets(struct environment *environment, const char *root)
{
	enum { SOCKETS_MAX = 64 };
	uint64_t seen[SOCKETS_MAX], id;
	uint32_t count = 0;
	DIR *dir = open_dir(root, CPU_DIR);
	for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
		if (!is_numbered(entry->d_name, "cpu") ||
			!procfs_number(&id, root, CPU_DIR "/%s/topology/physical_package_id",
				entry->d_name))
			continue;
		uint32_t i = 0;
		while (i < count && seen[i] != id)
			i++;
		if (i == count && count < SOCKETS_MAX)
			seen[count++] = id;
	}
	if (dir != NULL)
		closedir(dir);
	environment->sockets = count;
}

static void
count_nodes(struct environment *environment, const char *root)
{
	DIR *dir = open_dir(root, "/sys/devices/system/node");
	for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
		environment->numa_nodes += is_numbered(entry->d_name, "node");
	if (dir != NULL)
		closedir(dir);
}

static void
count_siblings(struct environment *environment, const char *root, unsigned cpu)
{
	static const char *const lists[] = {"core_cpus_list", "thread_siblings_list"};
	char list[256];
	uint64_t first = 0;
	for (size_t i = 0; i < 2 && environment->threads_per_core == 0; i++) {
		if (procfs_line(list, sizeof(list), root, CPU_DIR "/cpu%u/topology/%s", cpu,
			    lists[i]))
			environment->threads_per_core = (uint32_t)procfs_list(list, &first);
	}
}

/* ---- memory ---- */

static void
read_memory(struct environment *environment, const char *root)
{
	static const char info[] = "/proc/meminfo";
	uint64_t free_bytes = 0;
	struct {
		const char *key;
		uint64_t *bytes;
	} facts[] = {{"MemAvailable", &environment->available_bytes},
		{"SwapTotal", &environment->swap_bytes}, {"SwapFree", &free_bytes}};
	bool is_known = false;
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		char value[32];
		is_known = procfs_value(value, sizeof(value), root, info, facts[i].key) &&
			procfs_parse_number(facts[i].bytes, value);
	}
	if (is_known && free_bytes < environment->swap_bytes)
		environment->swap_used_bytes = environment->swap_bytes - free_bytes;
}

static void
read_load(struct environment *environment, const char *root)
{
	char line[64];
	unsigned whole, part;
	int length = 0;
	/* not strtod(), whose decimal point depends on the locale */
	if (procfs_line(line, sizeof(line), root, "/proc/loadavg") &&
		sscanf(line, "%9u.%2u%n", &whole, &part, &length) == 2 && length > 0)
		environment->load_1m = whole + part / 100.0;
}

/* ---- containers ---- */

static bool
see_cgroup(void *arg, char *line)
{
	static const struct {
		const char *part, *name;
	} hints[] = {{"kubepods", "kubernetes"}, {"docker", "docker"}, {"libpod", "podman"},
		{"containerd", "containerd"}, {"/lxc", "lxc"}, {"machine.slice", "nspawn"}};
	struct environment *environment = arg;
	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
		if (strstr(line, hints[i].part) != NULL) {
			strcpy(environment->container, hints[i].name);
			return false;
		}
	}
	return true;
}

static void
find_container(struct environment *environment, const char *root)
{
	static const struct {
		const char *path, *name;
	} marks[] = {{"/run/.containerenv", "podman"}, {"/.dockerenv", "docker"}};
	size_t size = sizeof(environment->container);
	if (procfs_line(environment->container, size, root, "/run/systemd/container"))
		return;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		if (procfs_exists(root, "%s", marks[i].path)) {
			strcpy(environment->container, marks[i].name);
			return;
		}
	}
	procfs_lines(root, "/proc/1/cgroup", see_cgroup, environment);
}

void
environment_read_machine(struct environment *environment, const char *root)
{
	unsigned cpu = first_cpu();
	long page_bytes = sysconf(_SC_PAGESIZE);
	environment->page_bytes = page_bytes > 0 ? (uint64_t)page_bytes : 0;
	read_system(environment, root);
	read_cpu_name(environment, root);
	read_caches(environment, root, cpu);
	read_frequency(environment, root, cpu);
	count_sockets(environment, root);
	count_nodes(environment, root);
	count_siblings(environment, root, cpu);
	read_memory(environment, root);
	read_load(environment, root);
	find_container(environment, root);
	procfs_line(PROCFS_INTO(environment->clock_source), root,
		"/sys/devices/system/clocksource/clocksource0/current_clocksource");
	procfs_chosen(PROCFS_INTO(environment->huge_pages), root,
		"/sys/kernel/mm/transparent_hugepage/enabled");
}
