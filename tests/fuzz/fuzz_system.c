/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as files of the kernel and of the system, in the form in which
 * head(1) prints several files: a line "==> /proc/stat <==", then the content. The target
 * writes them into a temporary tree, from which it reads the environment, and provides them
 * through the descriptors of a probe. Every text must end within its field and be UTF-8. A
 * difference of counts must not exceed the counts.
 *
 * Not covered are files that are read by fixed names: the memory limit and the CPU times of
 * sysinfo.c, and the name of the cgroup in system.c.
 *
 *     tests/fuzz/fuzz_system -max_len=4096 -dict=.../system.dict NEW_CORPUS .../corpus/system
 */
#include <jansson.h>
#include <sched.h>

/* Included, because only system.c can make a probe with given descriptors. */
#include "../../lib/run/system.c"

#include "fuzz.h"
#include "run/environment.h"

#define CPU "/sys/devices/system/cpu"
#define DISK "/sys/devices/disk"

/* The files of a probe come first, in the order of their numbers. */
static const char *const names[] = {
	[FILE_IO] = "/proc/self/io",
	[FILE_STATUS] = "/proc/self/status",
	[FILE_STAT] = "/proc/stat",
	[FILE_VMSTAT] = "/proc/vmstat",
	[FILE_MEMINFO] = "/proc/meminfo",
	[FILE_PRESSURE_CPU] = "/proc/pressure/cpu",
	[FILE_PRESSURE_MEMORY] = "/proc/pressure/memory",
	[FILE_PRESSURE_IO] = "/proc/pressure/io",
	[FILE_DEVICE] = DISK "/part/stat",
	[FILE_CGROUP] = "/sys/fs/cgroup/cpu.stat",
	"/etc/os-release",
	"/proc/cpuinfo",
	"/proc/loadavg",
	"/proc/1/cgroup",
	"/proc/self/mountinfo",
	"/run/systemd/container",
	CPU "/cpu0/cache/index3/level",
	CPU "/cpu0/cache/index3/size",
	CPU "/cpu0/cache/index3/type",
	CPU "/cpu0/cpufreq/scaling_governor",
	CPU "/cpu0/cpufreq/cpuinfo_max_freq",
	CPU "/cpu0/topology/physical_package_id",
	CPU "/cpu0/topology/core_cpus_list",
	CPU "/intel_pstate/no_turbo",
	"/sys/devices/system/clocksource/clocksource0/current_clocksource",
	"/sys/kernel/mm/transparent_hugepage/enabled",
	DISK "/part/partition",
	DISK "/device/model",
	DISK "/queue/scheduler",
	DISK "/queue/rotational",
};

enum { NAMES = sizeof(names) / sizeof(*names), PATH = 200 };

static char tree[FUZZ_PATH];
static bool is_there[NAMES];

/* ---- the tree ---- */

static void
make_directories(const char *path)
{
	char part[PATH];
	for (const char *slash = strchr(path + 1, '/'); slash != NULL;
		slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdir(part, 0700);
	}
}

static void
make_link(const char *to, const char *name)
{
	char path[PATH];
	snprintf(path, sizeof(path), "%s%s", tree, name);
	make_directories(path);
	require(symlink(to, path) == 0 || access(path, F_OK) == 0, "the link can be made");
}

static unsigned
first_cpu(void)
{
	cpu_set_t set;
	unsigned cpu = 0;
	require(sched_getaffinity(0, sizeof(set), &set) == 0, "the allowed CPUs can be read");
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

static void
remove_tree(void)
{
	char command[PATH];
	snprintf(command, sizeof(command), "rm -rf %s", tree);
	(void)!system(command);
}

/** Create, once, all directories, and the links that lead to the device and the CPU. */
static void
make_tree(void)
{
	char path[PATH], name[PATH];
	struct stat st;
	place_of("system", tree);
	atexit(remove_tree);
	for (size_t i = 0; i < NAMES; i++) {
		snprintf(path, sizeof(path), "%s%s", tree, names[i]);
		make_directories(path);
	}
	require(stat(tree, &st) == 0, "the directory exists");
	snprintf(
		name, sizeof(name), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	make_link("../../devices/disk/part", name);
	make_link("../devices/disk", "/sys/block/disk");
	make_link("../devices/disk", "/sys/block/part");
	snprintf(name, sizeof(name), CPU "/cpu%u", first_cpu());
	make_link("cpu0", name);
}

static void
put_part(size_t index, const char *from, size_t size)
{
	char path[PATH];
	snprintf(path, sizeof(path), "%s%s", tree, names[index]);
	put_file(path, from, size);
	is_there[index] = true;
}

static void
clear_tree(void)
{
	char path[PATH];
	for (size_t i = 0; i < NAMES; i++) {
		snprintf(path, sizeof(path), "%s%s", tree, names[i]);
		if (is_there[i])
			unlink(path);
		is_there[i] = false;
	}
}

/**
 * The index of the name in a line "==> NAME <=="; NAMES: not such a line, or an unknown name.
 */
static size_t
named(const char *line, size_t size)
{
	static const char head[] = "==> ", tail[] = " <==";
	if (size < 8 || memcmp(line, head, 4) != 0 || memcmp(line + size - 4, tail, 4) != 0)
		return NAMES;
	for (size_t i = 0; i < NAMES; i++)
		if (strlen(names[i]) == size - 8 && memcmp(line + 4, names[i], size - 8) == 0)
			return i;
	return NAMES;
}

static void
put_files(const char *text, size_t size)
{
	size_t index = NAMES, begin = 0;
	for (size_t at = 0; at < size;) {
		const char *newline = memchr(text + at, '\n', size - at);
		size_t end = newline != NULL ? (size_t)(newline - text) : size;
		size_t next = named(text + at, end - at);
		if (next < NAMES) {
			if (index < NAMES)
				put_part(index, text + begin, at - begin);
			index = next;
			begin = end < size ? end + 1 : end;
		}
		at = end + 1;
	}
	if (index < NAMES)
		put_part(index, text + begin, size - begin);
}

/* ---- reading ---- */

#define TEXT(field) \
	{ \
		offsetof(struct environment, field), \
			sizeof(((struct environment *)NULL)->field) \
	}

static void
read_environment(void)
{
	static const struct {
		size_t offset, size;
	} texts[] = {TEXT(begun), TEXT(host), TEXT(system), TEXT(kernel), TEXT(cpu),
		TEXT(clock_source), TEXT(governor), TEXT(turbo), TEXT(huge_pages),
		TEXT(container), TEXT(directory), TEXT(mount), TEXT(mount_source),
		TEXT(mount_options), TEXT(device), TEXT(device_model), TEXT(scheduler)};
	struct environment environment;
	environment_read(&environment, tree, tree);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *text = (const char *)&environment + texts[i].offset;
		require(strnlen(text, texts[i].size) < texts[i].size,
			"each text ends in its buffer");
		json_t *json = json_string(text);
		require(json != NULL, "each text is UTF-8");
		json_decref(json);
	}
}

static void
read_probe(void)
{
	static struct system_probe probe;
	struct system_counts first, second, grown;
	struct system_levels levels;
	char path[PATH];
	probe = (struct system_probe){.page_bytes = 4096};
	hardware_leave_out(&probe.hardware, "nothing is counted");
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s%s", tree, names[i]);
		probe.fds[i] = is_there[i] ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	}
	system_look(&probe, &first);
	system_look(&probe, &second);
	grown = system_between(&first, &second);
	for (int i = 0; i < SYSTEM_COUNTS; i++)
		require(numbers(&grown)[i] <= numbers(&second)[i],
			"growth is not above the total");
	system_add(&grown, &second);
	system_levels(&probe, &levels, false);
	for (int i = 0; i < FILES; i++) {
		if (probe.fds[i] >= 0)
			close(probe.fds[i]);
	}
	hardware_close(&probe.hardware);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (tree[0] == '\0')
		make_tree();
	put_files((const char *)data, size);
	read_environment();
	read_probe();
	clear_tree();
	return 0;
}
