/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Client of `mininb serve`, which lends any engine to the network. It uses the compact protocol.
 *
 * Each session has a connection to each server (link.c). Several servers each have an equal part
 * of the hash space of the keys (remote/address.h). A single verb is a batch of one request. The
 * requests of a submit, a multi_get or a batch are one batch for each server.
 *
 * The driver knows the capabilities of the served engine only after it has connected. So its table
 * has the verbs that every engine supports behind a server, and scans only with the option `scan`.
 * If the engine has no insert or merge, the server emulates it.
 */
#include "../remote/stream_fabric.h"
#include "requests.h"

static const struct nb_engine engine;

#define OPTIONS(X) \
	X(ENGINE, TEXT, "engine", "memory", "engine of a server that mininb starts itself") \
	X(SERVER_THREADS, U64, "server_threads", "1", "threads", 1, 1024, \
		"threads of a server that mininb starts itself") \
	X(PERSISTENT, BOOL, "persistent", "no", \
		"the served engine keeps its data: a run uses the records of a load") \
	X(SCAN, BOOL, "scan", "no", "the served engine is ordered: scans, one server only") \
	X(TRANSPORT, CHOICE, "transport", "sockets", "sockets|ofi", \
		"how to connect: sockets, or ofi for libfabric") \
	X(SPIN, TIME, "spin", "50us", 0, 0, \
		"poll for up to so long before each sleep, while that pays; 0s: never")
enum { OPTIONS(OPTION_ID) };
static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

enum { SOCKETS, OFI }; /* choices of `transport` */
enum {
	INFLIGHT_DEFAULT = 64,
	TOGETHER = 1024 /* requests of a multi_get or batch that are in flight together */
};

static const char *
version(void)
{
	return "1"; /* of the protocol */
}

/* --- the database on all servers --- */

static int
check_server(const struct nb_db *db, const struct nb_open_args *args, const struct link *link)
{
	const struct nb_wire_hello *hello = &link->hello;
	static const char *const levels[] = {"none", "process", "periodic", "commit"};
	const char *address = link->stream.address;
	if (hello->durability > NB_DUR_COMMIT)
		return db->host->fail(
			NB_FAIL, "%s: durability %u is not known", address, hello->durability);
	if (hello->durability < args->durability)
		return db->host->fail(NB_UNSUPPORTED,
			"%s: the server has durability %s; start it with --durability=%s",
			address, levels[hello->durability], levels[args->durability]);
	if (db->has_scan && (hello->kinds & 1u << NB_WIRE_SCAN) == 0)
		return db->host->fail(NB_UNSUPPORTED,
			"%s: the served engine %s has no ordered scan; leave -o scan=yes out",
			address, hello->engine);
	if (args->key_size > hello->key_size_max)
		return db->host->fail(NB_UNSUPPORTED, "%s: %s takes keys of at most %llu bytes",
			address, hello->engine, (unsigned long long)hello->key_size_max);
	db->host->log(NB_LOG_INFO, "%s: %s %s, durability %s", address, hello->engine,
		hello->version, levels[hello->durability]);
	return NB_OK;
}

static void
close_links(struct link *links, uint32_t count)
{
	for (uint32_t i = 0; links != NULL && i < count; i++)
		link_close(&links[i]);
	free(links);
}

static int
open_links(struct link **out, const struct nb_db *db, uint64_t room)
{
	struct link *links = calloc(db->target_count, sizeof(*links));
	if (links == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	for (uint32_t i = 0; i < db->target_count; i++) {
		int rc = link_open(
			&links[i], db->host, db->targets[i], &db->stream, room, db->value_size);
		if (rc != NB_OK) {
			close_links(links, i);
			return rc;
		}
	}
	*out = links;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	close_links(db->links, db->target_count);
	free(db->text.data);
	free(db);
	return NB_OK;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	if (args->target_count > 1 && args->options != NULL && args->options[SCAN].u64 != 0)
		return host->fail(NB_UNSUPPORTED,
			"net scans one server only, since several have parts of the keys; leave -o scan=yes out");
	if (args->target_count == 0)
		return host->fail(NB_UNSUPPORTED,
			"net needs the address of a mininb serve: use --servers=HOST:PORT");
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	*db = (struct nb_db){.host = host,
		.targets = args->targets,
		.target_count = args->target_count,
		.inflight_ops = args->inflight_ops,
		.inflight_bytes = args->inflight_bytes,
		.value_size = args->value_size,
		.stream.has_adaptive_spin = true,
		.stream.spin_ns = args->options != NULL ? args->options[SPIN].u64 : 0};
	if (args->options != NULL && args->options[TRANSPORT].u64 == OFI)
		db->stream.connect = stream_fabric_connect;
	db->has_scan = args->options != NULL && args->options[SCAN].u64 != 0;
	int rc = open_links(&db->links, db, 1);
	for (uint32_t i = 0; rc == NB_OK && i < db->target_count; i++)
		rc = check_server(db, args, &db->links[i]);
	if (rc == NB_OK)
		*out = db;
	else
		db_close(db);
	return rc;
}

/**
 * Send a frame to each server in turn, up to the first failure. Returns that failure, or NB_OK.
 * NB_UNSUPPORTED: a server cannot do it.
 */
static int
ask_all(struct nb_db *db, uint32_t kind, uint32_t upto)
{
	int rc = NB_OK;
	for (uint32_t i = 0; i < db->target_count && rc == NB_OK; i++)
		rc = link_ask(&db->links[i], kind, upto, &db->text);
	return rc;
}

static int
flush(struct nb_db *db, uint32_t upto)
{
	return ask_all(db, NB_WIRE_SETTLE, upto);
}

static int
reset(struct nb_db *db)
{
	return ask_all(db, NB_WIRE_RESET, 0);
}

/**
 * Emit the line "name TAB unit TAB kind TAB value" of a server. With several servers, the name
 * begins with the number of the server.
 */
static void
emit_line(const struct nb_db *db, uint32_t server, char *line, nb_stat_emit emit, void *to)
{
	char name[160];
	char *unit = strchr(line, '\t'), *kind = unit != NULL ? strchr(unit + 1, '\t') : NULL;
	char *value = kind != NULL ? strchr(kind + 1, '\t') : NULL;
	if (value == NULL)
		return;
	*unit = *kind = *value = '\0';
	if (db->target_count > 1)
		snprintf(name, sizeof(name), "server%u_%s", server + 1, line);
	else
		snprintf(name, sizeof(name), "%s", line);
	emit(to, name, unit + 1, (uint32_t)strtoul(kind + 1, NULL, 10),
		strtoull(value + 1, NULL, 10));
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	emit(to, "client_waits_polled", "waits", NB_STAT_COUNTER,
		__atomic_load_n(&db->polled, __ATOMIC_RELAXED));
	emit(to, "client_waits_slept", "waits", NB_STAT_COUNTER,
		__atomic_load_n(&db->slept, __ATOMIC_RELAXED));
	for (uint32_t i = 0; i < db->target_count; i++) {
		if (link_ask(&db->links[i], NB_WIRE_STATS, 0, &db->text) != NB_OK)
			continue; /* no counters; the next verb reports a broken connection */
		char *rest = db->text.data;
		for (char *line; (line = strsep(&rest, "\n")) != NULL;)
			emit_line(db, i, line, emit, to);
	}
}

/* --- sessions --- */

static int
session_close(struct nb_session *session)
{
	requests_count_waits(session);
	close_links(session->links, session->count);
	free(session->streams);
	free(session->completions);
	free(session->early);
	scan_destroy(&session->scan);
	free(session);
	return NB_OK;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct nb_session *session;
	int rc = SESSION_NEW(&session, db);
	if (rc != NB_OK)
		return rc;
	session->count = db->target_count;
	session->limit = db->inflight_ops != 0 ? db->inflight_ops : INFLIGHT_DEFAULT;
	session->bytes_max = db->inflight_bytes != 0 ? db->inflight_bytes : UINT64_MAX;
	session->streams = calloc(session->count, sizeof(struct stream *));
	session->completions = calloc(TOGETHER, sizeof(*session->completions));
	rc = session->streams != NULL && session->completions != NULL
		? open_links(&session->links, db,
			  session->limit > TOGETHER ? session->limit : TOGETHER)
		: db->host->fail(NB_FAIL, "out of memory");
	if (rc != NB_OK) {
		session_close(session);
		return rc;
	}
	for (uint32_t i = 0; i < session->count; i++)
		session->streams[i] = &session->links[i].stream;
	*out = session;
	return NB_OK;
}

/* --- single verbs: a batch of one --- */

/**
 * Send the added requests, and wait for their `count` answers. No other request may be in
 * flight.
 */
static int
finish(struct nb_session *session, size_t count, struct nb_completion *out)
{
	int rc = requests_send(session);
	session->taken += count;
	for (size_t done = 0; done < count && rc == NB_OK;) {
		size_t some = 0;
		rc = requests_reap_links(
			session, out + done, count - done, &some, STREAM_FOREVER / 2);
		done += some;
	}
	session->bytes = 0;
	return rc;
}

static int
do_request(struct nb_session *session, struct nb_request *request, struct nb_slice *value)
{
	struct nb_completion done = {.answer = NB_FAIL};
	struct link *link;
	int rc = session->taken > 0 ? requests_keep_early(session) : NB_OK;
	if (rc == NB_OK)
		rc = requests_link(session, request, &link);
	if (rc == NB_OK)
		rc = link_add(link, request);
	if (rc == NB_OK) {
		session->bytes += request->key.size + request->value.size;
		rc = finish(session, 1, &done);
	}
	if (rc == NB_OK && done.answer < 0)
		rc = session->db->host->fail(
			done.answer, "%s: %s", link->stream.address, done.error);
	else if (rc == NB_OK)
		rc = done.answer;
	if (value != NULL && rc == NB_OK)
		*value = done.value;
	else if (request->verb != NB_REQ_EXECUTE || rc != NB_OK)
		requests_release(session);
	return rc;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_request request = {.verb = NB_REQ_GET, .key = key};
	return do_request(session, &request, value);
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	struct nb_request request = {.verb = NB_REQ_PUT, .key = key, .value = value};
	return do_request(session, &request, NULL);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_request request = {.verb = NB_REQ_DEL, .key = key};
	return do_request(session, &request, NULL);
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	struct nb_request request = {.verb = NB_REQ_INSERT, .key = key, .value = value};
	return do_request(session, &request, NULL);
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	struct nb_request request = {.verb = NB_REQ_MERGE, .key = key, .operand = operand};
	return how == NB_MERGE_ADD_U64
		? do_request(session, &request, NULL)
		: session->db->host->fail(NB_UNSUPPORTED, "unknown kind of merge %u", how);
}

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	struct nb_request request = {
		.verb = NB_REQ_EXECUTE, .steps = steps, .step_count = count, .flags = flags};
	return do_request(session, &request, NULL);
}

/* --- many at once --- */

/**
 * Execute `count` requests, at most TOGETHER at a time. `fill` makes a request, `take` gets its
 * answer. The tag of a request is its index.
 */
static int
do_many(struct nb_session *session, size_t count,
	void (*fill)(const void *from, size_t i, struct nb_request *request), const void *from,
	void (*take)(void *to, const struct nb_completion *done), void *to)
{
	int rc = session->taken > 0 ? requests_keep_early(session) : NB_OK;
	for (size_t first = 0; first < count && rc == NB_OK; first += TOGETHER) {
		size_t some = count - first < TOGETHER ? count - first : TOGETHER;
		for (size_t i = 0; i < some && rc == NB_OK; i++) {
			struct nb_request request = {.tag = first + i};
			fill(from, first + i, &request);
			session->bytes += request.key.size + request.value.size;
			rc = link_add(session_link(session, request.key), &request);
		}
		if (rc == NB_OK)
			rc = finish(session, some, session->completions);
		for (size_t i = 0; i < some && rc == NB_OK; i++)
			take(to, &session->completions[i]);
	}
	return rc;
}

struct found {
	const struct nb_host *host;
	struct nb_slice *values;
	int32_t *answers;
	int rc; /* the first failure */
};

static void
fill_get(const void *from, size_t i, struct nb_request *request)
{
	request->verb = NB_REQ_GET;
	request->key = ((const struct nb_slice *)from)[i];
}

static void
take_value(void *to, const struct nb_completion *done)
{
	struct found *found = to;
	found->answers[done->tag] = done->answer;
	found->values[done->tag] = done->value;
	if (done->answer < 0 && found->rc == NB_OK)
		found->rc = found->host->fail(done->answer, "%s", done->error);
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	struct found found = {session->db->host, values, answers, NB_OK};
	int rc = do_many(session, count, fill_get, keys, take_value, &found);
	rc = rc == NB_OK ? found.rc : rc;
	if (rc != NB_OK)
		requests_release(session);
	return rc;
}

static void
fill_write(const void *from, size_t i, struct nb_request *request)
{
	const struct nb_write *write = (const struct nb_write *)from + i;
	request->verb = write->is_delete != 0 ? NB_REQ_DEL : NB_REQ_PUT;
	request->key = write->key;
	if (write->is_delete == 0)
		request->value = write->value;
}

static void
take_answer(void *to, const struct nb_completion *done)
{
	struct found *found = to;
	if (done->answer < 0 && found->rc == NB_OK)
		found->rc = found->host->fail(done->answer, "%s", done->error);
	else if (done->answer == NB_CONFLICT && found->rc == NB_OK)
		found->rc = NB_CONFLICT;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct found found = {.host = session->db->host};
	if (flags != 0)
		return session->db->host->fail(NB_UNSUPPORTED,
			"a batch of net is not atomic: other writes come between");
	int rc = do_many(session, count, fill_write, writes, take_answer, &found);
	requests_release(session);
	return rc == NB_OK ? found.rc : rc;
}

/* --- scans --- */

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	int rc = session->taken > 0 ? requests_keep_early(session) : NB_OK;
	return rc == NB_OK ? scan_begin(&session->scan, &session->links[0], args) : rc;
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	return scan_step(&session->scan, key, value);
}

static int
scan_close(struct nb_session *session)
{
	return NB_OK;
}

/* --- the table --- */

static const struct nb_engine *
variant(const struct nb_option_value *values);

#define NET_SERVER(listen, words) \
	"command = {mininb} serve --driver={option:engine} --listen=" listen words \
	" --path={dir} --threads={option:server_threads} {durability} --allow-reset --quiet\n" \
	"address = " listen "\n" \
	"durability.none = --durability=none\n" \
	"durability.process = --durability=process\n" \
	"durability.periodic = --durability=periodic\n" \
	"durability.commit = --durability=commit\n"
#define SOCKET_SERVER NET_SERVER("unix:{socket}", "")
#define OFI_SERVER NET_SERVER("127.0.0.1:{port}", " --transport=ofi")

#define NET_CAPS (NB_CAP_REMOTE | NB_CAP_CONCURRENT | NB_CAP_COPIES)
#define KEPT_CAPS (NET_CAPS | NB_CAP_PERSISTENT | NB_CAP_MULTI_PROCESS)
#define KEPT_LEVELS \
	(NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) | NB_DUR_BIT(NB_DUR_PERIODIC) | \
		NB_DUR_BIT(NB_DUR_COMMIT))

/* is_kept: `persistent`; is_ofi: `transport`; has_scan: `scan`. Each is 0 or 1. */
#define NET_ENGINE(is_kept, is_ofi, has_scan) \
	{ \
		ENGINE_BASE("net"), ENGINE_RECORDS, \
			.summary = "client of mininb serve", .licence = "BSD-2-Clause", \
			.home = "part of mininb", \
			.caps = ((is_kept) ? KEPT_CAPS : NET_CAPS) | \
			((has_scan) ? NB_CAP_ORDERED : 0), \
			.durabilities = (is_kept) ? KEPT_LEVELS : NB_DUR_BIT(NB_DUR_NONE), \
			.auto_durability = (is_kept) ? NB_DUR_PROCESS : NB_DUR_NONE, \
			.key_size_max = 1u << 20, .value_size_max = 1u << 30, \
			.options = options, .open = db_open, .close = db_close, \
			.release = requests_release, .insert = insert, .batch = batch, \
			.multi_get = multi_get, .submit = requests_submit, \
			.reap = requests_reap, .flush = flush, .stats = stats, \
			.execute = execute, .merge = merge, .reset = reset, \
			.scan_open = (has_scan) ? scan_open : NULL, \
			.scan_next = (has_scan) ? scan_next : NULL, \
			.scan_close = (has_scan) ? scan_close : NULL, .variant = variant, \
			.server = (is_ofi) ? OFI_SERVER : SOCKET_SERVER \
	}

static const struct nb_engine engine = NET_ENGINE(0, 0, 0);

/* Indexed by these bits, one for each option that changes the table. */
enum { IS_KEPT = 1, IS_OFI = 2, HAS_SCAN = 4 };
static const struct nb_engine variants[] = {NET_ENGINE(0, 0, 0), NET_ENGINE(1, 0, 0),
	NET_ENGINE(0, 1, 0), NET_ENGINE(1, 1, 0), NET_ENGINE(0, 0, 1), NET_ENGINE(1, 0, 1),
	NET_ENGINE(0, 1, 1), NET_ENGINE(1, 1, 1)};

static const struct nb_engine *
variant(const struct nb_option_value *values)
{
	return &variants[(values[PERSISTENT].u64 != 0 ? IS_KEPT : 0) |
		(values[TRANSPORT].u64 == OFI ? IS_OFI : 0) |
		(values[SCAN].u64 != 0 ? HAS_SCAN : 0)];
}

NB_ENGINE_PLUGIN(engine)
