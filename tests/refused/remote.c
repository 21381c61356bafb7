/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of server.py. Each request is a line: "p KEY VALUE", "g KEY", "d KEY", or "r", which
 * removes all records. Keys and values are hexadecimal. Answers are "k" (done), "n" (not found)
 * and "v VALUE". The last byte of a key selects its server.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "plain.h"

#ifndef REMOTE_CAPS
#define REMOTE_CAPS 0
#endif
#ifdef REMOTE_SCRIPT
#define REMOTE_SERVER \
	"command = " REMOTE_SCRIPT " --file {dir}/data unix:{socket}\n" \
	"address = unix:{socket}\n" \
	"durability.none =\n"
#else
#define REMOTE_SERVER NULL
#endif

enum { SERVERS_MAX = 16, LINE = 1 << 18 };

struct nb_db {
	const struct nb_host *host;
	char *addresses[SERVERS_MAX];
	uint32_t count;
	struct nb_session *admin;
};

struct nb_session {
	struct nb_db *db;
	FILE *in[SERVERS_MAX], *out[SERVERS_MAX];
	char line[LINE];
	unsigned char value[LINE / 2];
};

static int
connect_to(const struct nb_db *db, const char *address)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = -1, rc = -1;
	if (strncmp(address, "unix:", 5) == 0) {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", address + 5);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		rc = connect(fd, (struct sockaddr *)&un, sizeof(un));
	} else {
		char host[64];
		struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM};
		const char *port = strrchr(address, ':');
		snprintf(host, sizeof(host), "%.*s", (int)(port - address), address);
		if (getaddrinfo(host, port + 1, &hints, &found) != 0)
			return db->host->fail(NB_FAIL, "%s: no such host", address);
		fd = socket(found->ai_family, SOCK_STREAM, 0);
		rc = connect(fd, found->ai_addr, found->ai_addrlen);
		freeaddrinfo(found);
	}
	if (rc == 0)
		return fd;
	rc = db->host->fail(NB_FAIL, "%s: cannot connect: %s", address, strerror(errno));
	close(fd);
	return rc;
}

static int
session_close(struct nb_session *session)
{
	for (uint32_t i = 0; i < session->db->count; i++) {
		if (session->in[i] != NULL)
			fclose(session->in[i]);
		if (session->out[i] != NULL)
			fclose(session->out[i]);
	}
	free(session);
	return NB_OK;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct nb_session *session = calloc(1, sizeof(*session));
	session->db = db;
	for (uint32_t i = 0; i < db->count; i++) {
		int fd = connect_to(db, db->addresses[i]);
		if (fd < 0) {
			session_close(session);
			return fd;
		}
		session->in[i] = fdopen(fd, "r");
		session->out[i] = fdopen(dup(fd), "w");
	}
	*out = session;
	return NB_OK;
}

static void
put_hex(FILE *out, struct nb_slice slice)
{
	const unsigned char *bytes = slice.data;
	fputc(' ', out);
	for (size_t i = 0; i < slice.size; i++)
		fprintf(out, "%02x", bytes[i]);
}

/** Send a request and read the answer into session->line. */
static int
ask(struct nb_session *session, uint32_t server, const char *verb,
	const struct nb_slice *slices, size_t count)
{
	FILE *out = session->out[server];
	fputs(verb, out);
	for (size_t i = 0; i < count; i++)
		put_hex(out, slices[i]);
	fputc('\n', out);
	fflush(out);
	if (fgets(session->line, LINE, session->in[server]) == NULL)
		return session->db->host->fail(NB_FAIL, "%s: the server closed the connection",
			session->db->addresses[server]);
	return session->line[0] == 'n' ? NB_NOT_FOUND : NB_OK;
}

static uint32_t
server_of(const struct nb_session *session, struct nb_slice key)
{
	return ((const unsigned char *)key.data)[key.size - 1] % session->db->count;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	int rc = ask(session, server_of(session, key), "g", &key, 1);
	const char *hex = session->line + 2;
	size_t size = 0;
	unsigned byte;
	for (; rc == NB_OK && sscanf(hex + 2 * size, "%2x", &byte) == 1; size++)
		session->value[size] = (unsigned char)byte;
	*value = (struct nb_slice){session->value, size};
	return rc;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return ask(session, server_of(session, key), "p", (struct nb_slice[]){key, value}, 2);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return ask(session, server_of(session, key), "d", &key, 1);
}

static int
reset(struct nb_db *db)
{
	int rc = NB_OK;
	for (uint32_t i = 0; i < db->count && rc == NB_OK; i++)
		rc = ask(db->admin, i, "r", NULL, 0);
	return rc;
}

static int
db_close(struct nb_db *db)
{
	if (db->admin != NULL)
		session_close(db->admin);
	for (uint32_t i = 0; i < db->count; i++)
		free(db->addresses[i]);
	free(db);
	return NB_OK;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_db *db = calloc(1, sizeof(*db));
	db->host = args->host;
	if (args->target_count == 0 || args->target_count > SERVERS_MAX) {
		free(db);
		return args->host->fail(NB_FAIL, "%u servers", args->target_count);
	}
	for (; db->count < args->target_count; db->count++)
		db->addresses[db->count] = strdup(args->targets[db->count]);
	int rc = session_open(&db->admin, db, 0);
	if (rc == NB_OK)
		*out = db;
	else
		db_close(db);
	return rc;
}

static const struct nb_engine engine = {PLAIN_ENGINE, .name = REMOTE_NAME,
	.summary = "a client of server.py",
	.caps = NB_CAP_REMOTE | NB_CAP_CONCURRENT | REMOTE_CAPS,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_COMMIT),
	.auto_durability = NB_DUR_NONE, .reset = reset, .server = REMOTE_SERVER};
NB_ENGINE_PLUGIN(engine)
