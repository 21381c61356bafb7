/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions are optimistic (H. T. Kung, J. T. Robinson, TODS 6(2), 1981): a session holds
 * no lock outside a call. begin opens a snapshot for all reads. Writes stay in the session's
 * own list. commit, under the lock, checks whether anything that the transaction has read
 * was written since. If not, it stores the writes under one stamp. So the transaction seems
 * to happen at its commit, or at its begin if it has written nothing.
 *
 * A read is recorded as a range of keys, a scan as the range that it has read. A range has
 * changed if it contains a version, or a tombstone, newer than the snapshot. None of these
 * is freed while the snapshot is open. So phantoms are conflicts as well, and so is a key
 * that was added and removed. Blind writes do not conflict.
 *
 * execute is a transaction that holds the lock from its first to its last step. It reads the
 * newest versions and never conflicts. It also collects its writes, so that a failing step
 * changes nothing.
 */
#include "../common/execute.h"
#include "internal.h"

static int
write_new(
	struct nb_session *session, struct nb_slice key, struct nb_slice value, bool is_deleted)
{
	struct txn *txn = &session->txn;
	if (txn->is_read_only)
		return session->db->host->fail(
			NB_FAIL, "memory: a write in a read-only transaction");
	if (txn->writes == NULL)
		txn->writes = list_new();
	if (txn->writes == NULL)
		return memory_out_of_memory(session, "a transaction", sizeof(*txn->writes));
	struct node *node = node_new(&session->random, key, value, is_deleted);
	if (node == NULL)
		return memory_out_of_memory(session, "a record", key.size + value.size);
	list_store(txn->writes, node);
	return NB_OK;
}

static const struct node *
written(const struct txn *txn, struct nb_slice key)
{
	const struct node *node = txn->writes == NULL ? NULL
						      : list_find(txn->writes, key, NULL);
	return node_is_of(node, key) ? node : NULL;
}

int
txn_read(struct nb_session *session, struct nb_slice low, struct nb_slice high)
{
	struct txn *txn = &session->txn;
	if (txn->is_locked || txn->is_read_only)
		return NB_OK;
	struct range *range = malloc(sizeof(*range) + low.size + high.size);
	if (range == NULL)
		return memory_out_of_memory(session, "keys", low.size + high.size);
	*range = (struct range){
		.next = txn->reads, .low_size = low.size, .high_size = high.size};
	memcpy(range->bytes, address(low), low.size);
	memcpy(range->bytes + low.size, address(high), high.size);
	txn->reads = range;
	return NB_OK;
}

static struct node *
stored(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	if (!session->txn.is_locked)
		pthread_rwlock_rdlock(&db->lock);
	struct node *node = list_find(db->map.head, key, NULL);
	node = node_is_of(node, key) ? versions_visible(node, session->txn.snapshot.stamp)
				     : NULL;
	if (!session->txn.is_locked)
		pthread_rwlock_unlock(&db->lock);
	return node; /* it remains because the snapshot can see it */
}

/*
 * Find the version of the key that the transaction sees, NULL if none. Returns NB_OK or a
 * failure.
 */
static int
look_up(struct nb_session *session, struct nb_slice key, const struct node **seen)
{
	const struct node *own = written(&session->txn, key);
	int rc = own != NULL ? NB_OK : txn_read(session, key, key);
	if (rc != NB_OK)
		return rc;
	*seen = own == NULL ? stored(session, key) : own->is_deleted ? NULL : own;
	return NB_OK;
}

int
txn_get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	const struct node *node;
	int rc = look_up(session, key, &node);
	return rc == NB_OK ? memory_lend(session, node, value) : rc;
}

int
txn_put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return write_new(session, key, value, false);
}

int
txn_insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	const struct node *node;
	int rc = look_up(session, key, &node);
	if (rc != NB_OK)
		return rc;
	return node == NULL ? write_new(session, key, value, false) : NB_EXISTS;
}

int
txn_del(struct nb_session *session, struct nb_slice key)
{
	const struct node *node;
	int rc = look_up(session, key, &node);
	if (rc != NB_OK)
		return rc;
	return node != NULL ? write_new(session, key, (struct nb_slice){0}, true)
			    : NB_NOT_FOUND;
}

/* --- begin and commit --- */

int
memory_begin(struct nb_session *session, uint32_t flags)
{
	struct nb_db *db = session->db;
	struct txn *txn = &session->txn;
	if (txn->is_open)
		return db->host->fail(NB_FAIL, "memory: the session is in a transaction");
	txn->is_open = true;
	txn->is_read_only = (flags & NB_TXN_READ_ONLY) != 0;
	pthread_rwlock_wrlock(&db->lock);
	versions_snapshot(&db->map, &txn->snapshot);
	pthread_rwlock_unlock(&db->lock);
	return NB_OK;
}

static bool
have_changed(const struct versions *map, const struct range *range, uint64_t stamp)
{
	struct nb_slice low = {range->bytes, range->low_size};
	struct nb_slice high = {range->bytes + range->low_size, range->high_size};
	const struct node *node = low.size == 0 ? map->head->next[0]
						: list_find(map->head, low, NULL);
	while (node != NULL && (high.size == 0 || node_compare(node, high) <= 0)) {
		if (node->stamp > stamp)
			return true;
		node = node->next[0];
	}
	return false;
}

static bool
may_commit(const struct nb_session *session)
{
	const struct txn *txn = &session->txn;
	for (const struct range *range = txn->reads; range != NULL; range = range->next)
		if (have_changed(&session->db->map, range, txn->snapshot.stamp))
			return false;
	return true;
}

static bool
has_written(const struct txn *txn)
{
	return txn->writes != NULL && txn->writes->next[0] != NULL;
}

/* Move the collected writes to the database. The caller holds its lock. It cannot fail. */
static void
apply(struct nb_session *session, struct node **garbage)
{
	struct versions *map = &session->db->map;
	struct node *head = session->txn.writes;
	map->stamp++;
	for (struct node *node = head->next[0]; node != NULL;) {
		struct node *next = node->next[0];
		if (node->is_deleted)
			versions_remove(map, node, garbage);
		else
			versions_store(map, node, false, garbage);
		node = next;
	}
	memset(head->next, 0, LEVELS_MAX * sizeof(head->next[0]));
}

static void
drop_writes(struct txn *txn)
{
	if (!has_written(txn))
		return;
	nodes_free(txn->writes->next[0]);
	memset(txn->writes->next, 0, LEVELS_MAX * sizeof(txn->writes->next[0]));
}

static void
drop_reads(struct txn *txn)
{
	while (txn->reads != NULL) {
		struct range *range = txn->reads;
		txn->reads = range->next;
		free(range);
	}
}

static int
finish(struct nb_session *session, bool commits)
{
	struct nb_db *db = session->db;
	struct txn *txn = &session->txn;
	struct node *garbage = NULL;
	int rc = NB_OK;
	commits = commits && has_written(txn);
	pthread_rwlock_wrlock(&db->lock);
	if (commits && !may_commit(session))
		rc = NB_CONFLICT;
	versions_forget(&db->map, &txn->snapshot, &garbage);
	if (commits && rc == NB_OK)
		apply(session, &garbage);
	pthread_rwlock_unlock(&db->lock);
	nodes_free(garbage);
	drop_writes(txn);
	drop_reads(txn);
	txn->is_open = false;
	txn->is_read_only = false;
	return rc;
}

int
memory_commit(struct nb_session *session)
{
	return session->txn.is_open
		? finish(session, true)
		: session->db->host->fail(NB_FAIL, "memory: commit without begin");
}

void
memory_abort(struct nb_session *session)
{
	if (session->txn.is_open)
		finish(session, false);
}

/* --- batch, execute, merge --- */

int
memory_batch(
	struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	struct node *garbage = NULL;
	int rc = NB_OK;
	(void)flags; /* always atomic */
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		rc = write_new(session, writes[i].key, writes[i].value, writes[i].is_delete);
	if (session->txn.is_open)
		return rc;
	if (rc == NB_OK && count != 0) {
		pthread_rwlock_wrlock(&db->lock);
		apply(session, &garbage);
		pthread_rwlock_unlock(&db->lock);
		nodes_free(garbage);
	}
	drop_writes(&session->txn);
	return rc;
}

/* Verbs that execute steps, with the lock held or in a transaction. */
static const struct nb_engine step_verbs = {.caps = NB_CAP_ORDERED,
	.get = txn_get,
	.put = txn_put,
	.insert = txn_insert,
	.del = txn_del,
	.scan_open = memory_scan_open,
	.scan_next = memory_scan_next,
	.scan_close = memory_scan_close};

static bool
is_write(const struct nb_step *step)
{
	return step->verb != NB_STEP_GET && step->verb != NB_STEP_PREFIX_EMPTY;
}

static bool
have_writes(const struct nb_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_write(&steps[i]))
			return true;
	return false;
}

int
memory_execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	const struct executor by = {
		.verbs = &step_verbs, .host = session->db->host, .session = session};
	struct nb_db *db = session->db;
	struct txn *txn = &session->txn;
	struct node *garbage = NULL;
	int rc = check_flags(db->host, flags); /* all known flags are always satisfied */
	if (rc != NB_OK)
		return rc;
	memory_lend_anew(session);
	if (txn->is_open)
		return execute_steps(&by, steps, count);
	if (have_writes(steps, count))
		pthread_rwlock_wrlock(&db->lock);
	else
		pthread_rwlock_rdlock(&db->lock);
	txn->is_open = txn->is_locked = true;
	txn->snapshot.stamp = db->map.stamp;
	rc = execute_steps(&by, steps, count);
	if (rc == NB_OK && has_written(txn))
		apply(session, &garbage);
	txn->is_open = txn->is_locked = false;
	pthread_rwlock_unlock(&db->lock);
	nodes_free(garbage);
	drop_writes(txn);
	return rc;
}

/* Add the version's value to *counter. */
static int
sum(const struct nb_session *session, const struct node *old, uint64_t *counter)
{
	uint64_t operand = *counter;
	if (old == NULL || old->is_deleted)
		return NB_OK;
	int rc = counter_of(session->db->host,
		(struct nb_slice){node_value(old), old->value_size}, counter);
	*counter += operand;
	return rc;
}

static int
add(struct nb_session *session, struct nb_slice key, uint64_t operand)
{
	struct nb_db *db = session->db;
	struct nb_slice value = {&operand, sizeof(operand)};
	struct node *before[LEVELS_MAX];
	struct node *garbage = NULL;
	struct node *node = node_new(&session->random, key, value, false);
	if (node == NULL)
		return memory_out_of_memory(session, "a record", key.size + value.size);
	pthread_rwlock_wrlock(&db->lock);
	struct node *old = list_find(db->map.head, key, before);
	if (!node_is_of(old, key))
		old = NULL;
	int rc = sum(session, old, &operand);
	if (rc == NB_OK) {
		memcpy(node_value(node), &operand, sizeof(operand));
		db->map.stamp++;
		versions_place(&db->map, before, old, node, &garbage);
	}
	pthread_rwlock_unlock(&db->lock);
	nodes_free(garbage);
	if (rc != NB_OK)
		free(node);
	return rc;
}

int
memory_merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	struct nb_step step = {.verb = NB_STEP_MERGE, .key = key, .operand = operand};
	if (how != NB_MERGE_ADD_U64)
		return session->db->host->fail(
			NB_UNSUPPORTED, "memory: unknown kind of merge %u", how);
	return session->txn.is_open ? memory_execute(session, &step, 1, NB_EXEC_ATOMIC)
				    : add(session, key, operand);
}
