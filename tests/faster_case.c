/* SPDX-License-Identifier: BSD-2-Clause */
#include "faster_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rig rig;
struct nb_session *session;

void
case_begin_at(const struct rig *how, const char *path)
{
	rig = *how;
	ck_assert_msg(rig_try_open(&rig, path) == NB_OK, "%s", host_failure);
	session = rig_session(&rig, 0);
}

void
case_begin(const struct rig *how)
{
	case_begin_at(how, ".");
}

void
case_end(void)
{
	rig_end_session(session);
	rig_close(&rig);
}

int
put_in(struct nb_session *own, uint64_t key, uint64_t value)
{
	return rig_engine->put(
		own, slice_of(&key, sizeof(key)), slice_of(&value, sizeof(value)));
}

int
get_number(uint64_t key, uint64_t *number)
{
	struct nb_slice value;
	int rc = rig_engine->get(session, slice_of(&key, sizeof(key)), &value);

	if (rc == NB_OK)
		memcpy(number, value.data, sizeof(*number));
	return rc;
}

void
put_number(uint64_t key, uint64_t value)
{
	ck_assert_msg(put_in(session, key, value) == NB_OK, "%s", host_failure);
}

uint64_t
number_at(uint64_t key)
{
	uint64_t number = UINT64_MAX;
	int rc = get_number(key, &number);

	ck_assert_msg(rc == NB_OK || rc == NB_NOT_FOUND, "%s", host_failure);
	return number;
}

void
put_many(uint64_t from, uint64_t to, uint64_t more)
{
	for (uint64_t key = from; key < to; key++)
		put_number(key, key + more);
}

void
has_many(uint64_t from, uint64_t to, uint64_t more)
{
	for (uint64_t key = from; key < to; key++)
		ck_assert_uint_eq(number_at(key), key + more);
}

void
flush_log(void)
{
	int rc = rig_engine->flush(rig.db, NB_SETTLE_FLUSH);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
}

void
make_checkpoint(void)
{
	int rc = rig_engine->checkpoint(rig.db);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
}

void
copy_files(const char *to)
{
	char command[128];

	snprintf(command, sizeof(command),
		"rm -rf %s && mkdir %s && for file in log meta index; do "
		"[ ! -e $file ] || cp $file %s; done",
		to, to, to);
	ck_assert_int_eq(system(command), 0);
}

void
is_told(const char *text)
{
	ck_assert_msg(
		strstr(host_failure, text) != NULL, "'%s' is not in: %s", text, host_failure);
}

void
is_loaded(uint64_t keys)
{
	ck_assert_msg(host_logs == 0, "%s", host_logged);
	ck_assert_uint_gt(rig_stat(&rig, "index_loaded"), keys - keys / 100 - 1);
}

void
is_not_loaded(const char *why)
{
	ck_assert_int_eq(host_logs, why != NULL ? 1 : 0);
	ck_assert_msg(why == NULL || strstr(host_logged, why) != NULL, "'%s' is not in: %s",
		why, host_logged);
	ck_assert_uint_eq(rig_stat(&rig, "index_loaded"), 0);
	ck_assert_uint_ge(rig_stat(&rig, "log_replayed") + 2 * RIG_PAGE, rig_stat(&rig, "log"));
	host_logs = 0;
}

void
dropped_a_tail(void)
{
	ck_assert_int_eq(host_logs, 1);
	ck_assert_msg(
		strstr(host_logged, "after its last valid cut") != NULL, "%s", host_logged);
	host_logs = 0;
}
