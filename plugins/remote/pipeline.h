/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_PIPELINE_H
#define REMOTE_PIPELINE_H
/**
 * The verbs of a client plugin, over one connection for each server, by a codec that knows the
 * protocol. A plugin has a struct pipeline in its session and calls pipeline_* from its verbs.
 *
 * Each server answers its requests in their order. A key always goes to the same server, so
 * requests of one key take effect in the order in which they were taken.
 *
 * Requests are copied when they are taken (NB_CAP_COPIES). Values are lent from the input
 * buffers until pipeline_release(). Nothing is allocated for a request once buffers have grown
 * to the size that the workload needs.
 */
#include "stream.h"
#include "address.h"

/**
 * A request in flight. A codec sets the fields that say so, in bound, encode or decode.
 */
struct flying {
	uint64_t tag;
	uint64_t size;         /* of key and value */
	struct nb_slice value; /* codec: of a get, in the bytes that decode was given */
	const char *error;     /* codec: of a negative answer, the same or a constant */
	struct pipeline_call *call;
	int32_t answer; /* codec: initially NB_OK */
	uint32_t verb;  /* NB_REQ_*, or from CODEC_VERB on the plugin's own */
	uint32_t server;
	uint32_t
		replies; /* codec: still to come, the one that is decoded included; initially 1 */
	struct nb_step *steps;
	uint64_t step_count, operand;
	uint64_t number; /* requests are numbered in the order in which they are taken */
	uint32_t flags;
	bool is_lent;     /* codec: it keeps pointers into the bytes besides value and error */
	bool is_kept;     /* codec: of this request, as CODEC_KEEPS */
	bool is_again;    /* codec: with the last reply: send it once more, see again() */
	uint64_t own[3];  /* codec: zeros when the request is taken */
	uint64_t wait_ns; /* codec: with is_again: not before so long from now */
	struct nb_slice *value_to;
	int32_t *answer_to;
	char *kept; /* the request as encoded, where it is kept */
	size_t kept_size, kept_room;
};

#define CODEC_VERB 1000u       /* first verb of a plugin's own */
#define CODEC_GARBAGE SIZE_MAX /* decode: not an answer of such a server */
#define CODEC_AGAIN_ROOM 64u   /* bytes that again() may put before the request */
#define CODEC_KEEPS (1u << 0)  /* keep the encoded bytes of each request, for again() */

/** `own` is what pipeline_open() was given. */
struct codec {
	const char *name; /* of the protocol, for messages: "memcached" */
	uint32_t flags;   /* CODEC_* */
	/**
	 * Most bytes that encode() writes. 0: the request cannot be sent; then answer and error
	 * of `flying` are its completion.
	 */
	size_t (*bound)(void *own, struct flying *flying, const struct nb_request *request);
	/** Write the request and return its end. */
	char *(*encode)(
		void *own, struct flying *flying, const struct nb_request *request, char *to);
	/**
	 * Decode one reply at the front of the bytes, which may be written to (a NUL behind an
	 * error's text). Returns its size; 0: it is not whole yet, and *need, if more is known
	 * than that one byte is missing, how large it is; CODEC_GARBAGE: the connection cannot
	 * go on, and flying->error may say why.
	 */
	size_t (*decode)(
		void *own, struct flying *flying, char *bytes, size_t size, size_t *need);
	/** Which server has the key of the request. NULL: an equal split of the hash space. */
	uint32_t (*server)(void *own, const struct nb_request *request);
	/**
	 * With CODEC_KEEPS: write a request once more, after a reply that set is_again: `size`
	 * bytes of `kept`, with up to CODEC_AGAIN_ROOM bytes before them, to flying->server,
	 * which decode may have changed. Sets `replies` if it is not 1. Returns the end.
	 * Requests are sent again when all in flight are answered, in the order in which they
	 * were taken; until then no others are sent, so that the order of each key is kept.
	 */
	char *(*again)(
		void *own, struct flying *flying, const char *kept, size_t size, char *to);
	/**
	 * Connect and log in to a server, by stream_open() or stream_adopt(). Returns NB_OK or a
	 * failure, with the stream closed. NULL: stream_open() is all.
	 */
	int (*connect)(void *own, uint32_t server, struct stream *stream, const char *address);
};

/** A server's connection and what it owes, the oldest first. */
struct pipeline_server {
	struct stream stream;
	uint32_t *owed; /* a ring of slots */
	uint32_t head, tail;
	size_t need;
	bool is_partial; /* some replies of the oldest were decoded, not all */
};

/** A verb that waits for its requests. */
struct pipeline_call {
	uint64_t left;
	int32_t answer; /* the first negative one */
	const char *error;
};

/** How to open a pipeline. What it points to must outlive the pipeline. */
struct pipeline_config {
	const struct nb_host *host;
	const struct codec *codec;
	void *own; /* what the codec's functions are given */
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
	uint32_t *done, done_head, done_tail; /* a ring of completions that wait for reap */
	uint32_t mask;                        /* of all rings */
	uint32_t limit, taken;                /* requests of submit, at most and now */
	uint32_t owed;                        /* by all servers */
	uint64_t bytes, bytes_max;            /* of keys and values of submit's */
	uint64_t number, finished;            /* requests so far */
	int failure;                          /* NB_OK, or every call fails */
	uint32_t *again, again_count;         /* slots to be sent once more */
	uint64_t again_ns;                    /* not before */
};

/** Connect to all targets. Returns NB_OK or a failure, after which nothing is to be closed. */
int
pipeline_open(struct pipeline *pipeline, const struct pipeline_config *config);

/** Drops what is in flight. */
void
pipeline_close(struct pipeline *pipeline);

/** Connect to one more server, whose number is then server_count - 1. */
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

/** Wait until all in flight are answered; completions of submit wait for reap. */
int
pipeline_drain(struct pipeline *pipeline);

/** One request, waited for: its answer. *value may be NULL. */
int
pipeline_do(
	struct pipeline *pipeline, const struct nb_request *request, struct nb_slice *value);

static inline int
pipeline_get(struct pipeline *pipeline, struct nb_slice key, struct nb_slice *value)
{
	struct nb_request request = {.verb = NB_REQ_GET, .key = key};
	return pipeline_do(pipeline, &request, value);
}

/** put, del and insert by NB_REQ_PUT, NB_REQ_DEL and NB_REQ_INSERT. */
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

/** The writes as puts and deletes; no flag is known. */
int
pipeline_batch(
	struct pipeline *pipeline, const struct nb_write *writes, size_t count, uint32_t flags);

#endif /* REMOTE_PIPELINE_H */
