/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_REQUESTS_H
#define NET_REQUESTS_H
/**
 * The requests of a session: each goes to the server of its key, and answers come from all
 * servers. Threads: the session's.
 */
#include "../remote/address.h"
#include "link.h"
#include "scan.h"

struct nb_db {
	const struct nb_host *host;
	const char *const *targets;
	uint32_t target_count;
	uint32_t inflight_ops;
	uint64_t inflight_bytes, value_size;
	bool has_scan;
	struct stream_options stream;
	uint64_t polled, slept; /* atomic: waits of sessions, see remote/spin.h */
	struct link *links;     /* of the database thread, for frames for whole databases */
	struct buffer text;
};

struct nb_session {
	struct nb_db *db;
	struct link *links;
	struct stream **streams;
	uint64_t waits;
	uint32_t count, next;  /* next: the link from which answers are taken first */
	uint64_t limit, taken; /* maximum and current number of requests in flight */
	uint64_t unsent;       /* requests in batches that are not sent yet */
	uint64_t bytes, bytes_max;
	struct nb_completion *completions; /* of multi_get and batch */
	struct scan scan;
	/* Answers that arrived while a single verb waited: the next reap returns them. */
	struct nb_completion *early;
	size_t early_count, early_returned;
};

/** The link to the server of a key. */
static inline struct link *
session_link(struct nb_session *session, struct nb_slice key)
{
	return &session->links[split_server(key, session->count)];
}

/** Find the link of a request. All steps of an execute must be on the same server. */
int
requests_link(struct nb_session *session, const struct nb_request *request, struct link **out);

/** Send the added requests to all servers. */
int
requests_send(struct nb_session *session);

/** nb_engine.submit */
int
requests_submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken);

/** nb_engine.reap: kept answers first. */
int
requests_reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns);

/** Take answers from the servers, like nb_engine.reap. */
int
requests_reap_links(struct nb_session *session, struct nb_completion *out, size_t room,
	size_t *count, uint64_t timeout_ns);

/** Before a single verb: wait for the answers of all requests in flight, and keep them. */
int
requests_keep_early(struct nb_session *session);

/** nb_engine.release */
void
requests_release(struct nb_session *session);

/** Add the counters of a session to those of its database. */
void
requests_count_waits(struct nb_session *session);

#endif /* NET_REQUESTS_H */
