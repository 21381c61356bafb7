/* SPDX-License-Identifier: BSD-2-Clause */
/* The server and the connection that a request goes to. */
#include "redis.h"

/* Where a request's own[0] has its turn: above the form of codec.c. */
enum { TURN_SHIFT = 8 };

/* --- choice of the server --- */

static uint32_t
server_of(const struct nb_session *session, struct nb_slice key, bool is_read)
{
	const struct nb_db *db = session->db;
	bool is_replica = is_read && db->reads_replicas;
	uint32_t server;
	if (session->map != NULL) {
		const struct slot_map *map = session->map;
		server = (is_replica ? map->replica : map->owner)[slot_of(key)];
		server = server != SLOT_NONE
			? server
			: 0; /* server 0 will report that no node owns it */
	} else {
		server = split_server(key, db->server_count);
		server += is_replica ? db->server_count : 0;
	}
	return server * db->connections + session->connection;
}

uint32_t
route_server(void *own, const struct nb_request *request)
{
	return request->verb == NB_REQ_EXECUTE
		? server_of(own, request->steps[0].key, false)
		: server_of(own, request->key, request->verb == NB_REQ_GET);
}

bool
route_is_one(const struct nb_session *session, const struct nb_step *steps, size_t count)
{
	const struct nb_db *db = session->db;
	if (session->map != NULL) {
		uint32_t slot = slot_of(steps[0].key);
		for (size_t i = 1; i < count; i++)
			if (slot_of(steps[i].key) != slot)
				return false;
		return true;
	}
	for (size_t i = 1; db->server_count > 1 && i < count; i++)
		if (split_server(steps[i].key, db->server_count) !=
			split_server(steps[0].key, db->server_count))
			return false;
	return true;
}

/* --- choice of the connection --- */

static struct turn *
turn_of(const struct nb_session *session, struct nb_slice key)
{
	return &session->turns[split_hash(key) & session->turn_mask];
}

/** Consecutive requests share a connection, and thus a write. */
static uint32_t
next_connection(struct nb_session *session)
{
	if (session->turn_left-- == 0) {
		session->turn_left = session->turn_size - 1;
		session->turn = (session->turn + 1) % session->db->connections;
	}
	return session->turn;
}

/**
 * The connection that requests for these keys have in flight, or UINT32_MAX. *is_one: all
 * use the same one.
 */
static uint32_t
connection_in_use(const struct nb_session *session, const struct flying *flying, bool *is_one)
{
	uint32_t connection = UINT32_MAX;
	*is_one = true;
	for (size_t i = 0; i < flying->step_count; i++) {
		const struct turn *turn = turn_of(session, flying->steps[i].key);
		if (turn->in_flight == 0)
			continue;
		*is_one &= connection == UINT32_MAX || connection == turn->connection;
		connection = turn->connection;
	}
	return connection;
}

/**
 * Like route_take_turn(), for all keys of a list of steps. If their connections differ, it waits
 * until nothing is in flight.
 */
static int
take_turns(struct nb_session *session, const struct flying *flying)
{
	bool is_one;
	uint32_t connection = connection_in_use(session, flying, &is_one);
	if (!is_one) {
		int rc = pipeline_drain(&session->pipeline);
		if (rc != NB_OK)
			return rc;
		connection = UINT32_MAX;
	}
	if (connection == UINT32_MAX)
		connection = next_connection(session);
	for (size_t i = 0; i < flying->step_count; i++) {
		struct turn *turn = turn_of(session, flying->steps[i].key);
		turn->connection = connection;
		turn->in_flight++;
	}
	session->connection = connection;
	return NB_OK;
}

int
route_take_turn(
	struct nb_session *session, struct flying *flying, const struct nb_request *request)
{
	if (session->turns == NULL)
		return NB_OK;
	if (flying->verb == NB_REQ_EXECUTE)
		return take_turns(session, flying);
	struct turn *turn = turn_of(session, request->key);
	if (turn->in_flight++ == 0)
		turn->connection = next_connection(session);
	session->connection = turn->connection;
	flying->own[0] |= (uint64_t)(turn - session->turns) << TURN_SHIFT;
	return NB_OK;
}

void
route_end_turn(struct nb_session *session, const struct flying *flying)
{
	uint32_t turn = (uint32_t)flying->own[0] >> TURN_SHIFT;
	if (flying->verb != NB_REQ_EXECUTE)
		session->turns[turn].in_flight--;
	else
		for (size_t i = 0; i < flying->step_count; i++)
			turn_of(session, flying->steps[i].key)->in_flight--;
}
