/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening a database: connect to the servers, check their settings (settings.c), and examine
 * their data before anything is written.
 *
 * - The data belongs to mininb if the key MARKER_KEY exists. Its value contains the server's
 *   number and the number of servers. If the servers were given in another order, they would
 *   lack the requested keys. A cluster has one marker, which moves with its slot.
 * - A server that answers LOADING is still reading its data, and a new cluster does not yet
 *   serve its slots. open waits for both.
 */
#include "redis.h"

#define PAUSE_NS 10000000
#define CLUSTER_OK "cluster_state:ok"

enum { MARKER_SIZE = 64 };

/* --- waiting for servers --- */

static void
pause_shortly(void)
{
	nanosleep(&(const struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static int
wait_until_loaded(struct stream *stream, const struct nb_db *db)
{
	uint64_t end_ns = stream_now_ns() + db->ready_ns;
	struct call call;
	for (;;) {
		int rc = CONNECTION_CALL(stream, &call, "PING");
		if (rc != NB_OK || call.reply.type != RESP_ERROR)
			return rc;
		if (!resp_begins(&call.reply, "LOADING") || stream_now_ns() > end_ns)
			return connection_refused(stream, "PING", &call.reply);
		pause_shortly();
	}
}

/** Connect, log in, and wait until the server has loaded its data. */
static int
reach(struct stream *stream, const struct nb_db *db, const char *address)
{
	int rc = stream_open(stream, db->host, address, &db->stream);
	if (rc == NB_OK)
		rc = connection_hello(stream, db);
	return rc == NB_OK ? wait_until_loaded(stream, db) : rc;
}

/** Wait until the node reports a working cluster and knows all slots. */
static int
wait_until_joined(struct stream *stream, struct nb_db *db, struct slot_map *map)
{
	uint64_t end_ns = stream_now_ns() + db->ready_ns;
	struct call call;
	for (;;) {
		int rc = CONNECTION_ORDER(stream, &call, "CLUSTER", "INFO");
		bool is_ok = rc == NB_OK && call_contains(&call, CLUSTER_OK);
		if (rc == NB_OK)
			rc = CONNECTION_ORDER(stream, &call, "CLUSTER", "SLOTS");
		if (rc != NB_OK)
			return rc;
		if (!slot_map_read(
			    map, call.bytes, call.size, stream->address, db->reads_replicas))
			return stream_fail(stream,
				"CLUSTER SLOTS: the answer is not a map of slots, or of more than %d nodes",
				SLOT_NODES);
		if (is_ok && slot_map_missing(map) == 0)
			return NB_OK;
		if (stream_now_ns() > end_ns)
			return stream_fail(stream,
				"the cluster is not ready: cluster_state is %s, and %u of %d slots have no node",
				is_ok ? "ok" : "not ok", slot_map_missing(map), SLOTS);
		pause_shortly();
	}
}

/* --- addresses --- */

static int
fail_memory(const struct nb_db *db)
{
	return db->host->fail(NB_FAIL, "out of memory");
}

static int
add_address(struct nb_db *db, const char *address)
{
	void *more = realloc(db->addresses, (db->address_count + 1) * sizeof(*db->addresses));
	if (more == NULL)
		return fail_memory(db);
	db->addresses = more;
	if (strlen(address) >= sizeof(*db->addresses))
		return db->host->fail(NB_UNSUPPORTED, "%s: the address is too long", address);
	strcpy(db->addresses[db->address_count++], address);
	return NB_OK;
}

/** The nodes of the cluster, from the first given server. */
static int
find_nodes(struct nb_db *db, const struct nb_open_args *args)
{
	struct stream stream = {0};
	db->map = calloc(1, sizeof(*db->map));
	if (db->map == NULL)
		return fail_memory(db);
	int rc = reach(&stream, db, args->targets[0]);
	if (rc == NB_OK)
		rc = wait_until_joined(&stream, db, db->map);
	stream_close(&stream);
	for (uint32_t i = 0; rc == NB_OK && i < db->map->count; i++)
		rc = add_address(db, db->map->nodes[i]);
	return rc;
}

/** Every node must have joined, not only the first one. */
static int
wait_for_nodes(struct nb_db *db)
{
	struct slot_map *map = malloc(sizeof(*map));
	int rc = map != NULL ? NB_OK : fail_memory(db);
	for (uint32_t i = 0; rc == NB_OK && i < db->control_count; i++)
		rc = wait_until_joined(&db->control[i], db, map);
	free(map);
	return rc;
}

/** Add a server's first replica, from "slave0:ip=127.0.0.1,port=6380,state=online,...". */
static int
add_replica(struct nb_db *db, struct stream *stream)
{
	struct call call;
	char host[ADDRESS_HOST_MAX + 1], address[SLOT_ADDRESS];
	unsigned port = 0;
	int rc = CONNECTION_ORDER(stream, &call, "INFO", "replication");
	if (rc != NB_OK)
		return rc;
	const char *at = memmem(call.reply.text, call.reply.size, "slave0:ip=", 10);
	if (at == NULL || sscanf(at, "slave0:ip=%255[^,],port=%u", host, &port) != 2)
		return stream_fail(stream, "replica_reads: the server has no replica");
	snprintf(address, sizeof(address), strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u",
		host, port);
	return add_address(db, address);
}

static int
find_servers(struct nb_db *db, const struct nb_open_args *args)
{
	int rc = NB_OK;
	for (uint32_t i = 0; rc == NB_OK && i < args->target_count; i++)
		rc = add_address(db, args->targets[i]);
	for (uint32_t i = 0; rc == NB_OK && db->reads_replicas && i < args->target_count; i++) {
		struct stream stream = {0};
		rc = reach(&stream, db, args->targets[i]);
		if (rc == NB_OK)
			rc = add_replica(db, &stream);
		stream_close(&stream);
	}
	return rc;
}

/** The addresses that a session connects to. */
static int
make_targets(struct nb_db *db)
{
	uint32_t connections = db->connections;
	db->targets = calloc((size_t)db->address_count * connections, sizeof(*db->targets));
	if (db->targets == NULL)
		return fail_memory(db);
	for (uint32_t i = 0; i < db->address_count * connections; i++)
		db->targets[i] = db->addresses[i / connections];
	return NB_OK;
}

/* --- ownership of the data --- */

static void
marker_text(const struct nb_db *db, uint32_t server, char to[MARKER_SIZE])
{
	if (db->map != NULL)
		strcpy(to, "mininb 1, cluster");
	else
		snprintf(to, MARKER_SIZE, "mininb 1, server %u of %u", server + 1,
			db->server_count);
}

/** Look for the marker. Returns NB_OK, NB_NOT_FOUND, or a failure. */
static int
find_marker(struct nb_db *db, uint32_t server)
{
	struct stream *stream = &db->control[server];
	struct call call;
	char text[MARKER_SIZE];
	int rc = CONNECTION_ORDER(stream, &call, "GET", MARKER_KEY);
	if (rc != NB_OK || call.reply.type == RESP_NIL)
		return rc != NB_OK ? rc : NB_NOT_FOUND;
	marker_text(db, server, text);
	if (call.reply.size == strlen(text) &&
		memcmp(call.reply.text, text, call.reply.size) == 0)
		return NB_OK;
	return stream_fail(stream,
		"the data was written as that of \"%.*s\", not as \"%s\": name the same servers in the same order",
		(int)(call.reply.size < 60 ? call.reply.size : 60), call.reply.text, text);
}

static int
write_marker(struct nb_db *db, uint32_t server)
{
	struct call call;
	char text[MARKER_SIZE];
	marker_text(db, server, text);
	return CONNECTION_ORDER(&db->control[server], &call, "SET", MARKER_KEY, text);
}

static int
check_empty(struct stream *stream)
{
	struct call call;
	int rc = CONNECTION_ORDER(stream, &call, "DBSIZE");
	if (rc != NB_OK || call.reply.number == 0)
		return rc;
	return stream_fail(stream,
		"the server has %lld keys that mininb did not write (it has no %s); empty it, or choose another one or another -o db=NUMBER",
		(long long)call.reply.number, MARKER_KEY);
}

/** The server that stores the marker of server `i`. */
static uint32_t
marker_server(const struct nb_db *db, uint32_t i)
{
	const struct nb_slice key = {MARKER_KEY, strlen(MARKER_KEY)};
	return db->map != NULL ? db->map->owner[slot_of(key)] : i;
}

static int
claim_data(struct nb_db *db, uint32_t flags)
{
	uint32_t markers = db->map != NULL ? 1 : db->server_count;
	uint32_t missing = 0;
	int rc = NB_OK;
	for (uint32_t i = 0; rc >= 0 && i < markers; i++) {
		rc = find_marker(db, marker_server(db, i));
		missing += rc == NB_NOT_FOUND;
		bool has_all = rc != NB_NOT_FOUND || db->map != NULL;
		if (!has_all)
			rc = check_empty(&db->control[i]);
	}
	for (uint32_t i = 0; rc >= 0 && missing != 0 && db->map != NULL && i < db->server_count;
		i++)
		rc = check_empty(&db->control[i]);
	if (rc < 0 || missing == 0)
		return rc < 0 ? rc : NB_OK;
	if ((flags & NB_OPEN_CREATE) == 0)
		return db->host->fail(
			NB_FAIL, "%s: the server has no database of mininb", db->addresses[0]);
	for (uint32_t i = 0; rc >= 0 && i < markers; i++)
		rc = write_marker(db, marker_server(db, i));
	return rc < 0 ? rc : NB_OK;
}

/* --- open, close, reset --- */

static const char *
text_of(const struct nb_option_value *option)
{
	return option->is_set ? option->text : NULL;
}

static void
take_options(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *option = args->options;
	db->host = args->host;
	db->user = text_of(&option[USER]);
	db->password = option[PASSWORD].is_set ? option[PASSWORD].text
					       : getenv("REDISCLI_AUTH");
	db->number = option[DB].u64;
	db->ready_ns = option[READY].u64;
	db->connections = (uint32_t)option[CONNECTIONS].u64;
	db->is_cluster = option[CLUSTER].u64 != 0;
	db->reads_replicas = option[REPLICA_READS].u64 != 0;
	db->stream.spin_ns = option[SPIN].u64;
	db->stream.default_port = "6379";
	db->inflight_ops = args->inflight_ops;
	db->inflight_bytes = args->inflight_bytes;
}

static int
take_tls(struct nb_db *db, const struct nb_option_value *option)
{
	const struct tls_options tls = {.ca = text_of(&option[TLS_CA]),
		.cert = text_of(&option[TLS_CERT]),
		.key = text_of(&option[TLS_KEY]),
		.is_unverified = option[TLS_VERIFY].u64 == 0};
	if (option[TLS].u64 == 0)
		return tls.ca == NULL && tls.cert == NULL && tls.key == NULL
			? NB_OK
			: db->host->fail(
				  NB_UNSUPPORTED, "tls_ca, tls_cert and tls_key need tls=yes");
	int rc = tls_new(&db->tls, db->host, &tls);
	db->stream.tls = db->tls;
	db->stream.secure = tls_secure;
	return rc;
}

static int
check_options(const struct nb_db *db, const struct nb_open_args *args)
{
	if (args->target_count == 0)
		return db->host->fail(NB_UNSUPPORTED,
			"no server is named; use --servers=HOST:PORT or unix:PATH");
	if (db->is_cluster && db->number != 0)
		return db->host->fail(
			NB_UNSUPPORTED, "a Redis Cluster has database 0 only; leave out db");
	if (db->user != NULL && db->password == NULL)
		return db->host->fail(NB_UNSUPPORTED,
			"user needs a password; set the environment variable REDISCLI_AUTH");
	if (db->reads_replicas)
		db->host->log(NB_LOG_WARNING,
			"replica_reads: a replica may be behind its server, and then reads are reported as stale or missing");
	return NB_OK;
}

static int
connect_all(struct nb_db *db, const struct nb_open_args *args)
{
	int rc = db->is_cluster ? find_nodes(db, args) : find_servers(db, args);
	if (rc == NB_OK)
		rc = make_targets(db);
	if (rc != NB_OK)
		return rc;
	db->server_count = db->is_cluster ? db->address_count : args->target_count;
	db->control = calloc(db->server_count, sizeof(*db->control));
	if (db->control == NULL)
		return fail_memory(db);
	for (uint32_t i = 0; rc == NB_OK && i < db->server_count; i++) {
		db->control_count = i + 1;
		rc = reach(&db->control[i], db, db->addresses[i]);
		if (rc == NB_OK)
			rc = settings_read(&db->control[i], db, args->durability);
		if (rc == NB_OK)
			rc = connection_load_scripts(&db->control[i], db);
		if (rc == NB_NOT_FOUND) {
			db->host->log(NB_LOG_WARNING,
				"%s: the server runs no Lua scripts: merge and steps with conditions cannot be had",
				db->addresses[i]);
			rc = NB_OK;
		}
	}
	return rc;
}

int
database_close(struct nb_db *db)
{
	for (uint32_t i = 0; i < db->control_count; i++)
		stream_close(&db->control[i]);
	tls_delete(db->tls);
	free(db->control);
	free(db->addresses);
	free(db->targets);
	free(db->map);
	free(db);
	return NB_OK;
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	take_options(db, args);
	int rc = check_options(db, args);
	if (rc == NB_OK)
		rc = take_tls(db, args->options);
	if (rc == NB_OK)
		rc = connect_all(db, args);
	if (rc == NB_OK && db->is_cluster)
		rc = wait_for_nodes(db);
	if (rc == NB_OK)
		rc = claim_data(db, args->flags);
	if (rc != NB_OK) {
		database_close(db);
		return rc;
	}
	*out = db;
	return NB_OK;
}

/** Whether the node accepts writes; the replicas among a cluster's nodes do not. */
static bool
has_slots(const struct nb_db *db, uint32_t server)
{
	for (uint32_t slot = 0; db->map != NULL && slot < SLOTS; slot++)
		if (db->map->owner[slot] == server)
			return true;
	return db->map == NULL;
}

/* Does not touch a server whose marker has disappeared: another program may use it by now. */
int
database_reset(struct nb_db *db)
{
	static const char *const flush[] = {"FLUSHDB", NULL};
	uint32_t markers = db->map != NULL ? 1 : db->server_count;
	struct call call;
	int rc = NB_OK;
	for (uint32_t i = 0; rc == NB_OK && i < markers; i++) {
		rc = find_marker(db, marker_server(db, i));
		if (rc == NB_NOT_FOUND)
			rc = stream_fail(&db->control[i],
				"the key %s is gone: nothing is removed", MARKER_KEY);
	}
	for (uint32_t i = 0; rc == NB_OK && i < db->server_count; i++)
		if (has_slots(db, i))
			rc = connection_order(&db->control[i], &call, STREAM_FOREVER, flush);
	for (uint32_t i = 0; rc == NB_OK && i < markers; i++)
		rc = write_marker(db, marker_server(db, i));
	return rc;
}
