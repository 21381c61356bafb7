/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scans. Each sees one version of the data: the snapshot of its transaction, or its own. It
 * holds no lock between two records. It lends records in place, because a version that the
 * snapshot can see neither changes nor disappears.
 *
 * A scan merges the database and the transaction's own writes, both in order. If both
 * contain a key, it returns the transaction's record.
 */
#include "internal.h"

static bool
is_backward(const struct scan *scan)
{
	return (scan->flags & NB_SCAN_BACKWARD) != 0;
}

static struct node *
newest_of(struct node *node)
{
	while (node->newer != NULL)
		node = node->newer;
	return node;
}

/* The first node of a list at or after the start of the scan, backward at or before it. */
static struct node *
first(const struct scan *scan, const struct node *head)
{
	struct nb_slice from = buffer_slice(&scan->from);
	if (from.size == 0)
		return list_neighbour(head, NULL, is_backward(scan));
	struct node *before[LEVELS_MAX];
	struct node *node = list_find(head, from, before);
	if (!is_backward(scan) || node_is_of(node, from))
		return node;
	return before[0] == head ? NULL : before[0];
}

/* The first version that the scan sees, starting at a node of the database's list. */
static struct node *
see(const struct scan *scan, const struct versions *map, struct node *node)
{
	while (node != NULL && versions_visible(node, scan->stamp) == NULL)
		node = list_neighbour(map->head, node, is_backward(scan));
	return versions_visible(node, scan->stamp);
}

static void
go_on_in_database(struct scan *scan, const struct versions *map)
{
	scan->stored = see(scan, map,
		list_neighbour(map->head, newest_of(scan->stored), is_backward(scan)));
}

static void
go_on_in_writes(struct scan *scan, const struct node *writes)
{
	scan->written = list_neighbour(writes, scan->written, is_backward(scan));
}

/*
 * Compare the transaction's record with the database's; below 0, the transaction's comes
 * first.
 */
static int
order(const struct scan *scan)
{
	if (scan->stored == NULL || scan->written == NULL)
		return scan->written == NULL ? 1 : -1;
	int order = node_compare(scan->written, node_key_slice(scan->stored));
	return is_backward(scan) ? -order : order;
}

/* Advance past the record that comes first. */
static void
step(struct scan *scan, const struct versions *map, const struct node *writes)
{
	int ordered = order(scan);
	if (ordered >= 0 && scan->stored != NULL)
		go_on_in_database(scan, map);
	if (ordered <= 0)
		go_on_in_writes(scan, writes);
}

static void
start(struct scan *scan, const struct versions *map, const struct node *writes)
{
	scan->is_started = true;
	scan->stored = see(scan, map, first(scan, map->head));
	scan->written = writes == NULL ? NULL : first(scan, writes);
}

int
memory_scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct nb_db *db = session->db;
	struct scan *scan = &session->scan;
	if (!buffer_set(&scan->from, args->from.data, args->from.size))
		return memory_out_of_memory(session, "a key", args->from.size);
	scan->is_open = true;
	scan->is_started = false;
	scan->flags = args->flags;
	scan->told = NULL;
	if (!session->txn.is_open) {
		pthread_rwlock_wrlock(&db->lock);
		versions_snapshot(&db->map, &scan->own);
		pthread_rwlock_unlock(&db->lock);
	}
	scan->stamp = session->txn.is_open ? session->txn.snapshot.stamp : scan->own.stamp;
	return NB_OK;
}

static void
look_for_next(struct scan *scan, const struct versions *map, const struct node *writes)
{
	if (!scan->is_started)
		start(scan, map, writes);
	else if (scan->told != NULL)
		step(scan, map, writes);
	while (order(scan) <= 0 && scan->written->is_deleted)
		step(scan, map, writes);
	scan->told = order(scan) <= 0 ? scan->written : scan->stored;
}

int
memory_scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	struct scan *scan = &session->scan;
	if (scan->is_started && scan->told == NULL)
		return NB_NOT_FOUND;
	if (!session->txn.is_locked)
		pthread_rwlock_rdlock(&db->lock);
	look_for_next(scan, &db->map, session->txn.is_open ? session->txn.writes : NULL);
	if (!session->txn.is_locked)
		pthread_rwlock_unlock(&db->lock);
	if (scan->told == NULL)
		return NB_NOT_FOUND;
	*key = node_key_slice(scan->told);
	*value = (scan->flags & NB_SCAN_KEYS_ONLY) != 0
		? (struct nb_slice){NULL, 0}
		: (struct nb_slice){node_value(scan->told), scan->told->value_size};
	return NB_OK;
}

/* In a transaction, record the keys that the scan has read. */
static int
remember(struct nb_session *session)
{
	const struct scan *scan = &session->scan;
	struct nb_slice from = buffer_slice(&scan->from);
	struct nb_slice to = scan->told != NULL ? node_key_slice(scan->told)
						: (struct nb_slice){NULL, 0};
	if (!session->txn.is_open || !scan->is_started)
		return NB_OK;
	return is_backward(scan) ? txn_read(session, to, from) : txn_read(session, from, to);
}

int
memory_scan_close(struct nb_session *session)
{
	struct nb_db *db = session->db;
	struct node *garbage = NULL;
	int rc = remember(session);
	session->scan.is_open = false;
	if (session->txn.is_open)
		return rc;
	pthread_rwlock_wrlock(&db->lock);
	versions_forget(&db->map, &session->scan.own, &garbage);
	pthread_rwlock_unlock(&db->lock);
	nodes_free(garbage);
	return rc;
}
