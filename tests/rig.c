/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/engine.h"
#include "unit.h"

enum { KEY_SIZE = 16, VALUE_SIZE = 100 };

int rig_opened, rig_closed, rig_sessions;

static void
write_keys(const char *path, uint64_t count)
{
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t words[2] = {i, ~i};
		ck_assert_uint_eq(fwrite(words, KEY_SIZE, 1, file), 1);
	}
	ck_assert_int_eq(fclose(file), 0);
}

void
rig_create(struct rig *rig, uint32_t verb, uint64_t count)
{
	*rig = (struct rig){.dir = "/tmp/mininb-test.XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(rig->dir));
	snprintf(rig->keys, sizeof(rig->keys), "%s/keys", rig->dir);
	snprintf(rig->path, sizeof(rig->path), "%s/nb", rig->dir);
	write_keys(rig->keys, count);
	rig->workload = (struct nb_workload)NB_WORKLOAD_INIT;
	rig->workload.verb = verb;
	rig->workload.keys_path = rig->keys;
	rig->workload.count = count;
	rig->workload.key_size = KEY_SIZE;
	rig->workload.value_size = VALUE_SIZE;
	rig->options = (struct nb_run_options)NB_RUN_OPTIONS_INIT;
	rig->options.workload = &rig->workload;
	rig->options.driver = "memory";
	rig->options.path = rig->path;
	rig->options.clock = NB_CLOCK_MONOTONIC; /* need not be calibrated */
	rig->options.verify_rate = 1;
	rig_opened = rig_closed = rig_sessions = 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)st, (void)type, (void)place;
	return remove(path);
}

void
rig_destroy(struct rig *rig)
{
	nb_run_delete(rig->run);
	nftw(rig->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

uint64_t
rig_number(struct nb_slice key)
{
	uint64_t number;
	ck_assert_uint_eq(key.size, KEY_SIZE);
	memcpy(&number, key.data, sizeof(number));
	return number;
}

const struct nb_engine *
rig_right(void)
{
	return engine_builtin("memory");
}

void
rig_new(struct rig *rig, const struct nb_engine *engine)
{
	nb_run_delete(rig->run);
	rig->run = NULL;
	ck_assert_msg(nb_run_new(&rig->run, &rig->options) == NB_OK, "nb_run_new: %s",
		nb_error_text());
	if (engine != NULL)
		rig->run->engine->table = *engine;
}

int
rig_run(struct rig *rig, const struct nb_engine *engine)
{
	rig_new(rig, engine);
	return nb_run_execute(rig->run);
}

void
rig_assert_told(const char *part)
{
	const char *text = nb_error_text();
	ck_assert_msg(strstr(text, part) != NULL, "'%s' is not said in: %s", part, text);
	ck_assert_msg(strchr(text, '\n') == NULL, "more than one line: %s", text);
}

bool
rig_has(const struct rig *rig, const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	return access(path, F_OK) == 0;
}

static int
open_counted(struct nb_db **out, const struct nb_open_args *args)
{
	int rc = rig_right()->open(out, args);
	rig_opened += rc == NB_OK;
	return rc;
}

static int
close_counted(struct nb_db *db)
{
	ck_assert_int_eq(__atomic_load_n(&rig_sessions, __ATOMIC_RELAXED), 0);
	rig_closed++;
	return rig_right()->close(db);
}

static int
session_open_counted(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	int rc = rig_right()->session_open(out, db, id);
	if (rc == NB_OK)
		__atomic_add_fetch(&rig_sessions, 1, __ATOMIC_RELAXED);
	return rc;
}

static int
session_close_counted(struct nb_session *session)
{
	__atomic_sub_fetch(&rig_sessions, 1, __ATOMIC_RELAXED);
	return rig_right()->session_close(session);
}

struct nb_engine
rig_counting(void)
{
	struct nb_engine engine = *rig_right();
	engine.open = open_counted;
	engine.close = close_counted;
	engine.session_open = session_open_counted;
	engine.session_close = session_close_counted;
	return engine;
}
