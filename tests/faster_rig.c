/* SPDX-License-Identifier: BSD-2-Clause */
#include "faster_rig.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "faster_faults.h"
#undef pwrite
#undef pread
#undef fdatasync

struct rig_fault rig_faults[RIG_CALLS];

const struct nb_engine *
faster_engine_plugin(void);
const struct nb_engine *rig_engine;

__attribute__((constructor)) static void
find_engine(void)
{
	rig_engine = faster_engine_plugin();
}

/* ---- faults: file.c calls these functions ---- */

static bool
is_faulty(enum rig_call call)
{
	struct rig_fault *fault = &rig_faults[call];

	if (fault->error == 0 || __atomic_fetch_sub(&fault->after, 1, __ATOMIC_RELAXED) > 0)
		return false;
	errno = fault->error;
	return true;
}

static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;

void
rig_hold_reads(void)
{
	pthread_mutex_lock(&hold);
}

void
rig_release_reads(void)
{
	pthread_mutex_unlock(&hold);
}

static size_t
shortened(enum rig_call call, size_t size)
{
	size_t most = rig_faults[call].shortest;
	return most != 0 && most < size ? most : size;
}

ssize_t
rig_pwrite(int fd, const void *data, size_t size, off_t offset)
{
	return is_faulty(RIG_WRITE) ? -1 : pwrite(fd, data, shortened(RIG_WRITE, size), offset);
}

ssize_t
rig_pread(int fd, void *data, size_t size, off_t offset)
{
	pthread_mutex_lock(&hold);
	pthread_mutex_unlock(&hold);
	return is_faulty(RIG_READ) ? -1 : pread(fd, data, shortened(RIG_READ, size), offset);
}

int
rig_fdatasync(int fd)
{
	return is_faulty(RIG_SYNC) ? -1 : fdatasync(fd);
}

/* ---- moments ---- */

enum { MOMENT_FREE, MOMENT_ARMED, MOMENT_HELD, MOMENT_DEADLY };
static int moments[MOMENTS]; /* atomic */

void
moment_reached(enum moment moment)
{
	int expected = MOMENT_ARMED;

	racy_meet();
	if (!__atomic_compare_exchange_n(&moments[moment], &expected, MOMENT_HELD, false,
		    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		if (expected == MOMENT_DEADLY)
			_exit(0);
		return;
	}
	while (rig_is_held(moment))
		usleep(100);
}

void
rig_hold(enum moment moment)
{
	__atomic_store_n(&moments[moment], MOMENT_ARMED, __ATOMIC_SEQ_CST);
}

bool
rig_is_held(enum moment moment)
{
	return __atomic_load_n(&moments[moment], __ATOMIC_SEQ_CST) == MOMENT_HELD;
}

void
rig_await_held(enum moment moment)
{
	while (!rig_is_held(moment))
		usleep(100);
}

void
rig_let_go(enum moment moment)
{
	__atomic_store_n(&moments[moment], MOMENT_FREE, __ATOMIC_SEQ_CST);
}

void
rig_die_at(enum moment moment)
{
	__atomic_store_n(&moments[moment], MOMENT_DEADLY, __ATOMIC_SEQ_CST);
}

/* ---- the database ---- */

enum { OPTIONS_MAX = 32 };

static uint64_t
default_of(const struct rig *rig, const char *name, bool *is_set)
{
	*is_set = true;
	for (size_t i = 0; i < UNIT_COUNT(rig->names); i++)
		if (rig->names[i] != NULL && strcmp(rig->names[i], name) == 0)
			return rig->values[i];
	if (strcmp(name, "page_size") == 0 || strcmp(name, "index_size") == 0)
		return RIG_PAGE;
	if (strcmp(name, "log_pages") == 0)
		return 8;
	if (strcmp(name, "sync_interval") == 0)
		return 1000000000;
	*is_set = strcmp(name, "reads") == 0 || strcmp(name, "direct") == 0;
	return 0;
}

int
rig_try_open(struct rig *rig, const char *path)
{
	static struct nb_option_value values[OPTIONS_MAX];

	for (size_t i = 0; rig_engine->options[i].name != NULL; i++) {
		const struct nb_option *option = &rig_engine->options[i];
		bool is_set;

		ck_assert_uint_lt(i, OPTIONS_MAX);
		values[i].u64 = default_of(rig, option->name, &is_set);
		if (option->type == NB_OPT_REAL && option->def != NULL)
			values[i].real = strtod(option->def, NULL);
		values[i].is_set = is_set || option->def != NULL;
		if (strcmp(option->name, "log_dir") == 0) {
			values[i].text = rig->log_dir;
			values[i].is_set = rig->log_dir != NULL;
		}
	}
	struct nb_open_args to = {.size = sizeof(to),
		.flags = NB_OPEN_CREATE,
		.host = &plugin_host,
		.path = path,
		.options = values,
		.key_size = 8,
		.value_size = 8,
		.sessions = RIG_SESSIONS,
		.inflight_ops = rig->inflight,
		.durability = rig->durability};
	return rig_engine->open(&rig->db, &to);
}

void
rig_open(struct rig *rig)
{
	int rc = rig_try_open(rig, ".");
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
}

void
rig_close(struct rig *rig)
{
	int rc = rig_engine->close(rig->db);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
}

struct nb_session *
rig_session(struct rig *rig, uint32_t id)
{
	struct nb_session *session;
	int rc = rig_engine->session_open(&session, rig->db, id);

	ck_assert_msg(rc == NB_OK, "%s", host_failure);
	return session;
}

void
rig_end_session(struct nb_session *session)
{
	ck_assert_int_eq(rig_engine->session_close(session), NB_OK);
}

struct wanted_stat {
	const char *name;
	uint64_t value;
	bool is_found;
};

static void
take_stat(void *to, const char *name, const char *unit, uint32_t kind, uint64_t value)
{
	struct wanted_stat *wanted = to;

	(void)unit;
	(void)kind;
	if (strcmp(name, wanted->name) == 0)
		*wanted = (struct wanted_stat){name, value, true};
}

uint64_t
rig_stat(struct rig *rig, const char *name)
{
	struct wanted_stat wanted = {.name = name};

	rig_engine->stats(rig->db, take_stat, &wanted);
	ck_assert_msg(wanted.is_found, "no counter %s", name);
	return wanted.value;
}

void
rig_await(struct rig *rig, const char *name)
{
	while (rig_stat(rig, name) == 0)
		usleep(1000);
}

struct nb_slice
rig_value(uint8_t *room, size_t size, uint64_t mark)
{
	rig_fill(room, size, mark);
	return slice_of(room, size);
}
