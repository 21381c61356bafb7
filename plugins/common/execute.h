/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGIN_EXECUTE_H
#define PLUGIN_EXECUTE_H
/**
 * execute and merge for an engine that has transactions. They call the engine's own verbs
 * between its begin and its commit. An adapter keeps a `struct buffer kept` in its session,
 * frees it when the session closes, and writes before its table
 *
 *     static const struct nb_engine engine;
 *     EXECUTE_AND_MERGE(engine, session->txn != NULL)
 *
 * The second argument is true if the host has begun a transaction in the session. The steps
 * then join that transaction, and the host ends it.
 *
 * A get's loan ends with the session's next call or with the transaction, so its value is
 * copied to `kept`. If loans last as long as a read-only transaction, an adapter can call
 * execute_steps() without `kept` and end the transaction in release.
 */
#include "plugin.h"

/** The session that executes, and the verbs of its engine. */
struct executor {
	const struct nb_engine *verbs;
	const struct nb_host *host;
	struct nb_session *session;
	struct buffer *kept; /* NULL: loans last until the transaction ends */
	bool is_begun;       /* the host has begun the transaction */
	/**
	 * Get a key that is written next, for an engine that locks the key at the get. NULL: use
	 * get.
	 */
	int (*get_to_write)(struct nb_session *, struct nb_slice, struct nb_slice *);
};

static inline void
executor_release(const struct executor *by)
{
	if (by->verbs->release != NULL)
		by->verbs->release(by->session);
}

static inline int
step_get(const struct executor *by, struct nb_step *step)
{
	int rc = by->verbs->get(by->session, step->key, &step->value);
	if (rc != NB_OK || by->kept == NULL)
		return rc;
	bool is_kept = buffer_add(by->kept, step->value.data, step->value.size);
	executor_release(by);
	return is_kept ? NB_OK : by->host->fail(NB_FAIL, "out of memory");
}

static inline int
get_to_write(const struct executor *by, struct nb_slice key, struct nb_slice *value)
{
	return by->get_to_write != NULL ? by->get_to_write(by->session, key, value)
					: by->verbs->get(by->session, key, value);
}

/** Decode the value of a counter. Returns NB_OK or a failure. */
static inline int
counter_of(const struct nb_host *host, struct nb_slice value, uint64_t *counter)
{
	if (value.size != sizeof(*counter))
		return host->fail(
			NB_FAIL, "merge: the value has %zu bytes, a counter has 8", value.size);
	memcpy(counter, value.data, sizeof(*counter));
	return NB_OK;
}

static inline int
step_merge(const struct executor *by, const struct nb_step *step)
{
	struct nb_slice value;
	uint64_t counter = 0;
	int rc = get_to_write(by, step->key, &value);
	if (rc == NB_OK) {
		rc = counter_of(by->host, value, &counter);
		executor_release(by);
	}
	if (rc != NB_OK && rc != NB_NOT_FOUND)
		return rc;
	counter += step->operand;
	value = (struct nb_slice){&counter, sizeof(counter)};
	return by->verbs->put(by->session, step->key, value);
}

/** Read the age of a value, at byte `at`. Returns false if the value is too short. */
static inline bool
age_of(struct nb_slice value, uint64_t at, int64_t *age)
{
	if (value.size < sizeof(*age) || at > value.size - sizeof(*age))
		return false;
	memcpy(age, (const char *)value.data + at, sizeof(*age));
	return true;
}

static inline int
step_put_if_newer(const struct executor *by, const struct nb_step *step)
{
	struct nb_slice stored;
	int64_t old_age, age;
	int rc = get_to_write(by, step->key, &stored);
	if (rc != NB_OK)
		return rc;
	bool have_ages = age_of(stored, step->operand, &old_age) &&
		age_of(step->value, step->operand, &age);
	executor_release(by);
	if (!have_ages)
		return by->host->fail(NB_FAIL,
			"put-if-newer: a value ends before its age, 8 bytes at byte %llu",
			(unsigned long long)step->operand);
	return age > old_age ? by->verbs->put(by->session, step->key, step->value) : NB_EXISTS;
}

static inline bool
begins_with(struct nb_slice key, struct nb_slice prefix)
{
	return key.size >= prefix.size &&
		memcmp(address(key), address(prefix), prefix.size) == 0;
}

/** Whether a key that begins with the step's key counts for NB_STEP_PREFIX_EMPTY. */
static inline bool
counts_for(const struct nb_step *step, struct nb_slice key)
{
	uint64_t last = key.size > 0 ? ((const unsigned char *)key.data)[key.size - 1] : 64;
	return step->operand == 0 ||
		(key.size > step->key.size && last < 64 && (step->operand >> last & 1) != 0);
}

static inline int
step_prefix_empty(const struct executor *by, const struct nb_step *step)
{
	const struct nb_scan_args args = {.size = sizeof(args),
		.flags = NB_SCAN_KEYS_ONLY,
		.from = step->key,
		.limit = step->operand == 0};
	struct nb_slice key, value;
	if ((by->verbs->caps & NB_CAP_ORDERED) == 0)
		return by->host->fail(NB_UNSUPPORTED, "keys have no order to find a prefix by");
	int rc = by->verbs->scan_open(by->session, &args);
	if (rc != NB_OK)
		return rc;
	do
		rc = by->verbs->scan_next(by->session, &key, &value);
	while (rc == NB_OK && begins_with(key, step->key) && !counts_for(step, key));
	if (rc == NB_OK && begins_with(key, step->key))
		rc = NB_EXISTS;
	else if (rc == NB_NOT_FOUND)
		rc = NB_OK;
	int closed = by->verbs->scan_close(by->session);
	return closed == NB_OK ? rc : closed;
}

static inline int
execute_step(const struct executor *by, struct nb_step *step)
{
	switch (step->verb) {
	case NB_STEP_GET:
		return step_get(by, step);
	case NB_STEP_PUT:
		return by->verbs->put(by->session, step->key, step->value);
	case NB_STEP_DEL:
		return by->verbs->del(by->session, step->key);
	case NB_STEP_INSERT:
		return by->verbs->insert(by->session, step->key, step->value);
	case NB_STEP_MERGE:
		return step_merge(by, step);
	case NB_STEP_PUT_IF_NEWER:
		return step_put_if_newer(by, step);
	case NB_STEP_PREFIX_EMPTY:
		return step_prefix_empty(by, step);
	default:
		return by->host->fail(NB_UNSUPPORTED, "unknown step %u", step->verb);
	}
}

/** Execute the steps in the open transaction. Returns NB_OK, NB_CONFLICT or a failure. */
static inline int
execute_steps(const struct executor *by, struct nb_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int rc = steps[i].answer = execute_step(by, &steps[i]);
		if (rc < 0 || rc == NB_CONFLICT)
			return rc;
		uint32_t skips = rc == NB_OK ? 0 : steps[i].skips;
		for (; skips > 0 && i + 1 < count; skips--)
			steps[++i].answer = NB_EXISTS;
	}
	return NB_OK;
}

static inline bool
is_lent(const struct nb_step *step)
{
	return step->verb == NB_STEP_GET && step->answer == NB_OK;
}

static inline bool
have_loans(const struct nb_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_lent(&steps[i]))
			return true;
	return false;
}

/**
 * Set the addresses of the lent values, which `kept` holds in the order of the steps. Call
 * it after the last step: `kept` may move when it grows.
 */
static inline void
lend_kept(const struct buffer *kept, struct nb_step *steps, size_t count)
{
	const char *at = kept->data;
	for (size_t i = 0; i < count; i++)
		if (is_lent(&steps[i])) {
			steps[i].value.data = at;
			at += steps[i].value.size;
		}
}

static inline int
check_flags(const struct nb_host *host, uint32_t flags)
{
	const uint32_t known = NB_EXEC_ATOMIC | NB_EXEC_SNAPSHOT | NB_EXEC_READ_ONLY;
	return (flags & ~known) == 0
		? NB_OK
		: host->fail(NB_UNSUPPORTED, "execute: unknown flag 0x%x", flags & ~known);
}

static inline int
execute_by(const struct executor *by, struct nb_step *steps, size_t count, uint32_t flags)
{
	const struct nb_engine *verbs = by->verbs;
	uint32_t txn_flags = (flags & NB_EXEC_READ_ONLY) != 0 ? NB_TXN_READ_ONLY : 0;
	if ((flags & NB_EXEC_SNAPSHOT) != 0 &&
		(verbs->caps & (NB_CAP_SNAPSHOT | NB_CAP_SERIALIZABLE)) == 0)
		return by->host->fail(NB_UNSUPPORTED,
			"a transaction may read more than one version of the data");
	int rc = check_flags(by->host, flags);
	if (rc == NB_OK && !by->is_begun)
		rc = verbs->begin(by->session, txn_flags);
	if (rc != NB_OK)
		return rc;
	by->kept->size = 0;
	rc = execute_steps(by, steps, count);
	if (!by->is_begun && rc == NB_OK)
		rc = verbs->commit(by->session);
	else if (!by->is_begun)
		verbs->abort(by->session);
	if (rc == NB_OK)
		lend_kept(by->kept, steps, count);
	return rc;
}

static inline int
merge_by(const struct executor *by, struct nb_slice key, uint32_t how, uint64_t operand)
{
	struct nb_step step = {.verb = NB_STEP_MERGE, .key = key, .operand = operand};
	if (how != NB_MERGE_ADD_U64)
		return by->host->fail(NB_UNSUPPORTED, "unknown kind of merge %u", how);
	return execute_by(by, &step, 1, NB_EXEC_ATOMIC);
}

/** The executor of `session`, with the verbs of `table`. */
#define EXECUTOR(table, is_in_txn) \
	(&(const struct executor){.verbs = &(table), \
		.host = session->db->host, \
		.session = session, \
		.kept = &session->kept, \
		.is_begun = (is_in_txn)})

#define MERGE_BY_TXN(table, is_in_txn) \
	static int merge(struct nb_session *session, struct nb_slice key, uint32_t how, \
		uint64_t operand) \
	{ \
		return merge_by(EXECUTOR(table, is_in_txn), key, how, operand); \
	}

#define EXECUTE_BY_TXN(table, is_in_txn) \
	static int execute(struct nb_session *session, struct nb_step *steps, size_t count, \
		uint32_t flags) \
	{ \
		return execute_by(EXECUTOR(table, is_in_txn), steps, count, flags); \
	}

/* For the engine's table. */
#define ENGINE_EXECUTE .execute = execute, .merge = merge
#define EXECUTE_AND_MERGE(table, is_in_txn) \
	EXECUTE_BY_TXN(table, is_in_txn) \
	MERGE_BY_TXN(table, is_in_txn)

#endif /* PLUGIN_EXECUTE_H */
