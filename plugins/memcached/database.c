/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The database consists of all items of the servers. The marker, a key, allows mininb to
 * write to and empty a server. A server with items but without the marker is rejected.
 *
 * `stats` and `stats settings` return the server's counters and settings. If a server has
 * evicted items during the run, close reports it: reads have then missed stored records.
 */
#include "memcached.h"

#define ANSWER_NS (10 * STREAM_SECOND_NS)

/* ---- lines of one server ---- */

static int
send_line(struct stream *stream, const char *line)
{
	size_t size = strlen(line);
	char *to = stream_room(stream, size);
	if (to == NULL)
		return NB_FAIL;
	memcpy(to, line, size);
	stream_wrote(stream, size);
	return stream_flush(stream, ANSWER_NS);
}

/** Send a line and wait for the line of the reply. */
static int
ask(struct stream *stream, const char *line, char **reply)
{
	int rc = send_line(stream, line);
	return rc == NB_OK ? stream_receive_line(stream, reply, ANSWER_NS) : rc;
}

/** A requested counter or setting. */
struct wanted {
	const char *name;
	char text[32]; /* "": the server does not have it */
};

static uint64_t
number_of(const struct wanted *wanted)
{
	return strtoull(wanted->text, NULL, 10);
}

static void
take_stat(struct wanted *wanted, size_t count, const char *line)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(wanted[i].name);
		if (strncmp(line, wanted[i].name, size) == 0 && line[size] == ' ')
			snprintf(wanted[i].text, sizeof(wanted[i].text), "%s", line + size + 1);
	}
}

/** Format: "STAT NAME VALUE\r\n" repeatedly, then "END\r\n". */
static int
read_stats(struct stream *stream, const char *command, struct wanted *wanted, size_t count)
{
	char *line;
	int rc = send_line(stream, command);
	while (rc == NB_OK) {
		rc = stream_receive_line(stream, &line, ANSWER_NS);
		if (rc != NB_OK || strcmp(line, "END") == 0)
			return rc;
		if (strncmp(line, "STAT ", 5) != 0)
			return stream_fail(stream,
				"this is not an answer of a memcached server: '%s'", line);
		take_stat(wanted, count, line + 5);
	}
	return rc;
}

/* ---- the marker ---- */

/** Whether the server has the marker. */
static int
find_marker(struct stream *stream, bool *is_there)
{
	char *line;
	int rc = ask(stream, "mg " MARKER_KEY " s\r\n", &line);
	if (rc != NB_OK)
		return rc;
	*is_there = strncmp(line, "HD", 2) == 0;
	if (*is_there || strcmp(line, "EN") == 0)
		return NB_OK;
	return stream_fail(stream,
		"the server does not know the meta protocol (it answered '%s'); memcached 1.6 or later is needed",
		line);
}

static int
set_marker(struct stream *stream)
{
	char *line;
	int rc = ask(stream, "ms " MARKER_KEY " 6\r\nmininb\r\n", &line);
	if (rc != NB_OK || strncmp(line, "HD", 2) == 0)
		return rc;
	return stream_fail(stream, "the marker cannot be stored: %s", line);
}

static int
check_marker(const struct nb_db *db, struct stream *stream, uint32_t flags)
{
	struct wanted items = {.name = "curr_items"};
	bool is_there;
	int rc = find_marker(stream, &is_there);
	if (rc != NB_OK || is_there)
		return rc;
	rc = read_stats(stream, "stats\r\n", &items, 1);
	if (rc != NB_OK)
		return rc;
	if (number_of(&items) > 0)
		return db->host->fail(NB_FAIL,
			"%s: the server has %s items that mininb did not put there; restart it, or if all of them may go set the key '" MARKER_KEY
			"' and use --fresh",
			stream->address, items.text);
	if ((flags & NB_OPEN_CREATE) == 0)
		return db->host->fail(
			NB_FAIL, "%s: no database: the server is empty", stream->address);
	return set_marker(stream);
}

/* ---- settings of a server ---- */

enum { EVICTIONS, MAX_BYTES, THREADS, REQUESTS, ITEM_SIZE, CAS, SETTINGS };

static int
check_settings(struct nb_db *db, struct stream *stream)
{
	struct wanted settings[SETTINGS] = {[EVICTIONS] = {.name = "evictions"},
		[MAX_BYTES] = {.name = "maxbytes"},
		[THREADS] = {.name = "num_threads"},
		[REQUESTS] = {.name = "reqs_per_event"},
		[ITEM_SIZE] = {.name = "item_size_max"},
		[CAS] = {.name = "cas_enabled"}};
	char *version;
	int rc = read_stats(stream, "stats settings\r\n", settings, SETTINGS);
	if (rc == NB_OK)
		rc = ask(stream, "version\r\n", &version);
	if (rc != NB_OK)
		return rc;
	if (strcmp(settings[CAS].text, "no") == 0)
		return db->host->fail(NB_UNSUPPORTED,
			"%s: the server runs with -C; merges and --fresh need CAS numbers, start it without",
			stream->address);
	uint64_t item = number_of(&settings[ITEM_SIZE]);
	uint64_t value_max = item > ITEM_OVERHEAD ? item - ITEM_OVERHEAD : 0;
	if (value_max < db->value_max)
		db->value_max = value_max;
	db->host->log(NB_LOG_INFO,
		"%s: memcached %s, maxbytes %s, evictions %s, num_threads %s, reqs_per_event %s, item_size_max %s; nothing is durable",
		stream->address, strncmp(version, "VERSION ", 8) == 0 ? version + 8 : version,
		settings[MAX_BYTES].text, settings[EVICTIONS].text, settings[THREADS].text,
		settings[REQUESTS].text, settings[ITEM_SIZE].text);
	return NB_OK;
}

/** Sum the evictions of all servers. */
static int
sum_evictions(const struct nb_db *db, uint64_t *sum)
{
	*sum = 0;
	for (uint32_t i = 0; i < db->target_count; i++) {
		struct wanted evictions = {.name = "evictions"};
		int rc = read_stats(&db->control[i], "stats\r\n", &evictions, 1);
		if (rc != NB_OK)
			return rc;
		*sum += number_of(&evictions);
	}
	return NB_OK;
}

/* ---- open and close ---- */

static int
free_database(struct nb_db *db, int rc)
{
	for (uint32_t i = 0; db->control != NULL && i < db->target_count; i++)
		stream_close(&db->control[i]);
	free(db->control);
	free(db->points);
	free(db);
	return rc;
}

static int
open_server(struct nb_db *db, const struct nb_open_args *args, struct stream *stream,
	const char *address)
{
	int rc = stream_open(stream, db->host, address, &db->stream);
	if (rc == NB_OK)
		rc = check_settings(db, stream);
	return rc == NB_OK ? check_marker(db, stream, args->flags) : rc;
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	if (args->durability != NB_DUR_NONE)
		return host->fail(NB_UNSUPPORTED,
			"memcached keeps its data in memory: durability must be none");
	if (args->target_count == 0)
		return host->fail(
			NB_UNSUPPORTED, "memcached needs a server: --servers=HOST:PORT");
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	*db = (struct nb_db){.host = host,
		.targets = args->targets,
		.target_count = args->target_count,
		.inflight_ops = args->inflight_ops,
		.inflight_bytes = args->inflight_bytes,
		.value_max = UINT64_MAX,
		.stream = {.default_port = DEFAULT_PORT, .spin_ns = args->options[SPIN].u64},
		.control = calloc(args->target_count, sizeof(*db->control))};
	if (args->options[KETAMA].u64 != 0)
		db->points = ketama_new(db->targets, db->target_count);
	if (db->control == NULL || (args->options[KETAMA].u64 != 0 && db->points == NULL))
		return free_database(db, host->fail(NB_FAIL, "out of memory"));
	int rc = NB_OK;
	for (uint32_t i = 0; rc == NB_OK && i < db->target_count; i++)
		rc = open_server(db, args, &db->control[i], db->targets[i]);
	if (rc == NB_OK && args->value_size > db->value_max)
		rc = host->fail(NB_UNSUPPORTED,
			"values of %llu bytes: the server takes up to %llu; start it with a larger -I",
			(unsigned long long)args->value_size,
			(unsigned long long)db->value_max);
	if (rc == NB_OK)
		rc = sum_evictions(db, &db->evictions);
	if (rc != NB_OK)
		return free_database(db, rc);
	*out = db;
	return NB_OK;
}

int
database_close(struct nb_db *db)
{
	uint64_t evictions = 0;
	int rc = sum_evictions(db, &evictions);
	if (rc == NB_OK && evictions > db->evictions)
		db->host->log(NB_LOG_WARNING,
			"memcached has evicted %llu items, so reads have missed records; give it more memory (--cache, or -m)",
			(unsigned long long)(evictions - db->evictions));
	return free_database(db, rc);
}

/* flush_all invalidates everything that was stored before it at once, by CAS numbers. */
int
database_reset(struct nb_db *db)
{
	int rc = NB_OK;
	for (uint32_t i = 0; rc == NB_OK && i < db->target_count; i++) {
		struct stream *stream = &db->control[i];
		bool is_there = false;
		char *line;
		rc = find_marker(stream, &is_there);
		if (rc == NB_OK && !is_there)
			return db->host->fail(NB_FAIL,
				"%s: the key '" MARKER_KEY
				"' is not there any more; was it evicted? restart the server",
				stream->address);
		if (rc == NB_OK)
			rc = ask(stream, "flush_all\r\n", &line);
		if (rc == NB_OK && strcmp(line, "OK") != 0)
			rc = stream_fail(stream, "flush_all: %s", line);
		if (rc == NB_OK)
			rc = set_marker(stream);
	}
	return rc;
}

/* ---- counters ---- */

static const struct {
	const char *name, *unit;
	uint32_t kind;
} counters[] = {{"curr_items", "items", NB_STAT_GAUGE}, {"bytes", "bytes", NB_STAT_GAUGE},
	{"evictions", "items", NB_STAT_COUNTER}, {"get_hits", "gets", NB_STAT_COUNTER},
	{"get_misses", "gets", NB_STAT_COUNTER}, {"conn_yields", "yields", NB_STAT_COUNTER},
	{"bytes_read", "bytes", NB_STAT_COUNTER}, {"bytes_written", "bytes", NB_STAT_COUNTER}};

/* curr_items includes the marker, so it is subtracted. */
void
database_stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	uint64_t sums[COUNT_OF(counters)] = {0};
	for (uint32_t i = 0; i < db->target_count; i++) {
		struct wanted wanted[COUNT_OF(counters)] = {{NULL, ""}};
		for (size_t k = 0; k < COUNT_OF(counters); k++)
			wanted[k].name = counters[k].name;
		if (read_stats(&db->control[i], "stats\r\n", wanted, COUNT_OF(wanted)) != NB_OK)
			return;
		for (size_t k = 0; k < COUNT_OF(counters); k++)
			sums[k] += number_of(&wanted[k]) -
				(k == 0 && number_of(&wanted[k]) > 0);
	}
	for (size_t k = 0; k < COUNT_OF(counters); k++)
		emit(to, counters[k].name, counters[k].unit, counters[k].kind, sums[k]);
}
