/* SPDX-License-Identifier: BSD-2-Clause */
#include "crash_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run/engine.h"
#include "scratch.h"
#include "unit.h"

struct crash_rig_told told;

struct nb_crash_tally rig_tally;

static struct nb_engine_ref *ref;
static struct nb_option_value *values;

void
crash_rig_forget(void)
{
	memset(&told, 0, sizeof(told));
}

static void
take(void *to, const struct nb_crash_finding *finding)
{
	if (told.count++ > 0)
		return;
	told.wrong = finding->wrong;
	told.is_broken = finding->is_broken;
	snprintf(told.text, sizeof(told.text), "%s", finding->text);
	snprintf(told.when, sizeof(told.when), "%s", finding->when);
	snprintf(
		told.kept, sizeof(told.kept), "%s", finding->kept != NULL ? finding->kept : "");
}

void
crash_rig_fresh(void)
{
	char name[16];
	snprintf(name, sizeof(name), "%d",
		(int)getpid()); /* each test runs in its own process */
	scratch_fresh(name);
}

void
crash_rig_unload(void)
{
	if (ref == NULL)
		return;
	nb_options_delete(values, nb_engine_table(ref));
	nb_engine_unload(ref);
	ref = NULL;
}

void
crash_rig_load(const char *plugin, const char *name, const char *value)
{
	char driver[512], option[64];
	const char *options[] = {option};
	crash_rig_unload();
	snprintf(driver, sizeof(driver), "%s/%s.so", getenv("MININB_TEST_PLUGINS"), plugin);
	snprintf(option, sizeof(option), "%s=%s", name, value);
	ck_assert_int_eq(nb_engine_load(&ref, driver), 0);
	ck_assert_int_eq(nb_engine_configure(&values, ref, options, 1), 0);
}

const struct nb_engine *
crash_rig_engine(void)
{
	return nb_engine_table(ref);
}

struct nb_crash_args
crash_rig_args(uint32_t durability)
{
	struct nb_crash_args args = NB_CRASH_ARGS_INIT;
	args.engine = crash_rig_engine();
	args.options = values;
	args.driver = args.engine->name;
	args.durability = durability;
	args.scratch = ".";
	args.report = take;
	return args;
}

int
crash_rig_call(const struct nb_crash_args *args)
{
	nb_crash_tally_clear(&rig_tally);
	crash_rig_forget();
	return nb_crash(&rig_tally, args);
}

int
crash_rig_again(const struct nb_crash_args *args, const char *path)
{
	nb_crash_tally_clear(&rig_tally);
	crash_rig_forget();
	return nb_crash_again(&rig_tally, args, path);
}

/* ---- a chain ---- */

enum { SESSIONS = 2, KEYS = 40 };

void
crash_rig_begin(struct crash_rig_chain *chain, const char *path)
{
	*chain = (struct crash_rig_chain){.path = path,
		.subject = {.engine = crash_rig_engine(),
			.options = values,
			.durability = NB_DUR_PROCESS,
			.how = NB_CRASH_KILL,
			.timeout_ns = 60 * UINT64_C(1000000000)}};
	crash_plan_create(&chain->plan, crash_rig_engine(), SESSIONS, 7);
	chain->plan.keys = KEYS; /* few, so that most keys are written more than once */
	ck_assert_int_eq(crash_oracle_create(&chain->state, &chain->plan), NB_OK);
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

void
crash_rig_end(struct crash_rig_chain *chain)
{
	crash_oracle_destroy(&chain->state);
}

static struct nb_session *
open_chain(const struct crash_rig_chain *chain, struct nb_db **db)
{
	struct nb_session *session;
	struct nb_open_args args = crash_open_args(
		&chain->subject, chain->path, 1, NB_OPEN_CREATE);
	ck_assert_int_eq(crash_rig_engine()->open(db, &args), NB_OK);
	ck_assert_int_eq(crash_rig_engine()->session_open(&session, *db, 0), NB_OK);
	return session;
}

static void
close_chain(struct nb_session *session, struct nb_db *db)
{
	ck_assert_int_eq(crash_rig_engine()->session_close(session), NB_OK);
	ck_assert_int_eq(crash_rig_engine()->close(db), NB_OK);
}

static void
put_or_delete(struct nb_session *session, struct nb_slice key, const struct nb_slice *value)
{
	const struct nb_engine *engine = crash_rig_engine();
	int rc = value != NULL ? engine->put(session, key, *value) : engine->del(session, key);
	ck_assert_int_eq(rc, NB_OK);
}

static void
do_operation(
	struct nb_session *session, const struct crash_plan *plan, uint32_t s, uint64_t number)
{
	static unsigned char key[CRASH_KEY_MAX], bytes[CRASH_VALUE_MAX];
	struct crash_op op;
	crash_op_make(&op, plan, s, number);
	for (uint32_t i = 0; i < op.count; i++) {
		struct nb_slice name = {.data = key}, value = {.data = bytes};
		name.size = crash_key_make(key, plan, s, op.writes[i].key);
		value.size = crash_value_make(bytes, plan, s, crash_write_number(number, i));
		put_or_delete(session, name, op.writes[i].is_delete ? NULL : &value);
	}
}

void
crash_rig_round(struct crash_rig_chain *chain, uint64_t ops)
{
	struct nb_db *db;
	struct nb_session *session = open_chain(chain, &db);
	for (uint32_t s = 0; s < SESSIONS; s++) {
		uint64_t start = chain->moment.acked[s];
		for (uint32_t key = 0; key < KEYS; key++)
			chain->state.last[(size_t)s * KEYS + key] = crash_rig_last(
				&chain->plan, s, key, start);
		for (uint64_t i = start; i < start + ops; i++)
			do_operation(session, &chain->plan, s, i);
		chain->state.start[s] = start;
		chain->moment.acked[s] = chain->moment.begun[s] = start + ops;
	}
	chain->moment.is_made = 1;
	close_chain(session, db);
}

uint64_t
crash_rig_last(const struct crash_plan *plan, uint32_t session, uint32_t index, uint64_t ops)
{
	struct crash_op op;
	uint64_t last = 0;
	for (uint64_t i = 0; i < ops; i++) {
		crash_op_make(&op, plan, session, i);
		for (uint32_t k = 0; k < op.count; k++)
			if (op.writes[k].key == index)
				last = op.writes[k].is_delete ? 0 : crash_write_number(i, k);
	}
	return last;
}

uint64_t
crash_rig_writes(const struct crash_plan *plan, uint64_t from, uint64_t to)
{
	struct crash_op op;
	uint64_t count = 0;
	for (uint32_t s = 0; s < plan->sessions; s++)
		for (uint64_t i = from; i < to; i++) {
			crash_op_make(&op, plan, s, i);
			count += op.count;
		}
	return count;
}

void
crash_rig_tamper(
	const struct crash_rig_chain *chain, struct nb_slice key, const struct nb_slice *value)
{
	struct nb_db *db;
	struct nb_session *session = open_chain(chain, &db);
	put_or_delete(session, key, value);
	close_chain(session, db);
}
