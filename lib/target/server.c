/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Server N has these files below server/ in the database's directory:
 * - its own directory N, with any content;
 * - N.lock, which the guard keeps locked while the server runs. A later run waits for that
 *   lock until the server of a killed run has stopped;
 * - N.prepared, created after `prepare` has succeeded.
 *
 * The kernel chooses a free port, but another program may take it before the server does.
 * So if a server ends at once while its port is taken, it is started again with another
 * port.
 */
#include "target/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/tree.h"
#include "base/units.h"

enum {
	BUS = 10000, /* offset of the bus port, as in Redis Cluster */
	ATTEMPTS = 5,
	PORT_TRIES = 1000,
	LOOK_US = 1000,
	TAIL_BYTES = 2048,
	TAIL_LINES = 3,
	TEXT_SIZE = 600
};

/* ---- the output and the end of a server ---- */

/** The last lines of its output, joined to one line; "" if it has printed nothing. */
static void
read_tail(const struct server *server, char text[TEXT_SIZE])
{
	char buf[TAIL_BYTES + 1];
	int fd = open(server->log, O_RDONLY | O_CLOEXEC), lines = 0;
	off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	off_t begin = end - TAIL_BYTES > server->log_size ? end - TAIL_BYTES : server->log_size;
	ssize_t size = fd >= 0 ? pread(fd, buf, TAIL_BYTES, begin) : 0;
	if (fd >= 0)
		close(fd);
	while (size > 0 && buf[size - 1] == '\n')
		size--;
	buf[size > 0 ? size : 0] = '\0';
	char *at = buf + strlen(buf);
	while (at > buf && lines < TAIL_LINES)
		lines += *--at == '\n';
	at += *at == '\n';
	snprintf(text, TEXT_SIZE, "%s%s", at[0] != '\0' ? ", after it had printed: " : "", at);
	for (char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ')
			*c = *c == '\n' ? '|' : ' ';
}

/** Fail with NB_FAIL because the server has ended; `when` is part of the text. */
static int
tell_end(const struct server *server, const char *when)
{
	static const char *const places[] = {[GUARD_USER] = "cannot become the user",
		[GUARD_DIRECTORY] =
			"cannot enter its directory, or one above it; use a --path that its user can enter",
		[GUARD_CPUS] = "cannot run on these CPUs",
		[GUARD_EXEC] = "cannot be executed"};
	const struct guard *guard = &server->guard;
	char tail[TEXT_SIZE], name[PROCESS_SIGNAL_SIZE], how[64];
	if (guard->failed_at != 0)
		return error_set(NB_FAIL, "the %s %s: %s (%s)", server->name,
			places[guard->failed_at], strerror(guard->cause),
			guard->failed_at == GUARD_USER ? server->common->user_name
						       : server->directory);
	read_tail(server, tail);
	if (WIFSIGNALED(guard->status))
		snprintf(how, sizeof(how), "was killed by %s",
			process_signal_name(WTERMSIG(guard->status), name));
	else
		snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(guard->status));
	return error_set(
		NB_FAIL, "the %s %s %s%s (%s)", server->name, how, when, tail, server->log);
}

int
server_look(struct server *server)
{
	return server->guard.pid > 0 && guard_look(&server->guard)
		? tell_end(server, "during the run")
		: NB_OK;
}

/* ---- directories, sockets and ports ---- */

static char *
file_of(const struct server *server, const char *suffix)
{
	char *path;
	return asprintf(&path, "%s.%s", server->directory, suffix) < 0 ? NULL : path;
}

/** Make the server's user the owner of a directory. */
static int
give(const char *path, const struct server_common *common)
{
	if (common->as != NULL && chown(path, common->user.uid, common->user.gid) != 0)
		return error_system(
			"%s: cannot be given to the user %s", path, common->user_name);
	return NB_OK;
}

/** Lock the directory; wait for the server of a killed run, which its guard is stopping. */
static int
take_lock(struct server *server)
{
	uint64_t limit_ns = target_spec_number(server->common->spec, TARGET_STOP_TIMEOUT) +
		10000000000;
	uint64_t begin = clock_monotonic();
	char *path = file_of(server, "lock");
	int rc = path != NULL ? NB_OK : error_memory();
	if (rc == NB_OK) {
		server->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		rc = server->lock >= 0 ? NB_OK : error_system("%s", path);
	}
	while (rc == NB_OK && flock(server->lock, LOCK_EX | LOCK_NB) != 0 &&
		errno == EWOULDBLOCK) {
		if (stop_requested())
			rc = error_interrupted();
		else if (clock_monotonic() - begin > limit_ns)
			rc = error_set(NB_FAIL,
				"%s: the %s of another run still uses it; stop that, or use another --path",
				server->directory, server->name);
		usleep(LOOK_US);
	}
	free(path);
	return rc;
}

static void
drop_lock(struct server *server)
{
	if (server->lock >= 0)
		close(server->lock);
	server->lock = -1;
}

int
server_wait(struct server *server)
{
	char *path = file_of(server, "lock");
	int rc = path == NULL             ? error_memory()
		: access(path, F_OK) == 0 ? take_lock(server)
					  : NB_OK;
	free(path);
	drop_lock(server);
	return rc;
}

static int
make_directory(struct server *server)
{
	if (mkdir(server->directory, 0700) != 0 && errno != EEXIST)
		return error_system("%s", server->directory);
	int fd = open(server->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return error_system("%s", server->directory);
	int rc = tree_empty(fd, server->directory);
	close(fd);
	return rc == NB_OK ? give(server->directory, server->common) : rc;
}

int
server_prepare(struct server *server)
{
	int rc = take_lock(server);
	char *mark = rc == NB_OK ? file_of(server, "prepared") : NULL;
	if (mark == NULL)
		return rc != NB_OK ? rc : error_memory();
	bool is_new = access(mark, F_OK) != 0;
	rc = is_new ? make_directory(server) : NB_OK;
	if (rc == NB_OK && is_new && server->common->spec->texts[TARGET_PREPARE] != NULL)
		rc = server_do(server, TARGET_PREPARE);
	int fd = rc == NB_OK ? open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd >= 0)
		close(fd);
	else if (rc == NB_OK)
		rc = error_system("%s", mark);
	free(mark);
	return rc;
}

/** Create the directory of the socket. Only this user can access $XDG_RUNTIME_DIR. */
static int
make_socket_dir(struct server *server)
{
	static const char name[] = "mininb-server-XXXXXX";
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	bool is_fit = runtime != NULL && runtime[0] == '/' && server->common->as == NULL &&
		strlen(runtime) + sizeof(name) + 16 < SERVER_SOCKET &&
		access(runtime, W_OK | X_OK) == 0;
	snprintf(server->socket_dir, sizeof(server->socket_dir), "%s/%s",
		is_fit ? runtime : "/tmp", name);
	if (mkdtemp(server->socket_dir) == NULL) {
		int rc = error_system(
			"%s: cannot make a directory for a socket", server->socket_dir);
		server->socket_dir[0] = '\0';
		return rc;
	}
	snprintf(server->socket, sizeof(server->socket), "%s/s", server->socket_dir);
	return give(server->socket_dir, server->common);
}

static int
open_port(uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons(*port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 1) != 0 ||
		getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
		close(fd);
		return -1;
	}
	*port = ntohs(address.sin_port);
	return fd;
}

static bool
is_port_free(unsigned port)
{
	uint16_t wanted = (uint16_t)port;
	int fd = port <= UINT16_MAX ? open_port(&wanted) : -1;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/** Reuse the previous port: the servers of a cluster store each other's addresses. */
static int
recall_port(struct server *server)
{
	char *path = file_of(server, "port");
	FILE *file = path != NULL ? fopen(path, "re") : NULL;
	if (file != NULL && fgets(server->port, sizeof(server->port), file) == NULL)
		server->port[0] = '\0';
	if (file != NULL)
		fclose(file);
	free(path);
	unsigned port = (unsigned)atoi(server->port);
	if (port == 0 || (is_port_free(port) && is_port_free(port + BUS)))
		return NB_OK;
	return error_set(NB_FAIL,
		"the %s was made for port %u, which, or %u, another program uses now; stop that, or use --fresh",
		server->name, port, port + BUS);
}

static int
keep_port(const struct server *server)
{
	char *path = file_of(server, "port");
	FILE *file = path != NULL ? fopen(path, "we") : NULL;
	int rc = file != NULL ? NB_OK : error_system("%s", path != NULL ? path : "memory");
	if (file != NULL && (fputs(server->port, file) < 0 || fclose(file) != 0))
		rc = error_system("%s", path);
	free(path);
	return rc;
}

static int
choose_port(struct server *server)
{
	bool has_bus = target_spec_number(server->common->spec, TARGET_BUS) != 0;
	server->port[0] = '\0';
	int rc = has_bus ? recall_port(server) : NB_OK;
	if (rc != NB_OK || server->port[0] != '\0')
		return rc;
	for (int i = 0; i < PORT_TRIES; i++) {
		uint16_t port = 0;
		int fd = open_port(&port);
		if (fd >= 0)
			close(fd);
		if (fd >= 0 && (!has_bus || is_port_free(port + BUS))) {
			snprintf(server->port, sizeof(server->port), "%u", port);
			return has_bus ? keep_port(server) : NB_OK;
		}
	}
	return error_set(NB_FAIL, "the %s finds no free port on 127.0.0.1", server->name);
}

/* ---- start ---- */

/** Start a command; as the server if `key` is TARGET_COMMAND. */
static int
launch(struct server *server, struct guard *guard, enum target_key key)
{
	const struct server_common *common = server->common;
	bool is_server = key == TARGET_COMMAND;
	struct words words, stop_words = {0};
	char *program, *stop_program = NULL;
	int rc = server_find_command(&words, &program, server, key);
	if (rc != NB_OK)
		return rc;
	uint64_t stop_signal = target_spec_number(common->spec, TARGET_STOP);
	struct stat log;
	server->log_size = stat(server->log, &log) == 0 ? log.st_size : 0;
	if (is_server && stop_signal == 0)
		rc = server_find_command(&stop_words, &stop_program, server, TARGET_STOP);
	const struct guard_ask ask = {.program = program,
		.words = &words,
		.directory = server->directory,
		.log = server->log,
		.cpus = is_server ? common->on : NULL,
		.user = common->as,
		.stop_signal = is_server && stop_signal != 0 ? (int)stop_signal : SIGTERM,
		.stop_program = stop_program,
		.stop_words = &stop_words,
		.stop_timeout_ns = target_spec_number(common->spec, TARGET_STOP_TIMEOUT),
		.scratch = is_server ? server->socket_dir : NULL,
		.lock = server->lock};
	if (rc == NB_OK)
		rc = guard_start(guard, &ask);
	words_destroy(&words);
	words_destroy(&stop_words);
	free(program);
	free(stop_program);
	return rc;
}

int
server_do(struct server *server, enum target_key key)
{
	struct server it = *server; /* a copy with its own guard */
	uint64_t begin = clock_monotonic();
	uint64_t limit_ns = target_spec_number(server->common->spec, TARGET_START_TIMEOUT);
	int rc = launch(server, &it.guard, key);
	if (rc != NB_OK)
		return rc;
	while (rc == NB_OK && !guard_look(&it.guard)) {
		if (stop_requested())
			rc = error_interrupted();
		else if (clock_monotonic() - begin > limit_ns)
			rc = error_set(NB_FAIL,
				"the %s: '%s' takes longer than %s (start-timeout)",
				server->name, target_spec_text(server->common->spec, key),
				UNITS_NS(limit_ns));
		usleep(LOOK_US);
	}
	guard_await(&it.guard);
	bool is_well = it.guard.failed_at == 0 && it.guard.status == 0;
	return rc == NB_OK && !is_well
		? tell_end(&it,
			  key == TARGET_PREPARE ? "while it was prepared"
						: "while servers were joined")
		: rc;
}

int
server_start(struct server *server)
{
	int rc = server->lock >= 0 ? NB_OK : take_lock(server);
	if (rc == NB_OK)
		rc = make_socket_dir(server);
	if (rc == NB_OK)
		rc = choose_port(server);
	if (rc != NB_OK)
		return rc;
	free(server->address);
	server->address = NULL;
	rc = server_expand(NULL, &server->address, server, TARGET_ADDRESS);
	return rc == NB_OK ? launch(server, &server->guard, TARGET_COMMAND) : rc;
}

static int
connect_once(const char *address)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM};
	if (strncmp(address, "unix:", 5) == 0) {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", address + 5);
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int rc = connect(fd, (struct sockaddr *)&un, sizeof(un));
		close(fd);
		return rc;
	}
	const char *port = strrchr(address, ':');
	char host[256];
	bool has_brackets = address[0] == '[';
	snprintf(host, sizeof(host), "%.*s", (int)(port - address) - 2 * has_brackets,
		address + has_brackets);
	if (getaddrinfo(host, port + 1, &hints, &found) != 0)
		return -1;
	int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = connect(fd, found->ai_addr, found->ai_addrlen);
	close(fd);
	freeaddrinfo(found);
	return rc;
}

static bool
has_printed(const struct server *server, const char *text)
{
	char *all = NULL;
	size_t size = 0;
	FILE *log = fopen(server->log, "re");
	bool is_there = false;
	if (log != NULL && fseeko(log, server->log_size, SEEK_SET) != 0)
		text = "\n"; /* matches no line */
	while (log != NULL && !is_there && getline(&all, &size, log) >= 0)
		is_there = strstr(all, text) != NULL;
	free(all);
	if (log != NULL)
		fclose(log);
	return is_there;
}

static bool
is_ready(const struct server *server)
{
	static const char output[] = "output:";
	const char *ready = target_spec_text(server->common->spec, TARGET_READY);
	return strncmp(ready, output, strlen(output)) == 0
		? has_printed(server, ready + strlen(output))
		: connect_once(server->address) == 0;
}

/** Whether another program has taken its port. */
static bool
has_lost_port(const struct server *server)
{
	const struct guard *guard = &server->guard;
	unsigned port = (unsigned)atoi(server->port);
	bool has_bus = target_spec_number(server->common->spec, TARGET_BUS) != 0;
	return guard->failed_at == 0 &&
		(!is_port_free(port) || (has_bus && !is_port_free(port + BUS)));
}

int
server_await(struct server *server)
{
	uint64_t begin = clock_monotonic();
	uint64_t limit_ns = target_spec_number(server->common->spec, TARGET_START_TIMEOUT);
	for (int attempt = 1;; usleep(LOOK_US)) {
		if (guard_look(&server->guard)) {
			bool is_again = attempt++ < ATTEMPTS && has_lost_port(server);
			int rc = is_again ? server_stop(server)
					  : tell_end(server, "before it was ready");
			if (is_again && rc == NB_OK)
				rc = server_start(server);
			if (rc != NB_OK)
				return rc;
		}
		if (stop_requested())
			return error_interrupted();
		if (is_ready(server) && !guard_look(&server->guard))
			return NB_OK;
		if (clock_monotonic() - begin > limit_ns) {
			char tail[TEXT_SIZE];
			read_tail(server, tail);
			return error_set(NB_FAIL,
				"the %s is not ready after %s (start-timeout)%s (%s)",
				server->name, UNITS_NS(limit_ns), tail, server->log);
		}
	}
}

/* ---- end ---- */

void
server_order_stop(struct server *server)
{
	guard_order_stop(&server->guard);
}

int
server_stop(struct server *server)
{
	bool had_ended = server->guard.pid <= 0 || guard_look(&server->guard);
	guard_await(&server->guard);
	drop_lock(server);
	if (server->socket_dir[0] != '\0')
		rmdir(server->socket_dir); /* if no guard was there to remove it */
	server->socket_dir[0] = '\0';
	if (had_ended || !WIFSIGNALED(server->guard.status) ||
		WTERMSIG(server->guard.status) != SIGKILL)
		return NB_OK;
	return error_set(NB_FAIL,
		"the %s did not stop within %s (stop-timeout), so mininb killed it",
		server->name,
		UNITS_NS(target_spec_number(server->common->spec, TARGET_STOP_TIMEOUT)));
}

int
server_create(struct server *server, const struct server_common *common, size_t number)
{
	const struct target_place *place = common->place;
	bool is_one = common->count == 1;
	*server = (struct server){.common = common, .lock = -1};
	server->guard.orders = server->guard.reports = -1;
	snprintf(server->number, sizeof(server->number), "%zu", number);
	snprintf(server->name, sizeof(server->name), "%.64s server%s%s", place->name,
		is_one ? "" : " ", is_one ? "" : server->number);
	if (asprintf(&server->directory, "%s/%zu", common->directory, number) < 0)
		server->directory = NULL;
	if (asprintf(&server->log, "%s/%s%s%s.log", place->logs, place->name, is_one ? "" : "-",
		    is_one ? "" : server->number) < 0)
		server->log = NULL;
	return server->directory != NULL && server->log != NULL ? NB_OK : error_memory();
}

void
server_destroy(struct server *server)
{
	int rc = server_stop(server);
	(void)rc; /* cannot be reported at the end */
	free(server->directory);
	free(server->log);
	free(server->address);
	*server = (struct server){.lock = -1};
}
