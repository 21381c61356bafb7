/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings of the servers, which must fit the durability level, and their counters. */
#include "redis.h"

enum { SETTING_SIZE = 64 };

/** Read a setting with CONFIG GET; "" if the server does not return it. */
static int
read_setting(struct stream *stream, const char *name, char to[SETTING_SIZE])
{
	struct call call;
	struct resp_reply element = {0};
	int rc = CONNECTION_CALL(stream, &call, "CONFIG", "GET", name);
	to[0] = '\0';
	if (rc != NB_OK || call.reply.type != RESP_ARRAY || call.reply.number != 2)
		return rc;
	const char *at = call.bytes, *end = call.bytes + call.size;
	for (int i = 0; i < 3; i++) /* header, name, value */
		at += resp_read(at, (size_t)(end - at), &element);
	if (element.type == RESP_BULK)
		snprintf(to, SETTING_SIZE, "%.*s", (int)element.size, element.text);
	return NB_OK;
}

/* The settings that determine durability and speed. */
enum { SAVE, AOF, FSYNC, NO_FSYNC_ON_REWRITE, MAXMEMORY, POLICY, IO_THREADS, SETTINGS };
static const char *const setting_names[SETTINGS] = {"save", "appendonly", "appendfsync",
	"no-appendfsync-on-rewrite", "maxmemory", "maxmemory-policy", "io-threads"};

/** The settings that a level requires; "": any. */
static const struct {
	const char *name, *aof, *fsync, *or_fsync, *on_rewrite;
} levels[] = {
	[NB_DUR_NONE] = {"none", "", "", "", ""},
	[NB_DUR_PROCESS] = {"process", "yes", "", "", ""},
	[NB_DUR_PERIODIC] = {"periodic", "yes", "everysec", "always", "no"},
	[NB_DUR_COMMIT] = {"commit", "yes", "always", "always", "no"},
};

static int
want_setting(struct stream *stream, uint32_t level, char settings[][SETTING_SIZE], uint32_t i,
	const char *wanted, const char *or_wanted)
{
	const char *is = settings[i];
	if (wanted[0] == '\0' || strcmp(is, wanted) == 0 || strcmp(is, or_wanted) == 0)
		return NB_OK;
	return stream->host->fail(NB_UNSUPPORTED,
		"%s: durability %s needs the setting %s %s, and the server %s%s; change it there, or use --durability=none",
		stream->address, levels[level].name, setting_names[i], wanted,
		is[0] != '\0' ? "has " : "does not report it", is);
}

static int
check_settings(struct stream *stream, uint32_t level, char settings[][SETTING_SIZE])
{
	struct call call;
	int rc = want_setting(stream, level, settings, AOF, levels[level].aof, "yes");
	if (rc == NB_OK)
		rc = want_setting(stream, level, settings, FSYNC, levels[level].fsync,
			levels[level].or_fsync);
	if (rc == NB_OK)
		rc = want_setting(stream, level, settings, NO_FSYNC_ON_REWRITE,
			levels[level].on_rewrite, "no");
	if (rc != NB_OK || level == NB_DUR_NONE)
		return rc;
	rc = CONNECTION_ORDER(stream, &call, "INFO", "persistence");
	if (rc != NB_OK || !call_contains(&call, "aof_last_write_status:err"))
		return rc;
	return stream_fail(stream,
		"the server cannot write its append-only file (aof_last_write_status:err)");
}

/** Copy the value of a line "name:value" of INFO to `to`. */
static bool
find_line(const struct call *call, const char *name, char to[SETTING_SIZE])
{
	size_t length = strlen(name);
	const char *end = call->reply.text + call->reply.size;
	for (const char *at = call->reply.text; at != NULL && at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if ((size_t)(end - at) > length && memcmp(at, name, length) == 0 &&
			at[length] == ':') {
			at += length + 1;
			snprintf(to, SETTING_SIZE, "%.*s", (int)strcspn(at, "\r\n"), at);
			return true;
		}
		at = newline != NULL ? newline + 1 : NULL;
	}
	return false;
}

/**
 * Name and version of the server. Compatible servers also report the Redis version that they
 * emulate.
 */
static void
name_server(const struct call *call, char to[2 * SETTING_SIZE])
{
	static const char *const names[][2] = {{"valkey_version", "Valkey"},
		{"dragonfly_version", "Dragonfly"}, {"garnet_version", "Garnet"},
		{"redis_version", "Redis"}};
	char version[SETTING_SIZE] = "";
	size_t i = 0;
	while (i < COUNT_OF(names) - 1 && !find_line(call, names[i][0], version))
		i++;
	if (version[0] == '\0' && !find_line(call, names[i][0], version))
		strcpy(version, "of unknown version");
	snprintf(to, 2 * SETTING_SIZE, "%s %s", names[i][1], version);
}

/** Log the settings once for servers with equal settings. */
static void
report_settings(struct stream *stream, struct nb_db *db, const char *text)
{
	if (strcmp(text, db->reported) == 0)
		return;
	snprintf(db->reported, sizeof(db->reported), "%s", text);
	db->host->log(NB_LOG_INFO, "%s%s: %s", stream->address,
		db->server_count > 1 ? " and others" : "", text);
}

int
settings_read(struct stream *stream, struct nb_db *db, uint32_t level)
{
	char text[sizeof(db->reported)];
	char settings[SETTINGS][SETTING_SIZE], server[2 * SETTING_SIZE];
	struct call call;
	int rc = NB_OK;
	for (uint32_t i = 0; rc == NB_OK && i < SETTINGS; i++)
		rc = read_setting(stream, setting_names[i], settings[i]);
	if (rc == NB_OK)
		rc = check_settings(stream, level, settings);
	if (rc == NB_OK)
		rc = CONNECTION_ORDER(stream, &call, "INFO", "server");
	if (rc != NB_OK)
		return rc;
	name_server(&call, server);
	snprintf(text, sizeof(text),
		"%s, durability %s: appendonly %s, appendfsync %s, save '%s', io-threads %s, maxmemory %s",
		server, levels[level].name, settings[AOF], settings[FSYNC], settings[SAVE],
		settings[IO_THREADS], settings[MAXMEMORY]);
	report_settings(stream, db, text);
	/* volatile-* policies evict only keys with a TTL, which mininb does not use */
	if (strcmp(settings[MAXMEMORY], "0") != 0 &&
		strncmp(settings[POLICY], "allkeys", strlen("allkeys")) == 0)
		stream->host->log(NB_LOG_WARNING,
			"%s: the server removes records above maxmemory %s (maxmemory-policy %s): removed records are reported as missing",
			stream->address, settings[MAXMEMORY], settings[POLICY]);
	return NB_OK;
}

/* --- counters --- */

static const struct {
	const char *name, *unit;
	uint32_t kind;
} counters[] = {
	{"used_memory", "bytes", NB_STAT_GAUGE},
	{"evicted_keys", "keys", NB_STAT_COUNTER},
	{"expired_keys", "keys", NB_STAT_COUNTER},
	{"keyspace_hits", "reads", NB_STAT_COUNTER},
	{"keyspace_misses", "reads", NB_STAT_COUNTER},
	{"total_net_input_bytes", "bytes", NB_STAT_COUNTER},
	{"total_net_output_bytes", "bytes", NB_STAT_COUNTER},
	{"total_forks", "processes", NB_STAT_COUNTER},
	{"aof_delayed_fsync", "syncs", NB_STAT_COUNTER},
};
enum { COUNTERS = COUNT_OF(counters) };

static void
add_counters(struct stream *stream, const char *section, uint64_t sums[COUNTERS])
{
	struct call call;
	char text[SETTING_SIZE];
	const char *const command[] = {"INFO", section, NULL};
	if (connection_call(stream, &call, STREAM_SECOND_NS, command) != NB_OK ||
		call.reply.type != RESP_BULK)
		return;
	for (size_t i = 0; i < COUNTERS; i++)
		if (find_line(&call, counters[i].name, text))
			sums[i] += strtoull(text, NULL, 10);
}

/* A dead server costs only one query, because its stream fails then. */
void
database_stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	static const char *const sections[] = {"memory", "stats", "persistence"};
	uint64_t sums[COUNTERS] = {0};
	for (uint32_t i = 0; i < db->server_count; i++)
		for (size_t s = 0; s < COUNT_OF(sections); s++)
			add_counters(&db->control[i], sections[s], sums);
	for (size_t i = 0; i < COUNTERS; i++)
		emit(to, counters[i].name, counters[i].unit, counters[i].kind, sums[i]);
	if (db->map == NULL)
		return;
	emit(to, "moved", "replies", NB_STAT_COUNTER,
		__atomic_load_n(&db->moved, __ATOMIC_RELAXED));
	emit(to, "ask", "replies", NB_STAT_COUNTER,
		__atomic_load_n(&db->asked, __ATOMIC_RELAXED));
	emit(to, "tryagain", "replies", NB_STAT_COUNTER,
		__atomic_load_n(&db->retried, __ATOMIC_RELAXED));
}
