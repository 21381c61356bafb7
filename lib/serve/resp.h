/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_RESP_H
#define SERVE_RESP_H
/**
 * Requests of RESP2, the protocol of Redis: an array of bulk strings, or one line with spaces
 * between the words.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/engine.h>

#include "serve/bytes.h"

enum { RESP_ARGS_MAX = 65536, RESP_LINE_MAX = 65536 };

/** The words of a request, which point into its bytes. */
struct resp_args {
	struct nb_slice *items;
	size_t count, room;
};

/** How far a request was looked at that is not whole yet. Zeros: from its beginning. */
struct resp_state {
	size_t at;     /* bytes that need no second look */
	uint32_t left; /* words that follow there; 0: it is a line, or not begun */
};

enum { RESP_WHOLE, RESP_PART, RESP_BROKEN };

/**
 * Parse the request at the front. RESP_WHOLE: *used bytes, its words in args; count 0 is an empty
 * request, to be passed over. RESP_PART: it needs at least *used bytes. RESP_BROKEN: *error says
 * why.
 */
int
resp_parse(struct resp_args *args, struct resp_state *state, const char *bytes, size_t size,
	size_t word_max, size_t *used, const char **error);

/* ---- answers ---- */

void
resp_add_bulk(struct bytes *out, struct nb_slice value);

/** ":123" with mark ':', "*3" with '*', "$16" with '$'. */
void
resp_add_number(struct bytes *out, char mark, int64_t number);

/** "-ERR text": one line, whatever the text has. */
void
resp_add_error(struct bytes *out, const char *code, const char *text);

/** A whole signed decimal of 64 bits and nothing else, as Redis takes it. */
bool
resp_number(int64_t *out, struct nb_slice text);

#endif /* SERVE_RESP_H */
