/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_RESP_H
#define SERVE_RESP_H
/**
 * Requests of RESP2, the protocol of Redis: an array of bulk strings, or one line of words
 * separated by spaces.
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

/** The parser's position in an incomplete request. Zeros: at its beginning. */
struct resp_state {
	size_t at;     /* bytes that were parsed already */
	uint32_t left; /* words still missing there; 0: a line, or not begun */
};

enum { RESP_WHOLE, RESP_PART, RESP_BROKEN };

/**
 * Parse the request at the front of `bytes`. RESP_WHOLE: it has *used bytes, and its words
 * are in args; skip an empty request, which has count 0. RESP_PART: it needs at least *used
 * bytes. RESP_BROKEN: *error has the reason.
 */
int
resp_parse(struct resp_args *args, struct resp_state *state, const char *bytes, size_t size,
	size_t word_max, size_t *used, const char **error);

/* ---- answers ---- */

void
resp_add_bulk(struct bytes *out, struct nb_slice value);

/** Append a number: ":123" with mark ':', "*3" with '*', "$16" with '$'. */
void
resp_add_number(struct bytes *out, char mark, int64_t number);

/** Append "-ERR text" as one line; line breaks in the text are replaced. */
void
resp_add_error(struct bytes *out, const char *code, const char *text);

/** Parse a signed decimal number of 64 bits, in the strict form that Redis accepts. */
bool
resp_number(int64_t *out, struct nb_slice text);

#endif /* SERVE_RESP_H */
