/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ASYNC_H
#define ASYNC_H
/**
 * submit and reap for an engine whose gets are faster together. submit stores the requests,
 * reap executes them through the verbs of the engine's table. It combines the gets of up to
 * ASYNC_WINDOW requests in one multi_get. Everything is static inline, as in plugin.h.
 *
 * Order: a reap first executes the writes of its window in their order, then the gets.
 * Therefore a window ends before a write to a key that one of its gets reads. An execute names many
 * keys and may lend values itself, so it runs alone.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	ASYNC_ROOM = 64, /* requests in flight if the host gives no limit */
	ASYNC_WINDOW =
		64 /* limited because each write is compared with the keys of all earlier gets */
};

/** State of one session. All zeros: not open. */
struct async {
	struct nb_request *requests; /* a ring */
	size_t room, first, count;
	uint64_t bytes, bytes_max; /* of the keys and values in the ring */
	struct nb_slice keys[ASYNC_WINDOW], values[ASYNC_WINDOW]; /* of the gets of one reap */
	int32_t answers[ASYNC_WINDOW];
	struct nb_completion *completions[ASYNC_WINDOW]; /* of these gets */
};

/** Returns false if out of memory. */
static inline bool
async_open(struct async *async, uint32_t inflight_ops, uint64_t inflight_bytes)
{
	async->room = inflight_ops != 0 ? inflight_ops : ASYNC_ROOM;
	async->bytes_max = inflight_bytes != 0 ? inflight_bytes : UINT64_MAX;
	async->requests = malloc(async->room * sizeof(*async->requests));
	return async->requests != NULL;
}

/** Drops the requests in flight. */
static inline void
async_close(struct async *async)
{
	free(async->requests);
}

/**
 * Add a request to the ring. An empty ring accepts a request of any size, which would
 * otherwise wait forever.
 */
static inline bool
async_take(struct async *async, const struct nb_request *request)
{
	uint64_t bytes = async->bytes + request->key.size + request->value.size;
	if (async->count == async->room || (async->count != 0 && bytes > async->bytes_max))
		return false;
	size_t at = async->first + async->count++;
	async->requests[at < async->room ? at : at - async->room] = *request;
	async->bytes = bytes;
	return true;
}

static inline int
async_submit(
	struct async *async, const struct nb_request *requests, size_t count, size_t *taken)
{
	*taken = 0;
	while (*taken < count && async_take(async, &requests[*taken]))
		++*taken;
	return NB_PENDING;
}

/* Execute any request except a get. Sets *error if the engine lacks the verb. */
static inline int
async_perform(const struct nb_engine *engine, struct nb_session *session,
	const struct nb_request *request, const char **error)
{
	switch (request->verb) {
	case NB_REQ_PUT:
		return engine->put(session, request->key, request->value);
	case NB_REQ_DEL:
		return engine->del(session, request->key);
	case NB_REQ_INSERT:
		if (engine->insert != NULL)
			return engine->insert(session, request->key, request->value);
		break;
	case NB_REQ_MERGE:
		if (engine->merge != NULL)
			return engine->merge(
				session, request->key, NB_MERGE_ADD_U64, request->operand);
		break;
	case NB_REQ_EXECUTE:
		if (engine->execute != NULL)
			return engine->execute(session, request->steps,
				(size_t)request->step_count, request->flags);
		break;
	}
	*error = "the engine has no such verb";
	return NB_UNSUPPORTED;
}

static inline bool
async_is_wanted(const struct async *async, size_t gets, struct nb_slice key)
{
	for (size_t i = 0; i < gets; i++)
		if (async->keys[i].size == key.size &&
			memcmp(async->keys[i].data, key.data, key.size) == 0)
			return true;
	return false;
}

/* Execute the writes of the window and collect its gets. Returns the number of requests. */
static inline size_t
async_window(struct async *async, const struct nb_engine *engine, struct nb_session *session,
	struct nb_completion *out, size_t most, size_t *gets)
{
	size_t i = 0;
	for (bool is_alone = false; i < most && !is_alone; i++) {
		size_t at = async->first + i;
		const struct nb_request *request =
			&async->requests[at < async->room ? at : at - async->room];

		is_alone = request->verb == NB_REQ_EXECUTE;
		if (is_alone ? i != 0
			     : request->verb != NB_REQ_GET &&
					async_is_wanted(async, *gets, request->key))
			break;
		async->bytes -= request->key.size + request->value.size;
		out[i] = (struct nb_completion){.tag = request->tag};
		if (request->verb == NB_REQ_GET) {
			async->completions[*gets] = &out[i];
			async->keys[(*gets)++] = request->key;
			continue;
		}
		out[i].answer = async_perform(engine, session, request, &out[i].error);
	}
	return i;
}

/** Never waits: it executes the requests itself. */
static inline int
async_reap(struct async *async, const struct nb_engine *engine, struct nb_session *session,
	struct nb_completion *out, size_t room, size_t *count)
{
	size_t most = async->count < room ? async->count : room;
	size_t gets = 0;
	int rc = NB_OK;
	if (most > ASYNC_WINDOW)
		most = ASYNC_WINDOW;
	*count = async_window(async, engine, session, out, most, &gets);
	async->count -= *count;
	async->first = (async->first + *count) % async->room;
	if (gets == 1)
		async->answers[0] = engine->get(session, async->keys[0], &async->values[0]);
	else if (gets != 0)
		rc = engine->multi_get(
			session, async->keys, gets, async->values, async->answers);
	for (size_t i = 0; i < gets; i++) {
		async->completions[i]->answer = rc != NB_OK ? rc : async->answers[i];
		if (async->completions[i]->answer == NB_OK)
			async->completions[i]->value = async->values[i];
	}
	return NB_OK;
}

/** Define submit() for a session with a member `async`. */
#define ASYNC_SUBMIT() \
	static int submit(struct nb_session *session, const struct nb_request *requests, \
		size_t count, size_t *taken) \
	{ \
		return async_submit(&session->async, requests, count, taken); \
	}

/** Also define reap(), which executes the requests by the verbs of the table `engine`. */
#define ASYNC_SUBMIT_AND_REAP(engine) \
	ASYNC_SUBMIT() \
\
	static int reap(struct nb_session *session, struct nb_completion *out, size_t room, \
		size_t *count, uint64_t timeout_ns) \
	{ \
		return async_reap(&session->async, engine, session, out, room, count); \
	}

#endif /* ASYNC_H */
