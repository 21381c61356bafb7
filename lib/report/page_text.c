/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Escape text for HTML. A byte outside a whole, shortest UTF-8 sequence becomes U+FFFD, as the
 * Unicode standard advises (section 3.9, U+FFFD substitution). Control characters and those
 * that turn the direction of writing become U+FFFD too: a name with them could disguise the
 * text beside it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "report/page.h"

#define REPLACEMENT UINT32_C(0xFFFD)

/** Length of the sequence that the byte begins; 0: none does. Its own bits in *code. */
static int
begin_sequence(uint8_t byte, uint32_t *code)
{
	if (byte < 0x80) {
		*code = byte;
		return 1;
	}
	int length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
	*code = byte & (0x7Fu >> length);
	return byte < 0xC2 || byte > 0xF4 ? 0 : length;
}

static bool
is_allowed(uint32_t code)
{
	if (code < 0x20)
		return code == '\n' || code == '\t';
	bool is_control = code >= 0x7F && code < 0xA0;
	bool is_surrogate = code >= 0xD800 && code < 0xE000;
	bool is_turn = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
	bool is_none = (code & 0xFFFE) == 0xFFFE;
	return !is_control && !is_surrogate && !is_turn && !is_none && code <= 0x10FFFF;
}

/** The character at *at, which moves behind it. */
static uint32_t
next(const char **at)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *bytes = (const uint8_t *)*at;
	uint32_t code;
	int length = begin_sequence(bytes[0], &code), used = 1;
	for (; used < length && (bytes[used] & 0xC0) == 0x80; used++)
		code = code << 6 | (bytes[used] & 0x3Fu);
	if (length == 0 || used < length || code < lowest[length] || !is_allowed(code)) {
		/* an overlong form and a surrogate are no characters from their first byte on */
		bool is_whole = used == length && code >= lowest[length] &&
			(code < 0xD800 || code >= 0xE000) && code <= 0x10FFFF;
		*at += length > 0 && is_whole ? length : 1;
		return REPLACEMENT;
	}
	*at += length;
	return code;
}

static void
put_utf8(FILE *out, uint32_t code)
{
	static const uint8_t leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
	int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	int shift = 6 * (length - 1);
	fputc((int)(leads[length] | code >> shift), out);
	while ((shift -= 6) >= 0)
		fputc((int)(0x80 | (code >> shift & 0x3F)), out);
}

void
page_text(FILE *out, const char *text)
{
	while (*text != '\0') {
		uint32_t code = next(&text);
		const char *entity = code == '&' ? "&amp;"
			: code == '<'            ? "&lt;"
			: code == '>'            ? "&gt;"
			: code == '"'            ? "&quot;"
			: code == '\''           ? "&#39;"
						 : NULL;
		if (entity != NULL)
			fputs(entity, out);
		else
			put_utf8(out, code);
	}
}
