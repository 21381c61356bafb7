/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a server, on the main thread:
 *
 *         check the options, bind the address, claim the directory, open the database
 *         listen; until nb_stop():
 *             accept connections, each for the thread that has the fewest
 *             errands: all threads pause, the engine's verb is called, they continue
 *         stop accepting; the threads answer the requests they have read, and close
 *         close the database
 *
 * Requests never pass through this thread. It hands connections over by an atomic list for
 * each thread, so the threads share no lock. It balances them by count. Rejected:
 * SO_REUSEPORT, whose hash would give both of two connections to one of two threads half of
 * the time.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mininb/files.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "run/engine.h"
#include "run/run.h"
#include "serve/server.h"

enum {
	LOOK_MS = 100,
	OTHER_FILES = 64, /* files of the engine and this library, except sockets */
	THREADS_MAX = 1024
};

/* ---- before ---- */

static int
check(struct server *server)
{
	const struct nb_serve_options *options = &server->options;
	const struct nb_engine *engine = &server->engine;
	if (options->threads == 0 || options->threads > THREADS_MAX)
		return error_set(NB_ERR_USAGE, "threads: must be 1 to %d", THREADS_MAX);
	if ((engine->caps & NB_CAP_REMOTE) != 0)
		return error_set(NB_UNSUPPORTED,
			"driver: %s is a client of a server; serve lends embedded engines",
			engine->name);
	if (options->threads > 1 && (engine->caps & NB_CAP_CONCURRENT) == 0)
		return error_set(NB_UNSUPPORTED,
			"threads: %s supports one thread only; its sessions cannot run in parallel",
			engine->name);
	if (options->value_max == 0 || options->value_max > NB_VALUE_SIZE_MAX)
		return error_set(
			NB_ERR_USAGE, "max-value: must be 1 to %u bytes", NB_VALUE_SIZE_MAX);
	if (options->is_async != 0 && (engine->submit == NULL || engine->reap == NULL))
		return error_set(NB_UNSUPPORTED,
			"async: %s cannot keep requests in flight; leave --async out",
			engine->name);
	server->durability = options->durability == NB_DUR_AUTO
		? engine_auto_durability(engine, options->path)
		: options->durability;
	return engine_check_durability(engine, server->durability);
}

static int
load(struct server *server)
{
	const struct nb_serve_options *options = &server->options;
	int rc = nb_engine_load(&server->ref, options->driver);
	if (rc == NB_OK)
		rc = nb_engine_configure(&server->values, server->ref, options->engine_options,
			options->engine_option_count);
	if (rc != NB_OK)
		return rc;
	server->engine = *nb_engine_table(server->ref);
	return check(server);
}

static int
choose_transport(struct server *server)
{
	const bool is_ofi = server->options.transport == NB_SERVE_OFI;
	if (server->options.transport > NB_SERVE_OFI)
		return error_set(NB_ERR_USAGE, "transport: must be sockets or ofi");
	if (is_ofi && transport_ofi == NULL)
		return error_set(NB_UNSUPPORTED,
			"transport: mininb was built without libfabric; install libfabric-dev and "
			"build it again, or leave --transport=ofi out");
	server->transport = is_ofi ? transport_ofi : &transport_socket;
	return NB_OK;
}

static int
bind_address(struct server *server)
{
	return server->transport->bind(server, server->options.listen);
}

/** Raise the limit of open files for the connections, or reduce the number of connections. */
static void
limit_connections(struct server *server)
{
	struct rlimit limit;
	uint32_t asked = server->options.connections;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	rlim_t wanted = (rlim_t)asked + OTHER_FILES;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
		(void)getrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur >= wanted)
		return;
	server->options.connections = limit.rlim_cur > 2 * OTHER_FILES
		? (uint32_t)limit.rlim_cur - OTHER_FILES
		: OTHER_FILES;
	log_message(NB_LOG_WARNING,
		"the limit of open files (ulimit -n) allows %u connections, not %u",
		server->options.connections, asked);
}

/** Claim the database's directory, so that no other process uses it. */
static int
claim(struct server *server)
{
	const char *path = server->options.path, *name = server->engine.name;
	bool is_forced = (server->options.flags & NB_RUN_FORCE) != 0;
	bool is_fresh = (server->options.flags & NB_RUN_FRESH) != 0;
	bool is_kept = (server->engine.caps & NB_CAP_PERSISTENT) != 0;
	if (asprintf(&server->path, "%s/%s", path, name) < 0)
		return error_memory();
	int rc = marker_allow(path, name, is_fresh, is_forced);
	if (rc == NB_OK)
		rc = nb_tree_make(server->path);
	if (rc == NB_OK)
		rc = marker_put(&server->marker, path, name,
			is_kept ? MARKER_EXCLUSIVE : MARKER_UNLOCKED, is_forced);
	if (rc != NB_OK || !is_fresh)
		return rc;
	server->marker.load = (struct marker_load){.done = 0};
	return marker_clear(path, name);
}

static int
engine_failure(const struct server *server, int rc, const char *call)
{
	if (nb_error_text()[0] == '\0')
		error_set(NB_FAIL,
			rc > 0 ? "may answer only NB_OK or a failure"
			       : "failed without saying why");
	return error_prefix(rc < 0 ? rc : NB_FAIL, "%s: %s", server->engine.name, call);
}

static int
open_database(struct server *server)
{
	struct nb_open_args args = {.size = sizeof(args),
		.flags = NB_OPEN_CREATE,
		.host = nb_engine_host(),
		.path = server->path,
		.options = server->values,
		.cache_bytes = server->options.cache_bytes,
		.sessions = server->options.threads,
		.durability = server->durability,
		.inflight_ops = server->options.is_async != 0 ? FLIGHTS : WINDOW_MAX};
	error_set(NB_OK, "%s", "");
	int rc = server->engine.open(&server->db, &args);
	process_return_to_directory();
	return rc == NB_OK ? NB_OK : engine_failure(server, rc, "open");
}

static int
close_database(struct server *server)
{
	if (server->db == NULL)
		return NB_OK;
	error_set(NB_OK, "%s", "");
	int rc = server->engine.close(server->db);
	server->db = NULL;
	process_return_to_directory();
	return rc == NB_OK ? NB_OK : engine_failure(server, rc, "close");
}

/* ---- threads ---- */

static int
create_thread(struct server *server, uint32_t id)
{
	struct thread *thread = &server->threads[id];
	struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};
	thread->server = server;
	thread->id = id;
	window_create(&thread->window, &server->engine, &server->gate, id);
	spin_create(&thread->spin, server->options.spin_ns);
	thread->read = malloc(READ_SIZE);
	if (server->options.is_async != 0) {
		thread->window.async = async_new(&thread->window);
		if (thread->window.async == NULL)
			return error_memory();
	}
	thread->epoll = epoll_create1(EPOLL_CLOEXEC);
	thread->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (thread->read == NULL)
		return error_memory();
	if (thread->epoll < 0 || thread->wake < 0 ||
		epoll_ctl(thread->epoll, EPOLL_CTL_ADD, thread->wake, &event) != 0)
		return error_system("a thread's epoll");
	return server->transport->create_thread != NULL
		? server->transport->create_thread(thread)
		: NB_OK;
}

static int
create_threads(struct server *server)
{
	uint32_t count = server->options.threads;
	server->gate = (struct gate){.mutex = PTHREAD_MUTEX_INITIALIZER, .count = count};
	server->gate.seats = aligned_alloc(64, count * sizeof(struct gate_seat));
	server->threads = calloc(count, sizeof(*server->threads));
	if (server->threads == NULL || server->gate.seats == NULL)
		return error_memory();
	memset(server->gate.seats, 0, count * sizeof(struct gate_seat));
	for (uint32_t i = 0; i < count; i++)
		server->threads[i].epoll = server->threads[i].wake = -1;
	server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = server->wake >= 0 ? NB_OK : error_system("eventfd");
	for (uint32_t i = 0; i < count && rc == NB_OK; i++)
		rc = create_thread(server, i);
	return rc;
}

static void
destroy_threads(struct server *server)
{
	for (uint32_t i = 0; server->threads != NULL && i < server->options.threads; i++) {
		struct thread *thread = &server->threads[i];
		thread_drop_all(thread);
		bytes_free(&thread->out);
		bytes_free(&thread->errand.text);
		async_delete(thread->window.async);
		if (server->transport->destroy_thread != NULL)
			server->transport->destroy_thread(thread);
		free(thread->args.items);
		free(thread->read);
		if (thread->epoll >= 0)
			close(thread->epoll);
		if (thread->wake >= 0)
			close(thread->wake);
	}
	if (server->wake >= 0)
		close(server->wake);
	free(server->threads);
	free(server->gate.seats);
}

static void
no_tick(void *arg)
{
	(void)arg;
}

/** Wake all threads and wait until they return from the phase. */
static void
await_threads(struct server *server)
{
	for (uint32_t i = 0; i < server->options.threads; i++)
		thread_wake(&server->threads[i]);
	worker_pool_await(&server->pool, UINT64_C(1000000) * LOOK_MS, no_tick);
}

/* ---- errands ---- */

static void
emit_stat(void *to, const char *name, const char *unit, uint32_t kind, uint64_t value)
{
	struct errand *errand = to;
	char line[256];
	int size = snprintf(line, sizeof(line), "%s\t%s\t%u\t%llu\n", name,
		unit != NULL ? unit : "", kind, (unsigned long long)value);
	bytes_add(&errand->text, line, (size_t)size < sizeof(line) ? (size_t)size : 0);
	if (strcmp(name, "records") == 0)
		errand->number = value;
}

/** Add to the engine's counters how the server's threads have waited. */
static void
emit_waits(const struct server *server, struct errand *errand)
{
	uint64_t polled = 0, slept = 0;
	for (uint32_t i = 0; i < server->options.threads; i++) {
		polled += server->threads[i].spin.polled;
		slept += server->threads[i].spin.slept;
	}
	emit_stat(errand, "serve_waits_polled", "waits", NB_STAT_COUNTER, polled);
	emit_stat(errand, "serve_waits_slept", "waits", NB_STAT_COUNTER, slept);
}

/** Remove and create again a database that is a directory. */
static int
reset(struct server *server)
{
	server->view++;
	int rc = close_database(server);
	if (rc == NB_OK)
		rc = marker_clear(server->options.path, server->engine.name);
	return rc == NB_OK ? open_database(server) : rc;
}

static int
do_errand(struct server *server, struct errand *errand)
{
	const struct nb_engine *engine = &server->engine;
	error_set(NB_OK, "%s", "");
	switch (errand->kind) {
	case NB_WIRE_STATS:
		errand->number = UINT64_MAX;
		engine->stats(server->db, emit_stat, errand);
		emit_waits(server, errand);
		return NB_OK;
	case NB_WIRE_SETTLE:
		return engine->flush(server->db, errand->upto);
	case NB_WIRE_CHECKPOINT:
		return engine->checkpoint(server->db);
	default:
		return reset(server);
	}
}

static bool
has_errand(const struct server *server, uint32_t kind)
{
	for (uint32_t i = 0; i < server->options.threads; i++)
		if (server->threads[i].errand.is_there &&
			server->threads[i].errand.kind == kind)
			return true;
	return false;
}

/** Execute all errands; no thread serves meanwhile. */
static int
do_errands(struct server *server)
{
	__atomic_store_n(&server->is_paused, 0, __ATOMIC_RELEASE);
	if (has_errand(server, NB_WIRE_RESET)) {
		worker_pool_begin(&server->pool, PHASE_CLOSE);
		await_threads(server);
	}
	for (uint32_t i = 0; i < server->options.threads; i++) {
		struct errand *errand = &server->threads[i].errand;
		if (!errand->is_there)
			continue;
		errand->rc = do_errand(server, errand);
		process_return_to_directory();
		if (errand->rc != NB_OK)
			bytes_add(&errand->text, nb_error_text(), strlen(nb_error_text()));
		if (server->db == NULL) /* reopening failed */
			return errand->rc < 0 ? errand->rc : NB_FAIL;
	}
	worker_pool_begin(&server->pool, PHASE_SERVE);
	return NB_OK;
}

/* ---- connections ---- */

struct thread *
server_choose_thread(struct server *server)
{
	struct thread *least = &server->threads[0];
	uint64_t least_load = UINT64_MAX, connections = 0;
	for (uint32_t i = 0; i < server->options.threads; i++) {
		uint64_t load = __atomic_load_n(&server->threads[i].load, __ATOMIC_RELAXED);
		connections += load;
		if (load < least_load) {
			least = &server->threads[i];
			least_load = load;
		}
	}
	if (connections < server->options.connections)
		return least;
	server->refused++;
	return NULL;
}

bool
server_hand_over(struct thread *thread, int fd, void *of_transport)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	if (conn == NULL)
		return false;
	conn->fd = fd;
	conn->of_transport = of_transport;
	conn->id = ++thread->server->accepted;
	__atomic_fetch_add(&thread->load, 1, __ATOMIC_RELAXED);
	conn->next = __atomic_load_n(&thread->mailbox, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(
		&thread->mailbox, &conn->next, conn, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	thread_wake(thread);
	return true;
}

/* ---- the whole ---- */

static int
failed_thread(const struct server *server)
{
	for (uint32_t i = 0; i < server->options.threads; i++)
		if (server->threads[i].rc != NB_OK)
			return error_set(server->threads[i].rc, "%s", server->threads[i].text);
	return NB_OK;
}

/** Wait for connections, errands and the end. */
static int
serve_loop(struct server *server)
{
	int rc = NB_OK;
	bool can_accept = true;
	while (rc == NB_OK && !stop_requested() &&
		__atomic_load_n(&server->has_failed, __ATOMIC_ACQUIRE) == 0) {
		struct pollfd wait[] = {{.fd = server->wake, .events = POLLIN},
			{.fd = can_accept ? server->listener : -1, .events = POLLIN}};
		uint64_t count;
		poll(wait, 2, LOOK_MS);
		(void)!read(server->wake, &count, sizeof(count));
		can_accept = server->transport->accept(server);
		if (__atomic_load_n(&server->is_paused, __ATOMIC_ACQUIRE) != 0) {
			await_threads(server);
			rc = do_errands(server);
		}
	}
	return rc;
}

static void
refuse_errands(struct server *server)
{
	static const char text[] = "the server ends";
	for (uint32_t i = 0; i < server->options.threads; i++) {
		server->threads[i].errand.rc = NB_FAIL;
		bytes_add(&server->threads[i].errand.text, text, sizeof(text) - 1);
	}
}

/** Let the threads answer the requests they have read, and end. */
static int
end_threads(struct server *server, int rc)
{
	char text[512];
	snprintf(text, sizeof(text), "%s", nb_error_text());
	__atomic_store_n(&server->is_ending, 1, __ATOMIC_RELEASE);
	await_threads(server);
	if (rc == NB_OK) { /* threads that had paused must end as well */
		refuse_errands(server);
		worker_pool_begin(&server->pool, PHASE_SERVE);
		await_threads(server);
	}
	worker_pool_destroy(&server->pool);
	return rc == NB_OK ? failed_thread(server) : error_set(rc, "%s", text);
}

static int
serve_database(struct server *server)
{
	const struct nb_serve_options *options = &server->options;
	struct nb_serve_ready ready = {.size = sizeof(ready),
		.engine = &server->engine,
		.address = server->address,
		.threads = options->threads,
		.durability = server->durability};
	int rc = server->transport->listen(server);
	if (rc != NB_OK)
		return rc;
	rc = worker_pool_create(&server->pool, options->threads, thread_serve, server);
	if (rc != NB_OK)
		return rc;
	worker_pool_begin(&server->pool, PHASE_SERVE);
	if (options->ready != NULL)
		options->ready(options->ready_arg, &ready);
	rc = serve_loop(server);
	server->transport->close(server);
	return end_threads(server, rc);
}

static int
serve(struct server *server)
{
	static int (*const steps[])(struct server *) = {
		load, choose_transport, bind_address, create_threads, claim, open_database};
	int rc = NB_OK;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && rc == NB_OK; i++)
		rc = steps[i](server);
	if (rc != NB_OK)
		return rc;
	limit_connections(server);
	rc = serve_database(server);
	int closed = close_database(server);
	return rc == NB_OK ? closed : rc;
}

static void
sum_up(const struct server *server, struct nb_serve_report *report)
{
	report->connections = server->accepted;
	report->refused = server->refused;
	for (uint32_t i = 0; server->threads != NULL && i < server->options.threads; i++) {
		const struct thread *thread = &server->threads[i];
		const struct serve_counts *counts = &thread->window.counts;
		for (uint32_t verb = 0; verb < VERB_KINDS; verb++)
			report->verbs[verb] += counts->verbs[verb];
		report->batches += counts->batches;
		report->scans += counts->scans;
		report->failures += counts->failures;
		report->dropped += thread->dropped;
		report->bytes_in += thread->bytes_in;
		report->bytes_out += thread->bytes_out;
	}
}

int
nb_serve(const struct nb_serve_options *options, struct nb_serve_report *report)
{
	struct server server = {.listener = -1, .wake = -1, .view = 1};
	uint64_t begin_ns = clock_monotonic();
	server.options = (struct nb_serve_options)NB_SERVE_OPTIONS_INIT;
	memcpy(&server.options, options,
		options->size < sizeof(*options) ? options->size : sizeof(*options));
	*report = (struct nb_serve_report){.size = sizeof(*report)};
	process_note_directory();
	int rc = serve(&server);
	sum_up(&server, report);
	report->wall_ns = clock_monotonic() - begin_ns;
	if (server.transport != NULL)
		server.transport->close(&server);
	marker_close(&server.marker);
	destroy_threads(&server);
	if (server.transport != NULL && server.transport->destroy != NULL)
		server.transport->destroy(&server);
	if (server.ref != NULL)
		nb_options_delete(server.values, nb_engine_table(server.ref));
	nb_engine_unload(server.ref);
	free(server.path);
	return rc;
}
