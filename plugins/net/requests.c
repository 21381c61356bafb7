/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When batches are sent. A send over TCP takes as long as tens of small requests. So one write
 * sends several batches: all that were submitted until they hold half of the requests that may be
 * in flight, or SEND_BYTES, or until reap has no more answers. The server executes one half
 * while the host makes the other.
 */
#include "requests.h"

enum {
	WAITS_COUNTED = 256,   /* between two updates of the database's counters */
	SEND_BYTES = 32 * 1024 /* to one server: a write for more saves nothing */
};

void
requests_count_waits(struct nb_session *session)
{
	for (uint32_t i = 0; session->links != NULL && i < session->count; i++) {
		struct spin *spin = &session->links[i].stream.spin;
		__atomic_fetch_add(&session->db->polled, spin->polled, __ATOMIC_RELAXED);
		__atomic_fetch_add(&session->db->slept, spin->slept, __ATOMIC_RELAXED);
		spin->polled = spin->slept = 0;
	}
}

int
requests_link(struct nb_session *session, const struct nb_request *request, struct link **out)
{
	if (request->verb != NB_REQ_EXECUTE) {
		*out = session_link(session, request->key);
		return NB_OK;
	}
	*out = &session->links[0];
	for (uint64_t i = 0; i < request->step_count; i++) {
		struct link *link = session_link(session, request->steps[i].key);
		if (i > 0 && link != *out)
			return session->db->host->fail(NB_UNSUPPORTED,
				"the keys of an execute are on different servers");
		*out = link;
	}
	if (request->step_count > NB_WIRE_STEPS_MAX)
		return session->db->host->fail(NB_UNSUPPORTED,
			"an execute may have %u steps, not %llu", NB_WIRE_STEPS_MAX,
			(unsigned long long)request->step_count);
	return NB_OK;
}

/** End the current batches, and send to each server that has at least `least` unsent bytes. */
static int
send_from(struct nb_session *session, size_t least)
{
	int rc = NB_OK;
	for (uint32_t i = 0; i < session->count && rc == NB_OK; i++)
		rc = link_send(&session->links[i], least);
	return rc;
}

int
requests_send(struct nb_session *session)
{
	session->unsent = 0;
	return send_from(session, 0);
}

static bool
has_room(const struct nb_session *session, const struct nb_request *request)
{
	uint64_t taken = session->taken + session->early_count - session->early_returned;
	return taken < session->limit &&
		(session->taken == 0 ||
			session->bytes + request->key.size + request->value.size <=
				session->bytes_max);
}

int
requests_submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	int rc = NB_OK;
	*taken = 0;
	for (; *taken < count && has_room(session, &requests[*taken]); ++*taken) {
		const struct nb_request *request = &requests[*taken];
		struct link *link;
		rc = requests_link(session, request, &link);
		if (rc == NB_OK && !link_has_room(link))
			break;
		if (rc == NB_OK)
			rc = link_add(link, request);
		if (rc != NB_OK)
			break;
		session->taken++;
		session->bytes += request->key.size + request->value.size;
	}
	/* If a request fails, send the requests before it. The next call reports the failure. */
	if (rc != NB_OK && *taken == 0)
		return rc;
	session->unsent += *taken;
	rc = 2 * session->unsent >= session->limit ? requests_send(session)
						   : send_from(session, SEND_BYTES);
	return rc == NB_OK ? NB_PENDING : rc;
}

/** Take received answers from all links in turn. */
static int
take_all(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count)
{
	uint64_t bytes = 0;
	int rc = NB_OK;
	*count = 0;
	for (uint32_t i = 0; i < session->count && rc == NB_OK && *count < room; i++) {
		size_t some;
		rc = link_take(&session->links[(session->next + i) % session->count],
			out + *count, room - *count, &some, &bytes);
		*count += some;
	}
	session->next++;
	session->taken -= *count;
	session->bytes -= bytes;
	/* Return the answers before a failure; the next call returns the failure. */
	return *count > 0 ? NB_OK : rc;
}

static int
wait_all(struct nb_session *session, uint64_t timeout_ns)
{
	size_t came;
	if (++session->waits % WAITS_COUNTED == 0)
		requests_count_waits(session);
	if (session->count == 1)
		return stream_wait(
			session->streams[0], session->links[0].need, timeout_ns, &came);
	int rc = streams_wait(session->streams, session->count, timeout_ns);
	for (uint32_t i = 0; i < session->count && rc == NB_OK; i++) {
		rc = stream_push(session->streams[i]);
		if (rc == NB_OK)
			rc = stream_pull(session->streams[i], session->links[i].need, &came);
	}
	return rc;
}

int
requests_reap_links(struct nb_session *session, struct nb_completion *out, size_t room,
	size_t *count, uint64_t timeout_ns)
{
	uint64_t begin_ns = timeout_ns > 0 ? stream_now_ns() : 0, gone_ns = 0;
	*count = 0;
	while (session->taken > 0) {
		int rc = take_all(session, out, room, count);
		if (rc != NB_OK || *count > 0 || gone_ns > timeout_ns)
			return rc;
		rc = session->unsent > 0 ? requests_send(session) : NB_OK;
		if (rc == NB_OK)
			rc = wait_all(session, timeout_ns - gone_ns);
		if (rc != NB_OK)
			return rc;
		/* look once more at the received bytes, even if the time is over */
		gone_ns = timeout_ns > 0 ? stream_now_ns() - begin_ns : 1;
	}
	return NB_OK;
}

int
requests_reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	size_t early = session->early_count - session->early_returned;
	if (__builtin_expect(early == 0, 1))
		return requests_reap_links(session, out, room, count, timeout_ns);
	*count = early < room ? early : room;
	memcpy(out, session->early + session->early_returned, *count * sizeof(*out));
	session->early_returned += *count;
	return NB_OK;
}

int
requests_keep_early(struct nb_session *session)
{
	size_t kept = session->early_count - session->early_returned, some;
	if (session->early == NULL)
		session->early = malloc(session->limit * sizeof(*session->early));
	if (session->early == NULL)
		return session->db->host->fail(NB_FAIL, "out of memory");
	memmove(session->early, session->early + session->early_returned,
		kept * sizeof(*session->early));
	session->early_count = kept;
	session->early_returned = 0;
	int rc = NB_OK;
	while (session->taken > 0 && rc == NB_OK) {
		rc = requests_reap_links(session, session->early + session->early_count,
			session->limit - session->early_count, &some, STREAM_FOREVER / 2);
		session->early_count += some;
	}
	return rc;
}

void
requests_release(struct nb_session *session)
{
	if (session->early_returned < session->early_count)
		return; /* reap has to lend these answers first */
	for (uint32_t i = 0; i < session->count; i++)
		stream_release(session->streams[i]);
}
