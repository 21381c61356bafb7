/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads of a server. Each waits for its connections with epoll and takes no lock.
 *
 * Waiting. Falling asleep and waking up takes longer than a request. So a thread polls
 * before it sleeps, up to the time of the option spin, as long as that pays off
 * (plugins/remote/spin.h).
 *
 * While requests are in flight (async.h), a thread alternates between its connections and
 * waits of REAP_NS for the engine, because one call cannot wait for both.
 *
 * A transport with its own event queues (transport_ofi.c) has one file in the epoll, with
 * the thread as its data. The transport itself finds the connections that have events.
 *
 * When the server pauses for an errand on the whole database, a thread returns from
 * thread_serve() with its session open and is called again later; its connections stay.
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "run/run.h"
#include "serve/server.h"

enum { EVENTS = 64, TICK_MS = 1, IDLE_MS = 1000, REAP_NS = 100000 };
#define FINISH_NS UINT64_C(1000000000) /* limit at the end for clients to read their answers */

void
thread_wake(const struct thread *thread)
{
	(void)!write(thread->wake, &(uint64_t){1}, sizeof(uint64_t));
}

static void
take_new(struct thread *thread)
{
	uint64_t count;
	(void)!read(thread->wake, &count, sizeof(count));
	struct conn *conn = __atomic_exchange_n(&thread->mailbox, NULL, __ATOMIC_ACQUIRE);
	while (conn != NULL) {
		struct conn *next = conn->next;
		conn_begin(thread, conn);
		conn = next;
	}
}

void
thread_send_errand(struct conn *conn, uint32_t kind, uint32_t upto)
{
	struct thread *thread = conn->thread;
	struct server *server = thread->server;
	thread->errand.is_there = true;
	thread->errand.kind = kind;
	thread->errand.upto = upto;
	thread->errand_of = conn;
	conn->is_waiting = true;
	__atomic_store_n(&server->is_paused, 1, __ATOMIC_RELEASE);
	(void)!write(server->wake, &(uint64_t){1}, sizeof(uint64_t));
}

/** Answer the errand that the main thread has executed. */
static void
end_errand(struct thread *thread)
{
	struct errand *errand = &thread->errand;
	struct conn *conn = thread->errand_of;
	if (!errand->is_there)
		return;
	thread->errand_of = NULL;
	errand->is_there = false;
	if (conn != NULL && conn->protocol == PROTOCOL_WIRE)
		wire_answer_errand(conn, errand);
	else if (conn != NULL)
		resp_answer_errand(conn, errand);
	bytes_free(&errand->text);
	if (conn != NULL)
		conn_resume(conn);
}

bool
thread_must_return(const struct thread *thread)
{
	const struct server *server = thread->server;
	return (__atomic_load_n(&server->is_paused, __ATOMIC_ACQUIRE) |
		       __atomic_load_n(&server->is_ending, __ATOMIC_ACQUIRE)) != 0;
}

static bool
has_news(struct thread *thread)
{
	const struct transport *transport = thread->server->transport;
	return transport->has_news != NULL && transport->has_news(thread);
}

static bool
may_sleep(struct thread *thread)
{
	const struct transport *transport = thread->server->transport;
	return transport->may_sleep == NULL || transport->may_sleep(thread);
}

/** Get events without waiting; true: some events, or transport news. */
static bool
look(struct thread *thread, struct epoll_event *events, int *count)
{
	*count = epoll_wait(thread->epoll, events, EVENTS, 0);
	return *count != 0 || has_news(thread);
}

/** Poll without sleeping, as long as that pays off. true: something arrived. */
static bool
spin(struct thread *thread, struct epoll_event *events, int *count)
{
	if (!spin_begin(&thread->spin, clock_monotonic()))
		return false;
	do {
		if (look(thread, events, count)) {
			spin_end(&thread->spin);
			return true;
		}
	} while (spin_goes_on(&thread->spin, clock_monotonic()));
	return false;
}

/** Get events: at once, else by polling, else after a sleep. */
static int
wait_events(struct thread *thread, struct epoll_event *events)
{
	const struct server *server = thread->server;
	struct async *async = thread->window.async;
	int count;
	if (look(thread, events, &count))
		return count;
	if (async != NULL && async->count > 0) {
		async_reap(async, REAP_NS);
		return 0;
	}
	if (spin(thread, events, &count))
		return count;
	if (!may_sleep(thread))
		return 0;
	if (server->engine.tick == NULL)
		return epoll_wait(thread->epoll, events, EVENTS, IDLE_MS);
	count = epoll_wait(thread->epoll, events, EVENTS, TICK_MS);
	if (count != 0)
		return count;
	(void)!server->engine.tick(thread->window.session);
	return epoll_wait(thread->epoll, events, EVENTS, IDLE_MS);
}

/** Send the answers of requests that the engine has finished meanwhile. */
static void
send_flown(struct thread *thread)
{
	struct async *async = thread->window.async;
	struct conn *conn;
	while (async != NULL && (conn = async->listed) != NULL && !thread_must_return(thread)) {
		async->listed = conn->async.next_listed;
		conn->async.is_listed = false;
		conn_answer(conn);
	}
}

static void
serve_events(struct thread *thread)
{
	struct epoll_event events[EVENTS];
	const struct transport *transport = thread->server->transport;
	int count = wait_events(thread, events);
	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr == NULL)
			take_new(thread);
		else if (events[i].data.ptr == thread)
			/* from now on its file must report new events */
			(void)may_sleep(thread);
		else if (!thread_must_return(thread))
			conn_wake(events[i].data.ptr);
	}
	if (transport->serve_news != NULL)
		transport->serve_news(thread, false);
	if (thread->window.async != NULL)
		async_reap(thread->window.async, 0);
	send_flown(thread);
}

void
thread_drop_all(struct thread *thread)
{
	if (thread->epoll < 0)
		return;
	take_new(thread);
	while (thread->conns != NULL)
		conn_close(thread->conns);
}

/**
 * Answer the requests already read, as long as clients read the answers, but at most
 * FINISH_NS.
 */
static void
finish(struct thread *thread)
{
	const struct transport *transport = thread->server->transport;
	uint64_t until_ns = clock_monotonic() + FINISH_NS;
	take_new(thread);
	for (struct conn *conn = thread->conns, *next; conn != NULL; conn = next) {
		next = conn->next;
		conn->is_waiting = false;
		conn_finish(conn);
	}
	while (thread->conns != NULL && clock_monotonic() < until_ns) {
		struct epoll_event events[EVENTS];
		int count = epoll_wait(thread->epoll, events, EVENTS, 10);
		for (int i = 0; i < count; i++)
			if (events[i].data.ptr != NULL && events[i].data.ptr != thread)
				conn_wake(events[i].data.ptr);
		if (transport->serve_news != NULL)
			transport->serve_news(thread, true);
	}
	thread_drop_all(thread);
}

static int
begin(struct thread *thread)
{
	struct server *server = thread->server;
	int rc = server->options.is_pinned ? run_pin(thread->id) : NB_OK;
	if (rc != NB_OK || thread->window.session != NULL)
		return rc;
	error_set(NB_OK, "%s", "");
	rc = server->engine.session_open(&thread->window.session, server->db, thread->id);
	return rc == NB_OK ? NB_OK
			   : error_prefix(rc < 0 ? rc : NB_FAIL, "%s: opening a session",
				     server->engine.name);
}

static void
end_session(struct thread *thread)
{
	if (thread->window.session == NULL)
		return;
	async_drain(thread->window.async);
	int rc = thread->server->engine.session_close(thread->window.session);
	thread->window.session = NULL;
	if (rc < 0)
		log_message(NB_LOG_WARNING, "%s: closing a session: %s",
			thread->server->engine.name, nb_error_text());
}

void
thread_serve(void *arg, uint32_t id, int phase)
{
	struct server *server = arg;
	struct thread *thread = &server->threads[id];
	if (phase == PHASE_CLOSE) {
		end_session(thread);
		return;
	}
	bool is_ending = __atomic_load_n(&server->is_ending, __ATOMIC_ACQUIRE) != 0;
	if (is_ending && thread->window.session == NULL)
		return;
	int rc = begin(thread);
	if (rc != NB_OK) {
		thread->rc = rc;
		snprintf(thread->text, sizeof(thread->text), "%s", nb_error_text());
		__atomic_store_n(&server->has_failed, 1, __ATOMIC_RELEASE);
		(void)!write(server->wake, &(uint64_t){1}, sizeof(uint64_t));
		return;
	}
	end_errand(thread);
	send_flown(thread);
	while (!thread_must_return(thread))
		serve_events(thread);
	async_drain(thread->window.async);
	if (__atomic_load_n(&server->is_ending, __ATOMIC_ACQUIRE) != 0) {
		finish(thread);
		end_session(thread);
	}
}
