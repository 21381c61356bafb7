/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_PIPELINE_H
#define REMOTE_PIPELINE_H
/**
 * The verbs of a client plugin, over one connection to each server. A codec implements the
 * protocol. A plugin keeps a struct pipeline in its session and calls pipeline_* from its
 * verbs.
 *
 * Each server answers its requests in order. A key always goes to the same server, so
 * requests for one key take effect in the order in which they were taken.
 *
 * Requests are copied when they are taken (NB_CAP_COPIES). Values are lent from the input
 * buffers until pipeline_release(). Once the buffers are large enough for the workload,
 * requests need no further allocation.
 */
#include "stream.h"
#include "address.h"

/** A request in flight. The codec sets the fields marked "codec" in bound, encode or decode. */
struct flying {
	uint64_t tag;
	uint64_t size;         /* of key and value */
	struct nb_slice value; /* codec: of a get; points into the bytes that decode got */
	const char *error;     /* codec: of a negative answer; likewise, or a constant */
	struct pipeline_call *call;
	int32_t answer; /* codec: initially NB_OK */
	uint32_t verb;  /* NB_REQ_*, or a verb of the plugin, CODEC_VERB or more */
	uint32_t server;
	uint32_t
		replies; /* codec: replies still to come, including the one being decoded; initially 1 */
	struct nb_step *steps;
	uint64_t step_count, operand;
	uint64_t number; /* position in the order in which requests are taken */
	uint32_t flags;
	bool is_lent;  /* codec: it keeps other pointers into the bytes than value and error */
	bool is_kept;  /* codec: like CODEC_KEEPS, for this request only */
	bool is_again; /* codec, with the last reply: send the request again, see again() */
	uint64_t own[3]; /* codec: zeros when the request is taken */
	uint64_t
		wait_ns; /* codec, with is_again: minimum delay before the request is sent again */
	struct nb_slice *value_to;
	int32_t *answer_to;
	char *kept; /* a copy of the encoded request, if it is kept */
	size_t kept_size, kept_room;
};

/** For bound(): set the answer of a request that cannot be sent. Returns 0. */
static inline size_t
flying_refuse(struct flying *flying, int32_t answer, const char *error)
{
	flying->answer = answer;
	flying->error = error;
	return 0;
}

#define CODEC_VERB 1000u       /* first verb of a plugin's own */
#define CODEC_GARBAGE SIZE_MAX /* decode: not a valid answer of such a server */
#define CODEC_AGAIN_ROOM 64u   /* bytes that again() may put before the request */
#define CODEC_KEEPS (1u << 0)  /* keep the encoded bytes of each request, for again() */

/** All functions get `own` from pipeline_config. */
struct codec {
	const char *name; /* name of the protocol, for messages: "memcached" */
	uint32_t flags;   /* CODEC_* */
	/**
	 * Maximum number of bytes that encode() writes. 0: the request cannot be sent; its
	 * completion then has the answer and error of `flying`.
	 */
	size_t (*bound)(void *own, struct flying *flying, const struct nb_request *request);
	/** Write the request; return the end of the written bytes. */
	char *(*encode)(
		void *own, struct flying *flying, const struct nb_request *request, char *to);
	/**
	 * Decode one reply at the front of the bytes, which it may modify (for example, write a
	 * NUL after an error's text). Returns the size of the reply. Returns 0 if the reply is
	 * incomplete, and sets *need to its size if more than one byte is known to be missing.
	 * Returns CODEC_GARBAGE if the connection cannot continue; flying->error may then contain
	 * the reason.
	 */
	size_t (*decode)(
		void *own, struct flying *flying, char *bytes, size_t size, size_t *need);
	/** The server that stores the request's key. NULL: an equal split of the hash space. */
	uint32_t (*server)(void *own, const struct nb_request *request);
	/**
	 * With CODEC_KEEPS: write a request again after a reply that set is_again. Writes the
	 * `size` bytes of `kept`, with up to CODEC_AGAIN_ROOM bytes before them, for
	 * flying->server, which decode may have changed. Sets `replies` if it is not 1. Returns
	 * the end of the written bytes.
	 *
	 * Requests are sent again after all others in flight were answered, in the order of
	 * their refusals. For each key, this is the order in which they were taken. Until then
	 * no new requests are sent.
	 */
	char *(*again)(
		void *own, struct flying *flying, const char *kept, size_t size, char *to);
	/**
	 * Connect and log in to a server, with stream_open() or stream_adopt(). Returns NB_OK or a
	 * failure, with the stream closed. NULL: stream_open() suffices.
	 */
	int (*connect)(void *own, uint32_t server, struct stream *stream, const char *address);
};

/** The connection to a server and its unanswered requests, oldest first. */
struct pipeline_server {
	struct stream stream;
	uint32_t *owed; /* a ring of slots */
	uint32_t head, tail;
	size_t need;
	bool is_partial; /* some, but not all replies of the oldest request were decoded */
};

/** A verb that waits for its requests. */
struct pipeline_call {
	uint64_t left;
	int32_t answer; /* the first negative one */
	const char *error;
};

/** How to open a pipeline. Everything that it points to must outlive the pipeline. */
struct pipeline_config {
	const struct nb_host *host;
	const struct codec *codec;
	void *own; /* argument of the codec's functions */
	const char *const *targets;
	uint32_t target_count;
	uint32_t inflight_ops;   /* as in struct nb_open_args */
	uint64_t inflight_bytes; /* likewise */
	struct stream_options stream;
};

struct pipeline {
	struct pipeline_config config;
	struct pipeline_server **servers;
	struct stream **owing; /* room for a pointer to each stream */
	uint32_t server_count;
	struct flying *slots;
	uint32_t *free, free_count;
	uint32_t *done, done_head, done_tail; /* a ring of completions for reap */
	uint32_t mask;                        /* of all rings */
	uint32_t limit, taken;        /* requests of submit: maximum and current number */
	uint32_t owed;                /* number of unanswered requests of all servers */
	uint64_t bytes, bytes_max;    /* of keys and values of the requests from submit */
	uint64_t number, finished;    /* number of requests so far */
	int failure;                  /* NB_OK, or every call fails */
	uint32_t *again, again_count; /* slots of requests to send again */
	uint64_t again_ns;            /* earliest time to send them */
};

/** Connect to all targets. Returns NB_OK or a failure; a failed pipeline needs no close. */
int
pipeline_open(struct pipeline *pipeline, const struct pipeline_config *config);

/** Drops the requests in flight. */
void
pipeline_close(struct pipeline *pipeline);

/** Connect to one more server, which gets the number server_count - 1. */
int
pipeline_add_server(struct pipeline *pipeline, const char *address);

/* ---- the verbs of struct nb_engine ---- */

int
pipeline_submit(struct pipeline *pipeline, const struct nb_request *requests, size_t count,
	size_t *taken);
int
pipeline_reap(struct pipeline *pipeline, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns);
void
pipeline_release(struct pipeline *pipeline);

/** Wait until all requests in flight are answered. Completions of submit still wait for reap. */
int
pipeline_drain(struct pipeline *pipeline);

/** Send one request, wait, and return its answer. `value` may be NULL. */
int
pipeline_do(
	struct pipeline *pipeline, const struct nb_request *request, struct nb_slice *value);

static inline int
pipeline_get(struct pipeline *pipeline, struct nb_slice key, struct nb_slice *value)
{
	struct nb_request request = {.verb = NB_REQ_GET, .key = key};
	return pipeline_do(pipeline, &request, value);
}

/** put, del and insert, with the verb NB_REQ_PUT, NB_REQ_DEL or NB_REQ_INSERT. */
static inline int
pipeline_write(
	struct pipeline *pipeline, uint32_t verb, struct nb_slice key, struct nb_slice value)
{
	struct nb_request request = {.verb = verb, .key = key, .value = value};
	return pipeline_do(pipeline, &request, NULL);
}

static inline int
pipeline_merge(struct pipeline *pipeline, struct nb_slice key, uint64_t operand)
{
	struct nb_request request = {.verb = NB_REQ_MERGE, .key = key, .operand = operand};
	return pipeline_do(pipeline, &request, NULL);
}

static inline int
pipeline_execute(struct pipeline *pipeline, struct nb_step *steps, size_t count, uint32_t flags)
{
	struct nb_request request = {
		.verb = NB_REQ_EXECUTE, .steps = steps, .step_count = count, .flags = flags};
	return pipeline_do(pipeline, &request, NULL);
}

int
pipeline_multi_get(struct pipeline *pipeline, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers);

/** Send the writes as puts and deletes. Supports no flags. */
int
pipeline_batch(
	struct pipeline *pipeline, const struct nb_write *writes, size_t count, uint32_t flags);

#endif /* REMOTE_PIPELINE_H */
