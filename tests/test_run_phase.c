/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs with several processes, on an engine whose records are in shared memory. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "toy.h"
#include "unit.h"

enum { RECORDS = 512, VALUE_MAX = 128 };

/** The memory shared by all processes. */
static struct ground {
	pthread_mutex_t lock;
	struct {
		size_t size; /* 0: no record */
		uint8_t bytes[VALUE_MAX];
	} records[RECORDS];
	uint64_t gets, puts;      /* atomic */
	uint32_t opens, sessions; /* atomic */
	uint32_t get_us;          /* minimum duration of a get */
	uint64_t die_at, fail_at; /* number of the get that does so; 0: none */
	pid_t pids[16];           /* processes that opened the database */
} * ground;

struct nb_session {
	uint8_t lent[VALUE_MAX];
};

static int
open_shared(struct nb_db **out, const struct nb_open_args *args)
{
	uint32_t nth = __atomic_fetch_add(&ground->opens, 1, __ATOMIC_RELAXED);
	if (nth < 16)
		ground->pids[nth] = getpid();
	*out = (struct nb_db *)(void *)ground;
	return NB_OK;
}

static int
close_shared(struct nb_db *db)
{
	return NB_OK;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	*out = calloc(1, sizeof(**out));
	__atomic_add_fetch(&ground->sessions, 1, __ATOMIC_RELAXED);
	return NB_OK;
}

static int
session_close(struct nb_session *session)
{
	free(session);
	__atomic_sub_fetch(&ground->sessions, 1, __ATOMIC_RELAXED);
	return NB_OK;
}

static size_t
number_of(struct nb_slice key)
{
	const uint8_t *bytes = key.data;
	return (size_t)bytes[6] << 8 | bytes[7];
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	uint64_t nth = __atomic_add_fetch(&ground->gets, 1, __ATOMIC_RELAXED);
	if (nth == ground->die_at)
		kill(getpid(), SIGKILL);
	if (ground->get_us > 0)
		usleep(ground->get_us);
	if (nth == ground->fail_at)
		return error_set(NB_FAIL, "the ground is broken");
	size_t number = number_of(key);
	pthread_mutex_lock(&ground->lock);
	value->size = ground->records[number].size;
	memcpy(session->lent, ground->records[number].bytes, value->size);
	pthread_mutex_unlock(&ground->lock);
	value->data = session->lent;
	return value->size > 0 ? NB_OK : NB_NOT_FOUND;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	__atomic_add_fetch(&ground->puts, 1, __ATOMIC_RELAXED);
	size_t number = number_of(key);
	ck_assert_uint_lt(number, RECORDS);
	ck_assert_uint_le(value.size, VALUE_MAX);
	pthread_mutex_lock(&ground->lock);
	ground->records[number].size = value.size;
	memcpy(ground->records[number].bytes, value.data, value.size);
	pthread_mutex_unlock(&ground->lock);
	return NB_OK;
}

static struct toy_rig rig;

static void
be_shared(void)
{
	struct nb_engine *table = &rig.run->engine->table;
	*table = toy_engine();
	table->caps |= NB_CAP_MULTI_PROCESS;
	table->open = open_shared;
	table->close = close_shared;
	table->session_open = session_open;
	table->session_close = session_close;
	table->get = get;
	table->release = NULL;
	table->put = put;
}

static void
begin(const char *text, uint32_t procs)
{
	pthread_mutexattr_t shared;
	ground = mmap(NULL, sizeof(*ground), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	ck_assert_ptr_ne(ground, MAP_FAILED);
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&ground->lock, &shared);
	toy_create(&rig, text);
	rig.options.what = NB_JOB_LOAD;
	toy_new(&rig);
	be_shared();
	ck_assert_msg(nb_run_execute(rig.run) == NB_OK, "%s", nb_error_text());
	ground->gets = ground->puts = ground->opens = 0;
	rig.options.what = NB_JOB_RUN;
	rig.options.procs = procs;
	toy_new(&rig);
	be_shared();
}

static void
end(void)
{
	/* no child is left */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	toy_destroy(&rig);
	munmap(ground, sizeof(*ground));
}

#define JOB "records = 300\nread = 1\nupdate = 1\nthreads = 2\ncount = 3200\n"

TEST(processes_share_the_operations_and_each_opens_the_database)
{
	begin(JOB, 3);
	ck_assert_msg(nb_run_execute(rig.run) == NB_OK, "%s", nb_error_text());
	const struct job_measurement *measured = toy_measured(&rig, 0);
	ck_assert_uint_eq(measured->thread_count, 6);
	ck_assert_uint_eq(measured->ops, 3200);
	ck_assert_uint_eq(ground->puts, 1600);
	ck_assert_uint_eq(measured->kinds[NB_OP_UPDATE].ops, 1600);
	ck_assert_uint_eq(nb_histogram_count(measured->kinds[NB_OP_READ].service), 1600);
	ck_assert_uint_ge(measured->findings.verified, 1600);
	ck_assert_uint_eq(toy_wrong(&measured->findings), 0);
	for (uint32_t t = 0; t < 6; t++)
		ck_assert_uint_gt(measured->threads[t].ops, 0);
	ck_assert_uint_eq(ground->opens, 4); /* the fourth is the parent's, to settle */
	for (int i = 0; i < 3; i++) {
		ck_assert_int_ne(ground->pids[i], getpid());
		for (int j = 0; j < i; j++)
			ck_assert_int_ne(ground->pids[i], ground->pids[j]);
	}
	ck_assert_int_eq(ground->pids[3], getpid());
	ck_assert_uint_eq(ground->sessions, 0);
	struct rusage used;
	getrusage(RUSAGE_CHILDREN, &used);
	const struct measurement *all = &rig.run->measured;
	ck_assert_uint_ge(all->usage.user_ns + all->usage.system_ns,
		((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * 1000000000 +
			((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) *
				1000);
	ck_assert_uint_ge(all->max_resident_bytes, (uint64_t)used.ru_maxrss * 1024);
	ck_assert(rig.run->engine->table.stats != NULL);
	ck_assert_uint_eq(all->counters.count, 0); /* their scope is unknown */
	end();
}

TEST(the_stream_does_not_depend_on_processes)
{
	uint64_t digests[2];
	for (uint32_t p = 0; p < 2; p++) {
		begin(JOB, 1 + 2 * p);
		digests[p] = rig.run->digest;
		end();
	}
	ck_assert_uint_eq(digests[0], digests[1]);
}

TEST(inserts_of_other_processes_are_waited_for)
{
	begin("records = 100\nread = 1\ninsert = 1\ndistribution = latest\nlag = 64\n"
	      "threads = 2\ncount = 800\n",
		2);
	ck_assert_msg(nb_run_execute(rig.run) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(toy_measured(&rig, 0)->ops, 800);
	ck_assert_uint_eq(toy_wrong(&toy_measured(&rig, 0)->findings), 0);
	end();
}

TEST(all_processes_read_back_all_that_they_have_written)
{
	/* about 50 ms, during which the parent keeps watching */
	begin("records = 512\nupdate = 1\ndistribution = sequential\ncount = 512\n", 2);
	ground->get_us = 100;
	ck_assert_msg(nb_run_execute(rig.run) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(ground->gets, 512);
	ck_assert_uint_eq(toy_measured(&rig, 0)->findings.verified, 512);
	end();
}

TEST(failed_process_ends_all_and_is_reported)
{
	static const struct {
		uint64_t die_at, fail_at;
		const char *told[2];
	} cases[] = {{2000, 0, {"was ended by SIGKILL"}},
		{1, 0, {"was ended by SIGKILL"}}, /* blocks no other process */
		{0, 2000, {"read, operation ", "the ground is broken"}}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		begin("records = 300\nread = 1\nthreads = 2\nduration = 100s\n", 3);
		ground->die_at = cases[c].die_at;
		ground->fail_at = cases[c].fail_at;
		ck_assert_int_eq(nb_run_execute(rig.run), NB_FAIL);
		toy_assert_told("process ");
		for (int i = 0; i < 2 && cases[c].told[i] != NULL; i++)
			toy_assert_told(cases[c].told[i]);
		ck_assert(toy_measured(&rig, 0)->is_partial);
		ck_assert_uint_lt(toy_measured(&rig, 0)->span_ns, UINT64_C(100000000000));
		end();
	}
}

TEST(options_impossible_with_processes_are_refused)
{
	toy_create(&rig, JOB);
	static const struct {
		const char *driver;
		uint32_t procs, what;
		int rc;
		const char *text;
	} cases[] = {{TOY_PLUGIN, 0, NB_JOB_RUN, NB_ERR_USAGE, "procs: must be 1 to 256"},
		{TOY_PLUGIN, 257, NB_JOB_RUN, NB_ERR_USAGE, "procs: must be 1 to 256"},
		{"memory", 2, NB_JOB_RUN, NB_UNSUPPORTED,
			"procs: memory lets one process at a time have a database open"},
		{TOY_PLUGIN, 2, NB_JOB_LOAD, NB_ERR_USAGE,
			"procs: --procs does not apply to load or replay; use --threads"}};
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct nb_run *run;
		rig.options.driver = cases[c].driver;
		rig.options.procs = cases[c].procs;
		rig.options.what = cases[c].what;
		ck_assert_int_eq(nb_run_new(&run, &rig.options), cases[c].rc);
		ck_assert_str_eq(nb_error_text(), cases[c].text);
	}
	toy_destroy(&rig);
}
