/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The meta protocol: mg, ms and md, one reply each. The text protocol's get costs the server
 * a system call for each reply. The quiet modes hide only some replies, so they are not
 * used.
 *
 * - A key with a space or a control character is sent in base64, with the flag b. The server
 *   stores it decoded.
 * - A counter of mininb is 8 bytes in the machine's order, but memcached adds only to
 *   decimal text. So a merge reads the value and its CAS number, and writes the sum if the
 *   CAS number has not changed. It repeats this until it succeeds. Requests after it must
 *   wait until then; see submit().
 * - After CLIENT_ERROR or ERROR, the start of the next reply is unknown, so the connection
 *   fails. SERVER_ERROR answers one request.
 */
#include "memcached.h"

/*
 * State of a merge: own[0] is one of these, own[1] the CAS number (0: no value), own[2] the
 * sum.
 */
enum { READS, WRITES };

enum {
	LINE_MAX_SIZE = 512, /* of a reply's first line, which has a few tokens or an error */
	WORDS = 64           /* a request without its key and value */
};

/* ---- keys ---- */

/* Marks the bytes of a word that are below n, up to 128, or equal to n, by their upper bits. */
#define EACH UINT64_C(0x0101010101010101)
#define BELOW(word, n) (((word)-EACH * (n)) & ~(word)&EACH * 128)
#define EQUAL(word, n) BELOW((word) ^ EACH * (n), 1)

/** Whether no byte is a space or a control character. */
static inline bool
is_plain(struct nb_slice key)
{
	const char *at = key.data;
	uint64_t word, is_other = 0;
	size_t left = key.size;
	for (; left >= sizeof(word); left -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		is_other |= BELOW(word, ' ' + 1) | EQUAL(word, 127);
	}
	word = EACH * 'x';
	if (left > 0)
		memcpy(&word, at, left);
	return (is_other | BELOW(word, ' ' + 1) | EQUAL(word, 127)) == 0;
}

static char *
put_base64(char *to, struct nb_slice key)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = key.data;
	size_t left = key.size;
	for (; left >= 3; left -= 3, at += 3, to += 4) {
		uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
		to[0] = digits[bits >> 18];
		to[1] = digits[bits >> 12 & 63];
		to[2] = digits[bits >> 6 & 63];
		to[3] = digits[bits & 63];
	}
	if (left == 0)
		return to;
	uint32_t bits = (uint32_t)at[0] << 16 | (left > 1 ? (uint32_t)at[1] << 8 : 0);
	to[0] = digits[bits >> 18];
	to[1] = digits[bits >> 12 & 63];
	to[2] = left > 1 ? digits[bits >> 6 & 63] : '=';
	to[3] = '=';
	return to + 4;
}

static inline char *
put_bytes(char *to, const void *bytes, size_t size)
{
	if (size > 0)
		memcpy(to, bytes, size);
	return to + size;
}

#define PUT(to, text) put_bytes(to, text, sizeof(text) - 1)

static char *
put_number(char *to, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);
	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	return put_bytes(to, digits + at, sizeof(digits) - at);
}

/* ---- requests ---- */

static size_t
bound(void *own, struct flying *flying, const struct nb_request *request)
{
	const struct nb_session *session = own;
	if (request->verb > NB_REQ_MERGE)
		return flying_refuse(flying, NB_UNSUPPORTED, "no such verb");
	if (request->key.size - 1 >= KEY_TEXT_MAX ||
		(request->key.size > KEY_MAX && !is_plain(request->key)))
		return flying_refuse(flying, NB_UNSUPPORTED,
			"a key has 1 to 250 bytes, or to 186 if one is a space or a control character");
	if (request->value.size > session->db->value_max)
		return flying_refuse(flying, NB_UNSUPPORTED,
			"the value is longer than the server's items may be; start it with a larger -I");
	return WORDS + KEY_TEXT_MAX + request->value.size;
}

static char *
encode_write(const struct nb_request *request, bool is_binary, char *to)
{
	*to++ = ' ';
	to = put_number(to, request->value.size);
	if (is_binary)
		to = PUT(to, " b");
	if (request->verb == NB_REQ_INSERT)
		to = PUT(to, " ME");
	to = PUT(to, "\r\n");
	to = put_bytes(to, request->value.data, request->value.size);
	return PUT(to, "\r\n");
}

static char *
encode(void *own, struct flying *flying, const struct nb_request *request, char *to)
{
	static const char *const names[] = {"mg ", "ms ", "md ", "ms ", "mg "};
	struct nb_session *session = own;
	bool is_binary = !is_plain(request->key);
	to = put_bytes(to, names[request->verb], 3);
	to = is_binary ? put_base64(to, request->key)
		       : put_bytes(to, request->key.data, request->key.size);
	if (request->verb == NB_REQ_PUT || request->verb == NB_REQ_INSERT)
		return encode_write(request, is_binary, to);
	if (is_binary)
		to = PUT(to, " b");
	if (request->verb == NB_REQ_DEL)
		return PUT(to, "\r\n");
	if (request->verb == NB_REQ_GET)
		return PUT(to, " v\r\n");
	flying->is_kept = true;
	session->merges++;
	return PUT(to, " v c\r\n");
}

/* `kept` is "mg KEY v c\r\n" or "mg KEY b v c\r\n". */
static char *
again(void *own, struct flying *flying, const char *kept, size_t size, char *to)
{
	if (flying->own[0] == READS)
		return put_bytes(to, kept, size);
	const char *key_end = memchr(kept + 3, ' ', size - 3);
	to = PUT(to, "ms");
	to = put_bytes(to, kept + 2, (size_t)(key_end - kept) - 2);
	to = PUT(to, " 8");
	if (key_end[1] == 'b')
		to = PUT(to, " b");
	if (flying->own[1] == 0)
		to = PUT(to, " ME");
	else
		to = put_number(PUT(to, " C"), flying->own[1]);
	to = PUT(to, "\r\n");
	to = put_bytes(to, &flying->own[2], sizeof(uint64_t));
	return PUT(to, "\r\n");
}

static uint32_t
server(void *own, const struct nb_request *request)
{
	const struct nb_db *db = ((const struct nb_session *)own)->db;
	return db->points != NULL ? ketama_server(db->points, db->target_count, request->key)
				  : split_server(request->key, db->target_count);
}

/* ---- replies ---- */

static void
go_on(struct flying *flying, uint64_t phase)
{
	flying->own[0] = phase;
	flying->is_again = true;
}

/** A merge has read the value. `value`: 8 bytes, or NULL if the key is missing. */
static void
add(struct flying *flying, const char *value, uint64_t cas)
{
	uint64_t number = 0;
	if (value != NULL)
		memcpy(&number, value, sizeof(number));
	flying->own[1] = cas;
	flying->own[2] = number + flying->operand;
	go_on(flying, WRITES);
}

/** Read the number at *at and advance *at. Returns false if it is missing. */
static bool
take_number(const char **at, const char *end, uint64_t *number)
{
	const char *begin = *at;
	for (*number = 0; *at < end && **at >= '0' && **at <= '9' && *at - begin < 20; ++*at)
		*number = *number * 10 + (uint64_t)(**at - '0');
	return *at > begin;
}

/**
 * Format: "VA SIZE[ cCAS]\r\n" (1.6.18: with a space before "\r\n"), then the value and
 * "\r\n".
 */
static size_t
decode_value(struct flying *flying, const char *bytes, size_t line, size_t size, size_t *need)
{
	const char *at = bytes + 3, *end = bytes + line;
	uint64_t length, cas = 0;
	if (!take_number(&at, end, &length) || length > (uint64_t)PTRDIFF_MAX / 2)
		return CODEC_GARBAGE;
	if (end - at > 2 && at[0] == ' ' && at[1] == 'c')
		at += 2, take_number(&at, end, &cas);
	*need = line + length + 2;
	if (size < *need)
		return 0;
	const char *value = bytes + line;
	if (memcmp(value + length, "\r\n", 2) != 0)
		return CODEC_GARBAGE;
	if (flying->verb == NB_REQ_GET) {
		flying->value = (struct nb_slice){value, (size_t)length};
	} else if (flying->verb != NB_REQ_MERGE || flying->own[0] != READS || cas == 0) {
		return CODEC_GARBAGE;
	} else if (length == sizeof(uint64_t)) {
		add(flying, value, cas);
	} else {
		flying->answer = NB_FAIL;
		flying->error = "merge: the value does not have the 8 bytes of a counter";
	}
	return *need;
}

#define CODE(a, b) ((uint32_t)(unsigned char)(a) << 8 | (unsigned char)(b))

/**
 * Process the two-letter code of a reply without a value. Returns false if it cannot answer
 * this request.
 */
static bool
take_code(struct flying *flying, uint32_t code)
{
	uint32_t verb = flying->verb;
	bool is_write = verb == NB_REQ_PUT || verb == NB_REQ_INSERT || verb == NB_REQ_DEL;
	if (verb == NB_REQ_MERGE && flying->own[0] == READS && code == CODE('E', 'N'))
		add(flying, NULL, 0);
	else if (verb == NB_REQ_MERGE && flying->own[0] == WRITES)
		switch (code) {
		case CODE('H', 'D'):
			break;
		case CODE('E', 'X'): /* the value was changed, removed or added meanwhile */
		case CODE('N', 'F'):
		case CODE('N', 'S'):
			go_on(flying, READS);
			break;
		default:
			return false;
		}
	else if (verb == NB_REQ_GET && code == CODE('E', 'N'))
		flying->answer = NB_NOT_FOUND;
	else if (verb == NB_REQ_DEL && code == CODE('N', 'F'))
		flying->answer = NB_NOT_FOUND;
	else if (verb == NB_REQ_INSERT && code == CODE('N', 'S'))
		flying->answer = NB_EXISTS;
	else
		return is_write && code == CODE('H', 'D');
	return true;
}

/** Process a line without a known code: terminate the error's text with a NUL. */
static size_t
decode_error(struct flying *flying, char *bytes, size_t line)
{
	bytes[line - 1 - (line > 1 && bytes[line - 2] == '\r')] = '\0';
	flying->answer = NB_FAIL;
	if (strncmp(bytes, "SERVER_ERROR", 12) == 0) {
		flying->error = bytes;
		return line;
	}
	if (strncmp(bytes, "CLIENT_ERROR", 12) == 0 || strncmp(bytes, "ERROR", 5) == 0)
		flying->error = bytes;
	return CODEC_GARBAGE;
}

static size_t
decode_one(struct flying *flying, char *bytes, size_t size, size_t *need)
{
	const char *newline = memchr(bytes, '\n', size < LINE_MAX_SIZE ? size : LINE_MAX_SIZE);
	if (newline == NULL)
		return size < LINE_MAX_SIZE ? 0 : CODEC_GARBAGE;
	size_t line = (size_t)(newline - bytes) + 1;
	if (line > 4 && bytes[0] == 'V' && bytes[1] == 'A' && bytes[2] == ' ')
		return decode_value(flying, bytes, line, size, need);
	if (line >= 4 && (bytes[2] == '\r' || bytes[2] == ' '))
		return take_code(flying, CODE(bytes[0], bytes[1])) ? line : CODEC_GARBAGE;
	return decode_error(flying, bytes, line);
}

static size_t
decode(void *own, struct flying *flying, char *bytes, size_t size, size_t *need)
{
	size_t used = decode_one(flying, bytes, size, need);
	if (flying->verb == NB_REQ_MERGE && used != 0 && !flying->is_again)
		((struct nb_session *)own)->merges--;
	return used;
}

const struct codec memcached_codec = {.name = "memcached",
	.bound = bound,
	.encode = encode,
	.decode = decode,
	.server = server,
	.again = again};
