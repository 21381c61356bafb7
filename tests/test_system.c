/* SPDX-License-Identifier: BSD-2-Clause */
/* The test knows exactly what it does, and so what the system must count. */
#include "run/system.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/metric.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

enum { CHUNK = 1 << 16, CHUNKS = 16, PAGES = 256 };

static struct system_probe *probe;
static struct system_counts before, after, grown;

static void
begin(void)
{
	probe = system_probe_new("", ".", 0, 0, NULL);
	ck_assert_ptr_nonnull(probe);
	system_look(probe, &before);
}

static void
look(void)
{
	system_look(probe, &after);
	grown = system_between(&before, &after);
}

static void
end(void)
{
	system_probe_delete(probe);
}

TEST(looking_is_not_counted)
{
	begin();
	for (int i = 0; i < 10; i++) {
		struct system_levels levels;
		system_levels(probe, &levels, false);
		look();
	}
	ck_assert_uint_eq(grown.call_read_bytes, 0);
	ck_assert_uint_eq(grown.read_calls, 0);
	ck_assert_uint_eq(grown.call_write_bytes, 0);
	end();
}

TEST(bytes_by_calls_are_exact)
{
	static char chunk[CHUNK];
	begin();
	int fd = open("data", O_RDWR | O_CREAT, 0600);
	system_look(probe, &before);
	ssize_t done = 0; /* checked at the end: Check writes for each assertion */
	for (int i = 0; i < CHUNKS; i++)
		done += write(fd, chunk, CHUNK);
	for (int i = 0; i < 3; i++)
		done += pread(fd, chunk, CHUNK, 0);
	look();
	ck_assert_int_eq(done, (CHUNKS + 3) * CHUNK);
	ck_assert_uint_ne(grown.known & SYSTEM_IO, 0);
	ck_assert_uint_eq(grown.call_write_bytes, CHUNKS * CHUNK);
	ck_assert_uint_eq(grown.write_calls, CHUNKS);
	ck_assert_uint_eq(grown.call_read_bytes, 3 * CHUNK);
	ck_assert_uint_eq(grown.read_calls, 3);
	struct system_levels levels;
	system_levels(probe, &levels, true);
	ck_assert_uint_ge(levels.data_bytes, CHUNKS * CHUNK);
	system_levels(probe, &levels, false);
	ck_assert_uint_eq(levels.data_bytes, 0);
	close(fd);
	end();
}

static uint64_t
cpu_ns(int whose)
{
	struct rusage used;
	getrusage(whose, &used);
	return ((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * 1000000000 +
		((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) * 1000;
}

static void
burn(uint64_t ns)
{
	for (uint64_t begun = cpu_ns(RUSAGE_SELF); cpu_ns(RUSAGE_SELF) - begun < ns;)
		;
}

TEST(cpu_time_is_that_of_the_process_and_of_children)
{
	begin();
	burn(20000000);
	look();
	ck_assert_uint_ge(grown.user_ns + grown.system_ns, 20000000);
	before = after;
	pid_t child = fork();
	if (child == 0) {
		burn(50000000);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	look();
	ck_assert_uint_ge(grown.user_ns + grown.system_ns, 50000000);
	end();
}

TEST(pages_that_are_touched_are_faults_and_resident)
{
	struct system_levels small, large;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
	begin();
	system_levels(probe, &small, false);
	char *pages = mmap(
		NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	madvise(pages, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += page)
		pages[i] = 1;
	look();
	system_levels(probe, &large, false);
	ck_assert_uint_ge(grown.minor_faults, PAGES);
	/* the kernel adds per-CPU counts late, some pages for each CPU */
	ck_assert_uint_gt(large.anonymous_bytes, small.anonymous_bytes);
	ck_assert_uint_gt(large.file_bytes, 0);
	munmap(pages, size);
	end();
}

static void *
wait_for_go(void *go)
{
	pthread_mutex_lock(go);
	pthread_mutex_unlock(go);
	return NULL;
}

TEST(threads_are_counted)
{
	struct system_levels one, two;
	pthread_mutex_t go = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;
	begin();
	system_levels(probe, &one, false);
	pthread_mutex_lock(&go);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_go, &go), 0);
	system_levels(probe, &two, false);
	pthread_mutex_unlock(&go);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(two.threads, one.threads + 1);
	end();
}

TEST(missing_device_of_a_memory_file_system_is_reported)
{
	if (access("/dev/shm", W_OK) != 0)
		return; /* no tmpfs */
	struct system_probe *of_memory = system_probe_new("", "/dev/shm", 0, 0, NULL);
	system_look(of_memory, &before);
	ck_assert_uint_eq(before.known & SYSTEM_DEVICE, 0);
	ck_assert_uint_eq(before.device_write_bytes, 0);
	ck_assert_ptr_nonnull(strstr(system_missing(of_memory), "device: "));
	system_probe_delete(of_memory);
}

TEST(an_unknown_device_is_looked_for_at_the_path)
{
	/* an explicit device is believed, even if its number does not exist */
	struct system_probe *given = system_probe_new("", "/tmp", 4095, 77, "not wanted");
	system_look(given, &before);
	ck_assert_uint_eq(before.known & SYSTEM_DEVICE, 0);
	ck_assert_uint_eq(before.known & (SYSTEM_CYCLES | SYSTEM_CACHE | SYSTEM_BRANCHES), 0);
	ck_assert_ptr_eq(strstr(system_missing(given), "hardware counters: not wanted; "),
		system_missing(given));
	system_probe_delete(given);
	/* nothing is known about a path that does not exist */
	given = system_probe_new("", "/tmp/mininb-is-not-there", 0, 0, NULL);
	system_look(given, &before);
	ck_assert_uint_eq(before.known & SYSTEM_DEVICE, 0);
	ck_assert_uint_ne(before.known & SYSTEM_PROCESS, 0);
	system_probe_delete(given);
}

static void
write_zone(int zone, const char *name, const char *text)
{
	char path[96];
	snprintf(path, sizeof(path), "root/sys/class/powercap/intel-rapl:%d/%s", zone, name);
	file_put(path, text, strlen(text));
}

static void
make_zone(int zone, const char *name, const char *energy)
{
	char command[96];
	snprintf(command, sizeof(command), "mkdir -p root/sys/class/powercap/intel-rapl:%d",
		zone);
	ck_assert_int_eq(system(command), 0);
	write_zone(zone, "name", name);
	write_zone(zone, "max_energy_range_uj", "1000000\n");
	write_zone(zone, "energy_uj", energy);
}

TEST(energy_covers_all_packages_even_if_a_counter_wraps)
{
	scratch_fresh("energy");
	make_zone(0, "package-0\n", "999000\n");
	make_zone(1, "psys\n", "5\n");
	make_zone(2, "package-1\n", "100\n");
	probe = system_probe_new("root", "/tmp", 0, 0, "not wanted");
	ck_assert_ptr_null(strstr(system_missing(probe), "energy"));
	system_look(probe, &before);
	ck_assert_uint_ne(before.known & SYSTEM_ENERGY, 0);
	write_zone(0, "energy_uj", "2000\n");
	write_zone(1, "energy_uj", "777\n");
	write_zone(2, "energy_uj", "150\n");
	look();
	ck_assert_uint_eq(grown.package_energy_uj, 3000 + 50);
	struct nb_result run = {.measured = {.used = grown, .usage_ops = 61}};
	struct record record = {.run = &run};
	struct metric_source source = {.record = &record};
	double joules = metric_take(metric_find("energy_j_op"), &source).real;
	ck_assert_double_eq_tol(joules, 50e-6, 1e-12);
	system_probe_delete(probe);
}

TEST(report_states_why_energy_is_unknown)
{
	probe = system_probe_new("/tmp/mininb-is-not-there", "/tmp", 0, 0, "not wanted");
	system_look(probe, &before);
	ck_assert_uint_eq(before.known & SYSTEM_ENERGY, 0);
	struct nb_result run = {.measured = {.used = before, .usage_ops = 1}};
	snprintf(run.measured.used_missing, sizeof(run.measured.used_missing), "%s",
		system_missing(probe));
	struct record record = {.run = &run};
	struct metric_source source = {.record = &record};
	char line[128];
	metric_line(metric_find("Energy"), &source, line, sizeof(line));
	ck_assert_str_eq(line, "not available: no readable /sys/class/powercap");
	system_probe_delete(probe);
}

TEST(counts_of_the_machine_only_grow)
{
	begin();
	burn(30000000); /* three ticks of /proc/stat */
	look();
	const uint64_t *was = &before.known + 1, *is = &after.known + 1;
	for (int i = 0; i < SYSTEM_COUNTS; i++)
		ck_assert_msg(is[i] >= was[i], "count %d decreased", i);
	ck_assert_uint_ne(after.known & SYSTEM_MACHINE, 0);
	ck_assert_uint_ge(grown.busy_ns, 10000000);
	end();
}

TEST(a_difference_is_of_each_field_and_never_below_zero)
{
	struct system_counts from = {.known = 7, .user_ns = 5, .branch_misses = 10};
	struct system_counts until = {.known = 14, .user_ns = 9, .branch_misses = 4};
	struct system_counts difference = system_between(&from, &until);
	ck_assert_uint_eq(difference.known, 6);
	ck_assert_uint_eq(difference.user_ns, 4);
	ck_assert_uint_eq(difference.branch_misses, 0);
}

TEST(sum_is_known_if_all_parts_are_known)
{
	struct system_counts sum = {0};
	struct system_counts first = {.known = 3, .user_ns = 5};
	struct system_counts second = {.known = 6, .user_ns = 7, .cycles = 1};
	system_add(&sum, &first);
	ck_assert_uint_eq(sum.known, 3);
	system_add(&sum, &second);
	ck_assert_uint_eq(sum.known, 2);
	ck_assert_uint_eq(sum.user_ns, 12);
	ck_assert_uint_eq(sum.cycles, 1);
}
