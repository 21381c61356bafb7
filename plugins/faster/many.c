/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * multi_get: many gets in one call, in groups. The cache misses of a group overlap as in
 * requests.c. Its reads of storage are in flight at the same time.
 */
#include "store.h"

enum { GROUP = REQUESTS_GROUP };

/* The value moves if the buffer grows, so *value contains its offset until all gets are done. */
static int
keep_value(struct nb_session *session, const struct op *op, struct nb_slice *value)
{
	struct buffer *many = &session->many;
	size_t at = many->size, size = op->found.size;

	if (!buffer_reserve(many, at + padded(size)))
		return session->db->host->fail(NB_FAIL, "out of memory");
	if (op->found.data == &op->word)
		memcpy(many->data + at, &op->word, sizeof(op->word));
	many->size = at + padded(size);
	*value = (struct nb_slice){(const void *)(uintptr_t)at, size};
	return NB_OK;
}

/* Wait for the reads of a group, and finish its gets. */
static int
finish_group(struct nb_session *session, struct op **waiting, size_t count,
	struct nb_slice **values, int32_t **answers)
{
	int failed = NB_OK;

	for (size_t i = 0; i < count; i++) {
		struct op *op = waiting[i];
		int rc = OP_READ;

		while (rc == OP_READ) {
			rc = op->is_waiting ? requests_wait_for(session, op) : NB_OK;
			op->is_waiting = false;
			if (rc == NB_OK)
				rc = op_resume(session, op);
			if (rc == OP_READ && op_start_read(session, op) == NB_OK)
				op->is_waiting = true;
			else if (rc == OP_READ)
				rc = NB_FAIL;
		}
		if (rc == NB_OK)
			rc = keep_value(session, op, values[i]);
		*answers[i] = rc;
		failed = rc < 0 ? rc : failed;
	}
	return failed;
}

static int
get_group(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	struct op *group[GROUP], *waiting[GROUP];
	struct nb_slice *values_of[GROUP];
	int32_t *answers_of[GROUP];
	size_t waits = 0;
	int rc = NB_OK;

	epoch_enter(session->epoch);
	for (size_t i = 0; i < count; i++) {
		struct op *op = group[i] = &session->wide[i];

		op->verb = NB_REQ_GET;
		op->key = key_of(keys[i].data, keys[i].size);
		op->to = &session->many;
		op->flush_to = 0;
		op->is_waiting = false;
		index_prefetch(session->index, op->key.hash);
	}
	for (size_t i = 0; i < count; i++)
		session->quick->fetch(session, group[i]->key.hash);
	epoch_exit(session->epoch);
	for (size_t i = 0; i < count && rc >= 0; i++) {
		rc = QUICK_NOT;
		if (group[i]->key.size == sizeof(group[i]->key.word))
			rc = op_try_quickly(session, group[i]);
		if (__builtin_expect(rc == QUICK_NOT, 0))
			rc = op_try(session, group[i]);
		if (rc == NB_OK)
			rc = keep_value(session, group[i], &values[i]);
		answers[i] = rc;
		if (rc != OP_READ)
			continue;
		rc = op_start_read(session, group[i]);
		group[i]->is_waiting = rc == NB_OK;
		waiting[waits] = group[i];
		values_of[waits] = &values[i];
		answers_of[waits++] = &answers[i];
	}
	int late = finish_group(session, waiting, waits, values_of, answers_of);
	return rc < 0 ? rc : late;
}

int
requests_multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	if (session->wide == NULL)
		session->wide = calloc(GROUP, sizeof(*session->wide));
	if (session->wide == NULL)
		return session->db->host->fail(NB_FAIL, "out of memory");
	session->many.size = 0;
	for (size_t at = 0; at < count; at += GROUP) {
		size_t some = count - at < GROUP ? count - at : GROUP;
		int rc = get_group(session, keys + at, some, values + at, answers + at);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < count; i++)
		if (answers[i] == NB_OK)
			values[i].data = session->many.data + (uintptr_t)values[i].data;
	return NB_OK;
}
