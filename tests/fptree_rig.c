/* SPDX-License-Identifier: BSD-2-Clause */
#include "fptree_rig.h"

void
pm_record_store(const void *at, const void *from, size_t size)
{
	racy_meet();
}

void
pm_record_flush(const void *at, size_t size)
{
	racy_meet();
}

void
pm_record_fence(void)
{
	racy_meet();
}

int
rig_try_open(struct rig *rig)
{
	struct nb_open_args to = {.size = sizeof(to),
		.flags = NB_OPEN_CREATE,
		.host = &plugin_host,
		.path = ".",
		.key_size = rig->args.key_size,
		.value_size = rig->args.value_size,
		.sessions = RIG_SESSIONS,
		.durability = NB_DUR_COMMIT};

	rig->args.sessions = RIG_SESSIONS;
	int rc = pool_open(&rig->pool, &to,
		rig->pool_bytes != 0 ? rig->pool_bytes : (uint64_t)RIG_POOL_BYTES);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
	rc = tree_open(&rig->tree, rig->pool, &rig->args);
	if (rc != NB_OK)
		pool_close(rig->pool);
	return rc;
}

void
rig_open(struct rig *rig)
{
	int rc = rig_try_open(rig);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
}

void
rig_close(struct rig *rig)
{
	tree_close(rig->tree);
	ck_assert_int_eq(pool_close(rig->pool), NB_OK);
}

void
rig_reopen(struct rig *rig)
{
	rig_close(rig);
	rig_open(rig);
}

struct nb_session *
rig_session(struct rig *rig, uint32_t id)
{
	struct nb_session *session;
	int rc = tree_session_open(&session, rig->tree, id);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
	return session;
}

void
rig_end_session(struct nb_session *session)
{
	ck_assert_int_eq(tree_session_close(session), NB_OK);
}

void
rig_check(struct rig *rig, int64_t records)
{
	char what[256] = "";
	int64_t found = tree_check(rig->tree, what, sizeof(what));

	ck_assert_msg(found >= 0, "%s", what);
	if (records >= 0)
		ck_assert_int_eq(found, records);
}
