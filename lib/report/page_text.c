/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Escapes text for HTML. A byte outside a complete, shortest UTF-8 sequence becomes U+FFFD,
 * as the Unicode standard advises (section 3.9, U+FFFD substitution). So do control
 * characters and those that change the direction of writing: a name with them could
 * disguise the text beside it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "report/json_value.h"
#include "report/page.h"

static uint32_t
code_of(const char *at, size_t length)
{
	uint32_t code = (uint8_t)at[0] & (length == 1 ? 0x7Fu : 0x7Fu >> length);
	for (size_t i = 1; i < length; i++)
		code = code << 6 | ((uint8_t)at[i] & 0x3Fu);
	return code;
}

static bool
is_allowed(uint32_t code)
{
	bool is_control = (code < 0x20 && code != '\n' && code != '\t') ||
		(code >= 0x7F && code < 0xA0);
	bool is_turn = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
	bool is_none = (code & 0xFFFE) == 0xFFFE;
	return !is_control && !is_turn && !is_none;
}

void
page_text(FILE *out, const char *text)
{
	while (*text != '\0') {
		size_t length = json_character(text);
		const char *entity = *text == '&' ? "&amp;"
			: *text == '<'            ? "&lt;"
			: *text == '>'            ? "&gt;"
			: *text == '"'            ? "&quot;"
			: *text == '\''           ? "&#39;"
						  : NULL;
		if (length == 0 || !is_allowed(code_of(text, length)))
			entity = "\xEF\xBF\xBD"; /* U+FFFD */
		if (entity != NULL)
			fputs(entity, out);
		else
			fwrite(text, 1, length, out);
		text += length > 0 ? length : 1;
	}
}
