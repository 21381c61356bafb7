/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment of a run: this machine, compared with other system interfaces, and made-up
 * file trees: complete, incomplete and hostile ones.
 */
#include "run/environment.h"

#include <gnu/libc-version.h>
#include <jansson.h>
#include <regex.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <zlib.h>

#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static struct environment environment;

static void
assert_form(const char *text, const char *pattern)
{
	regex_t form;
	ck_assert_int_eq(regcomp(&form, pattern, REG_EXTENDED | REG_NOSUB), 0);
	ck_assert_msg(
		regexec(&form, text, 0, NULL, 0) == 0, "'%s' does not match %s", text, pattern);
	regfree(&form);
}

static unsigned
own_cpu(void)
{
	cpu_set_t set;
	unsigned cpu = 0;
	ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

/** Make the file tree/<path>, with its directories. */
static void
put(const char *text, const char *fmt, ...)
{
	char path[512];
	va_list args;
	size_t used = (size_t)snprintf(path, sizeof(path), "tree");
	va_start(args, fmt);
	vsnprintf(path + used, sizeof(path) - used, fmt, args);
	va_end(args);
	for (char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file_put(path, text, strlen(text));
}

TEST(this_machine_is_described_in_the_right_form)
{
	struct utsname name;
	struct statvfs fs;
	struct stat st;
	char expected[1024];
	scratch_fresh("here");
	environment_read(&environment, ".", "");
	assert_form(environment.begun,
		"^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:"
		"[0-6][0-9][-+][0-9]{2}:[0-9]{2}$");
	ck_assert_int_eq(uname(&name), 0);
	ck_assert_str_eq(environment.host, name.nodename);
	snprintf(expected, sizeof(expected), "%s %s %s", name.sysname, name.release,
		name.machine);
	ck_assert_str_eq(environment.kernel, expected);
	assert_form(environment.huge_pages, "^(|always|madvise|never)$");
	assert_form(environment.turbo, "^(|on|off)$");
	assert_form(environment.build, "^(release|debug|sanitizer)$");
	assert_form(environment.revision, "^(|[0-9a-f]{40}(-dirty)?)$");
	assert_form(environment.compiler, "^(gcc|clang) [0-9]+\\.[0-9]+");
	snprintf(expected, sizeof(expected), "zlib %s, jansson %s", zlibVersion(),
		JANSSON_VERSION);
	ck_assert_str_eq(environment.libraries, expected);
	ck_assert_ptr_nonnull(getcwd(expected, sizeof(expected)));
	ck_assert_str_eq(environment.directory, expected);
	ck_assert_int_eq(strncmp(expected, environment.mount, strlen(environment.mount)), 0);
	ck_assert_uint_eq(environment.page_bytes, (uint64_t)getpagesize());
	ck_assert_int_eq(statvfs(".", &fs), 0);
	ck_assert_uint_eq(environment.filesystem_bytes, (uint64_t)fs.f_blocks * fs.f_frsize);
	ck_assert_uint_ge(
		environment.filesystem_bytes, environment.free_bytes); /* may be empty */
	ck_assert_int_eq(stat(".", &st), 0);
	if (environment.device[0] == '\0')
		ck_assert_uint_eq(environment.device_minor, minor(st.st_dev));
}

TEST(time_is_in_the_local_time_zone)
{
	struct tm tm = {0};
	int offset;
	setenv("TZ", "XXX-05:30", 1); /* five and a half hours east of Greenwich */
	tzset();
	time_t before = time(NULL);
	environment_read(&environment, "/", "");
	ck_assert_int_eq(
		sscanf(environment.begun, "%d-%d-%dT%d:%d:%d+05:%d", &tm.tm_year, &tm.tm_mon,
			&tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &offset),
		7);
	ck_assert_int_eq(offset, 30);
	tm.tm_year -= 1900;
	tm.tm_mon--;
	time_t told = timegm(&tm) - (5 * 60 + 30) * 60;
	ck_assert(told >= before && told <= time(NULL));
}

/* clang and gcc indicate sanitizers differently. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER
#endif
#endif

TEST(allocator_is_the_library_that_provides_malloc)
{
	environment_read(&environment, "/", "");
#if defined(__SANITIZE_ADDRESS__) || defined(HAS_ADDRESS_SANITIZER)
	ck_assert_str_eq(environment.allocator, "AddressSanitizer");
#elif defined(__SANITIZE_THREAD__) || defined(HAS_THREAD_SANITIZER)
	ck_assert_str_eq(environment.allocator, "ThreadSanitizer");
#else
	char expected[64];
	if (getenv("LD_PRELOAD") != NULL)
		return;
	snprintf(expected, sizeof(expected), "glibc %s", gnu_get_libc_version());
	ck_assert_str_eq(environment.allocator, expected);
#endif
}

TEST(preloaded_libraries_are_reported)
{
	setenv("LD_PRELOAD", "libx.so", 1);
	environment_read(&environment, "/", "");
	unsetenv("LD_PRELOAD");
	ck_assert_str_eq(environment.preload, "libx.so");
}

TEST(directory_may_not_exist_yet)
{
	char cwd[128], expected[256];
	scratch_fresh("absent");
	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	ck_assert_int_eq(symlink("/", "root"), 0);
	environment_read(&environment, "./a/b", "");
	snprintf(expected, sizeof(expected), "%s/a/b", cwd);
	ck_assert_str_eq(environment.directory, expected);
	ck_assert_uint_gt(environment.filesystem_bytes, 0);
	environment_read(&environment, "root/no/such", "");
	ck_assert_str_eq(environment.directory, "/no/such");
	environment_read(&environment, "/no-such", "");
	ck_assert_str_eq(environment.directory, "/no-such");
	environment_read(&environment, "", "");
	environment_read(&environment, "/proc/self/nothing", "");
}

/** Make the tree of a machine on which everything is known. */
static void
make_machine(void)
{
	unsigned cpu = own_cpu();
	struct stat st;
	ck_assert_int_eq(stat(".", &st), 0);
	put("NAME=x\nPRETTY_NAME=\"Thing 7 (seven)\"\n", "/etc/os-release");
	put("processor : 0\nmodel name\t: Fast CPU @ 3GHz\n", "/proc/cpuinfo");
	put("MemTotal: 9 kB\nMemAvailable:   1000 kB\nSwapTotal: 200 kB\nSwapFree: 150 kB\n",
		"/proc/meminfo");
	put("1.75 0.50 0.10 1/200 4711\n", "/proc/loadavg");
	put("tsc\n", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	put("[always] madvise never\n", "/sys/kernel/mm/transparent_hugepage/enabled");
	put("powersave\n", "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", cpu);
	put("4500000\n", "/sys/devices/system/cpu/cpu%u/cpufreq/cpuinfo_max_freq", cpu);
	put("1\n", "/sys/devices/system/cpu/intel_pstate/no_turbo");
	put("0-1\n", "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
	for (unsigned i = 1000; i < 1004; i++)
		put(i < 1002 ? "0\n" : "1\n",
			"/sys/devices/system/cpu/cpu%u/topology/physical_package_id", i);
	static const char *const caches[][3] = {{"1", "Data", "32K"},
		{"1", "Instruction", "64K"}, {"3", "Unified", "8M"}, {"2", "Unified", "1M"}};
	for (unsigned i = 0; i < 4; i++) {
		const char *dir = "/sys/devices/system/cpu/cpu%u/cache/index%u/%s";
		put(caches[i][0], dir, cpu, i, "level");
		put(caches[i][1], dir, cpu, i, "type");
		put(caches[i][2], dir, cpu, i, "size");
	}
	put("", "/sys/devices/system/node/node0/x");
	put("", "/sys/devices/system/node/node1/x");
	put("", "/sys/devices/system/node/node/x");
	put("", "/sys/devices/system/node/online");
	put("", "/sys/devices/pci/block/nvd/nvd1/partition");
	put("Quick Disk  \n", "/sys/block/nvd/device/model");
	put("mq-deadline [none]\n", "/sys/block/nvd/queue/scheduler");
	put("1\n", "/sys/block/nvd/queue/rotational");
	put("", "/sys/dev/block/x");
	char link[128];
	snprintf(link, sizeof(link), "tree/sys/dev/block/%u:%u", major(st.st_dev),
		minor(st.st_dev));
	ck_assert_int_eq(symlink("../../devices/pci/block/nvd/nvd1", link), 0);
}

TEST(all_facts_of_a_machine_are_found)
{
	scratch_fresh("rich");
	make_machine();
	environment_read(&environment, "db", "tree");
	ck_assert_str_eq(environment.system, "Thing 7 (seven)");
	ck_assert_str_eq(environment.cpu, "Fast CPU @ 3GHz");
	ck_assert_str_eq(environment.clock_source, "tsc");
	ck_assert_str_eq(environment.governor, "powersave");
	ck_assert_str_eq(environment.turbo, "off");
	ck_assert_str_eq(environment.huge_pages, "always");
	ck_assert_str_eq(environment.container, "");
	ck_assert_str_eq(environment.device, "nvd");
	ck_assert_str_eq(environment.device_model, "Quick Disk");
	ck_assert_str_eq(environment.scheduler, "none");
	ck_assert_uint_eq(environment.is_rotational, 1);
	ck_assert_uint_eq(environment.available_bytes, 1000 << 10);
	ck_assert_uint_eq(environment.swap_bytes, 200 << 10);
	ck_assert_uint_eq(environment.swap_used_bytes, 50 << 10);
	ck_assert_uint_eq(environment.last_level_cache_bytes, 8 << 20);
	ck_assert_uint_eq(environment.sockets, 2);
	ck_assert_uint_eq(environment.numa_nodes, 2);
	ck_assert_uint_eq(environment.threads_per_core, 2);
	ck_assert(environment.cpu_mhz_max == 4500);
	ck_assert(environment.load_1m == 1.75);
}

TEST(turbo_is_read_from_either_switch)
{
	scratch_fresh("turbo");
	put("0\n", "/sys/devices/system/cpu/intel_pstate/no_turbo");
	environment_read(&environment, ".", "tree");
	ck_assert_str_eq(environment.turbo, "on");
	scratch_fresh("boost");
	put("0\n", "/sys/devices/system/cpu/cpufreq/boost");
	environment_read(&environment, ".", "tree");
	ck_assert_str_eq(environment.turbo, "off");
	put("1\n", "/sys/devices/system/cpu/cpufreq/boost");
	environment_read(&environment, ".", "tree");
	ck_assert_str_eq(environment.turbo, "on");
}

TEST(processors_without_a_name_have_numbers)
{
	scratch_fresh("arm");
	put("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "/proc/cpuinfo");
	environment_read(&environment, ".", "tree");
	ck_assert_str_eq(environment.cpu, "implementer 0x41, part 0xd0c");
}

TEST(containers_are_detected_by_their_traces)
{
	static const struct {
		const char *path, *text, *name;
	} marks[] = {{"/run/systemd/container", "lxc\n", "lxc"},
		{"/run/.containerenv", "", "podman"}, {"/.dockerenv", "", "docker"},
		{"/proc/1/cgroup", "3:cpu:/\n2:cpuset:/kubepods/burstable/pod1\n",
			"kubernetes"},
		{"/proc/1/cgroup", "0::/system.slice/docker-4711.scope\n", "docker"},
		{"/proc/1/cgroup", "0::/init.scope\n", ""}};
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		char name[16];
		snprintf(name, sizeof(name), "container%zu", i);
		scratch_fresh(name);
		put(marks[i].text, "%s", marks[i].path);
		environment_read(&environment, ".", "tree");
		ck_assert_str_eq(environment.container, marks[i].name);
	}
}

TEST(mount_is_the_nearest_and_last_one)
{
	char cwd[128], text[2048];
	scratch_fresh("mounts");
	ck_assert_int_eq(mkdir("a b", 0700), 0);
	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	snprintf(text, sizeof(text),
		"1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		"2 1 8:2 / %s rw,noatime - xfs /dev/old rw\n"
		"3 1 8:2 / %s rw,noatime shared:2 master:3 - xfs /dev/new rw,x\n"
		"4 1 8:2 / %s/a\\040b ro,x - btrfs /dev/my\\040disk rw\n"
		"5 1 8:2 / %s/a rw - xfs /dev/other rw\n",
		cwd, cwd, cwd, cwd);
	put(text, "/proc/self/mountinfo");
	environment_read(&environment, "db", "tree");
	ck_assert_str_eq(environment.mount, cwd);
	ck_assert_str_eq(environment.mount_source, "/dev/new");
	ck_assert_str_eq(environment.mount_options, "rw,noatime");
	environment_read(&environment, "a b/db", "tree");
	ck_assert_ptr_nonnull(strstr(environment.mount, "/mounts/a b"));
	ck_assert_str_eq(environment.mount_source, "/dev/my disk");
	environment_read(&environment, "/", "tree");
	ck_assert_str_eq(environment.mount, "/");
	ck_assert_str_eq(environment.mount_source, "/dev/sda1");
}

/** All texts end within their fields and are printable. */
static void
assert_sound(void)
{
#define SOUND(field) \
	do { \
		ck_assert_ptr_nonnull( \
			memchr(environment.field, '\0', sizeof(environment.field))); \
		for (const char *at = environment.field; *at != '\0'; at++) \
			ck_assert((unsigned char)*at >= ' ' && *at != 0x7f); \
	} while (0)
	SOUND(system);
	SOUND(cpu);
	SOUND(clock_source);
	SOUND(governor);
	SOUND(turbo);
	SOUND(huge_pages);
	SOUND(container);
	SOUND(mount);
	SOUND(mount_source);
	SOUND(mount_options);
	SOUND(device);
	SOUND(device_model);
	SOUND(scheduler);
#undef SOUND
	ck_assert(environment.cpu_mhz_max >= 0 && environment.load_1m >= 0);
	ck_assert_uint_le(environment.swap_used_bytes, environment.swap_bytes);
}

TEST(missing_files_leave_facts_unknown)
{
	scratch_fresh("poor");
	ck_assert_int_eq(mkdir("tree", 0700), 0);
	environment_read(&environment, ".", "tree");
	assert_sound();
	ck_assert_str_eq(environment.cpu, "");
	ck_assert_str_eq(environment.mount, "");
	ck_assert_str_eq(environment.device, "");
	ck_assert_uint_eq(environment.available_bytes, 0);
	ck_assert_uint_eq(environment.sockets, 0);
	ck_assert_uint_eq(environment.numa_nodes, 0);
	ck_assert_uint_eq(environment.last_level_cache_bytes, 0);
	ck_assert_str_ne(environment.kernel, ""); /* does not come from a file */
}

static int
spoil(const char *path, const struct stat *st, int type, struct FTW *where)
{
	static const char bytes[] = "[\377\001\033[31m: %s%n = \"99999999999999999999999K ";
	char text[8192];
	if (type != FTW_F)
		return 0;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = bytes[i % (sizeof(bytes) - 1)];
	/* keep the keys, so that the values are parsed */
	size_t size;
	uint8_t *old = file_get(path, &size);
	for (size_t i = 0; i < size; i++)
		if (old[i] == ':' || old[i] == '=')
			memset(old + i + 1, 0xfe, size - i - 1);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fwrite(old, size > 10 ? 10 : 0, 1, file);
	fwrite(text, sizeof(text), 1, file);
	fwrite(old, size, 1, file);
	ck_assert_int_eq(fclose(file), 0);
	free(old);
	return 0;
}

TEST(hostile_files_do_no_harm)
{
	scratch_fresh("hostile");
	make_machine();
	put("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n - \n - a\n1 2 3 4 - x y z\n\\\n"
	    "1 2 3 4 / \\0 - x \\777\\04\\ \n",
		"/proc/self/mountinfo");
	environment_read(&environment, "db", "tree");
	assert_sound();
	ck_assert_int_eq(nftw("tree", spoil, 16, FTW_PHYS), 0);
	environment_read(&environment, "db", "tree");
	assert_sound();
	ck_assert_uint_eq(environment.available_bytes, 0);
	ck_assert_uint_eq(environment.last_level_cache_bytes, 0);
}

TEST(directories_in_place_of_files_do_no_harm)
{
	scratch_fresh("directories");
	put("", "/proc/cpuinfo/x");
	put("", "/proc/meminfo/x");
	put("", "/proc/self/mountinfo/x");
	put("", "/etc/os-release/x");
	put("", "/run/systemd/container/x");
	put("", "/sys/devices/system/node");
	environment_read(&environment, "db", "tree");
	assert_sound();
	ck_assert_str_eq(environment.cpu, "");
	ck_assert_str_eq(environment.container, "");
}
