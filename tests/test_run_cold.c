/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cold runs: the share of the database in memory before a run, at its first operation and after
 * it. With a test engine whose files are known, and with real engines.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <mininb/job.h>

#include "rig.h"
#include "run/run.h"
#include "scratch.h"
#include "unit.h"

enum { FILE_BYTES = 4 << 20, COUNT = 1000 };

static struct rig rig;
static bool does_read; /* whether the engine reads the file in open */

static void
set_file_path(char *path, size_t size, const char *database)
{
	snprintf(path, size, "%s/data", database);
}

/** An engine that keeps a file, and may read all of it in open. */
static int
open_file(struct nb_db **out, const struct nb_open_args *args)
{
	static char data[FILE_BYTES];
	char path[256];
	set_file_path(path, sizeof(path), args->path);
	if ((args->flags & NB_OPEN_CREATE) != 0 && access(path, F_OK) != 0) {
		memset(data, 'x', sizeof(data));
		int fd = open(path, O_WRONLY | O_CREAT, 0666);
		ck_assert_int_eq(write(fd, data, sizeof(data)), sizeof(data));
		close(fd);
	} else if (does_read) {
		int fd = open(path, O_RDONLY);
		ck_assert_int_eq(read(fd, data, sizeof(data)), sizeof(data));
		close(fd);
	}
	struct nb_open_args memory = *args; /* the records are in a new memory database */
	memory.flags = NB_OPEN_CREATE;
	return rig_right()->open(out, &memory);
}

static struct nb_engine
filing(void)
{
	struct nb_engine engine = *rig_right();
	engine.caps |= NB_CAP_PERSISTENT;
	engine.open = open_file;
	return engine;
}

/** Create the rig, with its own database in the build directory. */
static void
begin(uint32_t verb)
{
	static char path[512];
	rig_create(&rig, verb, COUNT);
	snprintf(path, sizeof(path), "%s/run_cold.%d", COLD_DIR, (int)getpid());
	rig.options.path = path;
	rig.options.verify_rate = 0;
}

/** Whether runs can be cold there. It is unknown whether other file systems evict. */
static bool
can_be_cold(void)
{
	struct statfs fs;
	ck_assert_int_eq(statfs(COLD_DIR, &fs), 0);
	bool can = fs.f_type == 0xef53 || fs.f_type == 0x58465342; /* ext4, XFS */
	if (!can)
		puts("# skipped: " COLD_DIR " is not on ext4 or XFS");
	return can;
}

/** Whether the engine is built. `can`: the result of can_be_cold(). */
static bool
has_engine(const char *driver, bool can)
{
	struct nb_engine_ref *ref;
	if (!can)
		return false;
	if (nb_engine_load(&ref, driver) != NB_OK) {
		printf("# skipped: %s is not built\n", driver);
		return false;
	}
	nb_engine_unload(ref);
	rig.options.driver = driver;
	return true;
}

static void
end(void)
{
	nftw(rig.options.path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
	rig_destroy(&rig);
}

static double
share(const struct residency *residency)
{
	ck_assert_uint_eq(residency->is_known, 1);
	ck_assert_uint_gt(residency->total_bytes, 0);
	return (double)residency->resident_bytes / (double)residency->total_bytes;
}

static const struct measurement *
execute(uint32_t verb, uint32_t flags, const struct nb_engine *engine)
{
	rig.workload.verb = verb;
	rig.options.flags = flags | NB_RUN_ALLOW_MISSING;
	int rc = rig_run(&rig, engine);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
	return &rig.run->measured;
}

TEST(new_database_is_not_cold_and_is_looked_at)
{
	struct nb_engine engine = filing();
	begin(NB_VERB_PUT);
	if (can_be_cold()) {
		const struct measurement *put = execute(NB_VERB_PUT, NB_RUN_COLD, &engine);
		ck_assert_uint_eq(put->cold, COLD_NOT);
		ck_assert_uint_eq(put->residency_before.is_known, 0);
		ck_assert(share(&put->residency_begin) > 0.5);
		ck_assert(share(&put->residency_after) > 0.5);
		ck_assert_uint_eq(put->residency_after.files, 1);
	}
	end();
}

/**
 * Replaces the C library's function to count evictions. mininb evicts files before it drops all
 * caches, if it does that.
 */
static int evictions;

int
posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	evictions += advice == POSIX_FADV_DONTNEED;
	return syscall(SYS_fadvise64, fd, offset, length, advice) == 0 ? 0 : errno;
}

TEST(database_is_cold_only_if_that_was_asked)
{
	struct nb_engine engine = filing();
	begin(NB_VERB_PUT);
	if (can_be_cold()) {
		execute(NB_VERB_PUT, 0, &engine);
		const struct measurement *get = execute(NB_VERB_GET, 0, &engine);
		ck_assert_uint_eq(get->cold, COLD_NOT);
		ck_assert_int_eq(evictions, 0);
		ck_assert(share(&get->residency_before) > 0.5);
		for (int i = 0; i < 2; i++) {
			does_read = i == 1;
			get = execute(NB_VERB_GET, NB_RUN_COLD, &engine);
			ck_assert_int_eq(evictions, i + 1);
			ck_assert_uint_eq(get->cold,
				access("/proc/sys/vm/drop_caches", W_OK) == 0 ? COLD_CACHES
									      : COLD_FILES);
			ck_assert(share(&get->residency_before) < 0.05);
			ck_assert((share(&get->residency_begin) > 0.5) == does_read);
		}
	}
	end();
}

TEST(engine_without_persistent_data_is_not_examined)
{
	begin(NB_VERB_GET);
	const struct measurement *get = execute(NB_VERB_GET, NB_RUN_COLD, NULL);
	ck_assert_uint_eq(get->cold, COLD_NOT);
	ck_assert_uint_eq(get->residency_before.is_known, 0);
	ck_assert_uint_eq(get->residency_begin.is_known, 0);
	ck_assert_uint_eq(get->residency_after.is_known, 0);
	end();
}

TEST(run_that_cannot_be_cold_is_refused_before_the_open)
{
	struct nb_engine engine = filing();
	struct statfs fs;
	if (statfs("/dev/shm", &fs) != 0 || fs.f_type != 0x01021994) {
		puts("# skipped: /dev/shm is not a tmpfs");
		return;
	}
	begin(NB_VERB_PUT);
	char path[64];
	snprintf(path, sizeof(path), "/dev/shm/mininb-cold.%d", (int)getpid());
	rig.options.path = path;
	rig.options.flags = NB_RUN_COLD;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_UNSUPPORTED); /* not cold to read back */
	rig_assert_told("can never be cold; use a --path on a device");
	ck_assert(!rig.run->measured.has_begun);
	execute(NB_VERB_PUT, 0, &engine);
	rig.options.flags = NB_RUN_COLD;
	rig.workload.verb = NB_VERB_GET;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_UNSUPPORTED);
	rig_assert_told("can never be cold; use a --path on a device");
	ck_assert(!rig.run->measured.has_begun);
	end();
}

/** A run that reads all records has most pages of the files in memory at its end. */
static void
check_engine(const char *driver)
{
	begin(NB_VERB_PUT);
	if (has_engine(driver, can_be_cold())) {
		rig.workload.value_size = 4000;
		execute(NB_VERB_PUT, NB_RUN_FRESH, NULL);
		const struct measurement *get = execute(NB_VERB_GET, NB_RUN_COLD, NULL);
		ck_assert_uint_eq(get->answers[NB_OK], COUNT);
		ck_assert_uint_ge(get->residency_before.total_bytes, COUNT * 2000);
		ck_assert(share(&get->residency_before) < 0.05);
		ck_assert(share(&get->residency_begin) <= share(&get->residency_after));
		ck_assert(share(&get->residency_after) > 0.5);
	}
	end();
}

TEST(leveldb_is_cold_and_then_read)
{
	check_engine("leveldb");
}

TEST(lmdb_is_cold_and_then_read)
{
	check_engine("lmdb");
}

static const char job_text[] = "[workload]\nrecords = 1000\nvalue-size = 4000\n"
			       "[run]\ncount = 1000\nread = 100\n";

/** Load or run a job on the rig's database; `measured` is of the whole run. */
static void
execute_job(const struct nb_job *job, uint32_t what, uint32_t procs, uint32_t flags,
	struct measurement *measured)
{
	struct nb_run *run;
	struct nb_run_options options = NB_RUN_OPTIONS_INIT;
	options.job = job;
	options.driver = rig.options.driver;
	options.path = rig.options.path;
	options.clock = NB_CLOCK_MONOTONIC;
	options.what = what;
	options.procs = procs;
	options.flags = flags;
	ck_assert_msg(nb_run_new(&run, &options) == NB_OK, "%s", nb_error_text());
	ck_assert_msg(nb_run_execute(run) == NB_OK, "%s", nb_error_text());
	*measured = run->measured; /* the test reads only plain members */
	nb_run_delete(run);
}

TEST(jobs_are_cold_in_one_process_and_in_several)
{
	struct measurement measured;
	begin(NB_VERB_GET);
	if (has_engine("lmdb", can_be_cold())) {
		struct nb_job *job;
		char path[128];
		snprintf(path, sizeof(path), "%s/my.ini", rig.dir);
		file_put(path, job_text, sizeof(job_text) - 1);
		ck_assert_msg(nb_job_read(&job, path) == NB_OK, "%s", nb_error_text());
		execute_job(job, NB_JOB_LOAD, 1, NB_RUN_COLD, &measured);
		ck_assert_uint_eq(measured.cold, COLD_NOT);
		ck_assert(share(&measured.residency_after) > 0.5);
		for (uint32_t procs = 1; procs <= 2; procs++) {
			execute_job(job, NB_JOB_RUN, procs, NB_RUN_COLD, &measured);
			ck_assert_uint_ne(measured.cold, COLD_NOT);
			ck_assert(share(&measured.residency_before) < 0.05);
			ck_assert(share(&measured.residency_begin) < 0.5);
			ck_assert(share(&measured.residency_after) > 0.5);
		}
		nb_job_delete(job);
	}
	end();
}
