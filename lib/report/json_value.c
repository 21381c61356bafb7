/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values as JSON and back.
 *
 * JSON text is UTF-8; a path or a word of a command line is any bytes. Replacing those that
 * are none would make another path of it, so a byte B that is no part of a character is
 * written as the character U+EF00 + B of the private use area. Its UTF-8 is EE BE xx or
 * EE BF xx, and no other character's begins so; where a text has such a character itself,
 * its three bytes are written in that way too, which makes reading unique.
 *
 * A whole number may come back as a real one, as 5.0, from tools that know no other.
 */
#include "report/json_value.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- messages ---- */

/** "results[2].groups[0]"; what does not fit is cut. */
static size_t
write_place(char *text, size_t size, const struct json_place *place)
{
	if (place == NULL)
		return 0;
	size_t used = write_place(text, size, place->up);
	if (used >= size)
		return used;
	int more = place->name != NULL
		? snprintf(text + used, size - used, "%s%s", used > 0 ? "." : "", place->name)
		: snprintf(text + used, size - used, "[%zu]", place->index);
	return used + (size_t)more;
}

int
json_bad(const struct json_reader *reader, const char *fmt, ...)
{
	char place[256] = "", what[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	write_place(place, sizeof(place), reader->place);
	return error_set(NB_ERR_DATA, "%s: %s%s%s", reader->file, place,
		place[0] != '\0' ? ": " : "", what);
}

/* ---- numbers ---- */

json_t *
json_from_u64(uint64_t value)
{
	return json_from_u128(value);
}

json_t *
json_from_u128(uint128 value)
{
	char digits[40]; /* of 2^128, and its end */
	size_t at = sizeof(digits) - 1;
	if (value <= INT64_MAX)
		return json_integer((json_int_t)value);
	digits[at] = '\0';
	for (; value > 0; value /= 10)
		digits[--at] = (char)('0' + (int)(value % 10));
	return json_string(digits + at);
}

json_t *
json_from_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *
json_from_hash(uint64_t value)
{
	char text[17];
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)value);
	return json_string(text);
}

static bool
parse_decimal(const char *text, uint128 *out)
{
	const uint128 most = ~(uint128)0;
	uint128 value = 0;
	if (text[0] == '\0')
		return false;
	for (const char *at = text; *at != '\0'; at++) {
		if (*at < '0' || *at > '9')
			return false;
		unsigned digit = (unsigned)(*at - '0');
		if (value > (most - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return true;
}

int
json_to_u128(const struct json_reader *reader, const json_t *json, uint128 *out)
{
	const double exact = 9007199254740992; /* 2^53: from here on a real may be rounded */
	*out = 0;
	if (json_is_null(json))
		return NB_OK;
	if (json_is_integer(json) && json_integer_value(json) >= 0) {
		*out = (uint128)json_integer_value(json);
		return NB_OK;
	}
	if (json_is_string(json) && parse_decimal(json_string_value(json), out))
		return NB_OK;
	double real = json_real_value(json); /* 0 if it is none */
	if (json_is_real(json) && real >= 0 && real <= exact && real == floor(real)) {
		*out = (uint128)real;
		return NB_OK;
	}
	if (json_is_number(json))
		return json_bad(reader, "must be a whole number, and not below 0");
	return json_bad(reader, "must be a number");
}

int
json_to_u64(const struct json_reader *reader, const json_t *json, uint64_t most, uint64_t *out)
{
	uint128 value;
	int rc = json_to_u128(reader, json, &value);
	if (rc == NB_OK && value > most)
		return json_bad(reader, "must be at most %llu", (unsigned long long)most);
	*out = rc == NB_OK ? (uint64_t)value : 0;
	return rc;
}

int
json_to_real(const struct json_reader *reader, const json_t *json, double *out)
{
	*out = 0;
	if (json_is_null(json))
		return NB_OK;
	if (!json_is_number(json))
		return json_bad(reader, "must be a number");
	double value = json_number_value(json);
	if (!(fabs(value) <= JSON_REAL_MAX))
		return json_bad(reader, "is beyond %g", JSON_REAL_MAX);
	*out = value;
	return NB_OK;
}

int
json_to_hash(const struct json_reader *reader, const json_t *json, uint64_t *out)
{
	const char *text = json_string_value(json); /* NULL if it is none */
	*out = 0;
	if (json_is_null(json))
		return NB_OK;
	if (text == NULL || strlen(text) != 16 || strspn(text, "0123456789abcdefABCDEF") != 16)
		return json_bad(reader, "must be a text of 16 hexadecimal digits");
	*out = strtoull(text, NULL, 16);
	return NB_OK;
}

int
json_to_bool(const struct json_reader *reader, const json_t *json, bool *out)
{
	*out = json_is_true(json);
	return json_is_boolean(json) || json_is_null(json)
		? NB_OK
		: json_bad(reader, "must be true or false");
}

/* ---- texts ---- */

/** Bytes of the character that begins here, by RFC 3629; 0 if none does. */
static size_t
character(const unsigned char *at)
{
	size_t length = at[0] < 0x80 ? 1
		: at[0] < 0xc2       ? 0
		: at[0] < 0xe0       ? 2
		: at[0] < 0xf0       ? 3
		: at[0] < 0xf5       ? 4
				     : 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80) /* an end of the text as well */
			return 0;
	}
	bool is_overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
	bool is_surrogate = at[0] == 0xed && at[1] >= 0xa0;
	bool is_beyond = at[0] == 0xf4 && at[1] >= 0x90;
	return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

/** Whether a character is one that stands for a byte. */
static bool
is_byte(const unsigned char *at)
{
	return at[0] == 0xee && (at[1] == 0xbe || at[1] == 0xbf);
}

json_t *
json_from_text(const char *text)
{
	if (text == NULL)
		return json_null();
	char *copy = malloc(3 * strlen(text) + 1);
	size_t used = 0;
	if (copy == NULL)
		return NULL;
	for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
		size_t length = character(at);
		if (length > 0 && !is_byte(at)) {
			memcpy(copy + used, at, length);
			used += length;
			at += length;
			continue;
		}
		copy[used++] = (char)0xee;
		copy[used++] = (char)(*at < 0xc0 ? 0xbe : 0xbf);
		copy[used++] = (char)(0x80 | (*at & 0x3f));
		at++;
	}
	json_t *json = json_stringn(copy, used);
	free(copy);
	return json;
}

int
json_to_text(const struct json_reader *reader, const json_t *json, char **out)
{
	const unsigned char *at = (const unsigned char *)json_string_value(json);
	*out = NULL;
	if (json_is_null(json))
		return NB_OK;
	if (at == NULL)
		return json_bad(reader, "must be a text");
	char *copy = malloc(json_string_length(json) + 1), *end = copy;
	if (copy == NULL)
		return error_set(NB_FAIL, "out of memory");
	while (*at != '\0') {
		if (is_byte(at)) {
			*end++ = (char)((at[1] == 0xbe ? 0x80 : 0xc0) | (at[2] & 0x3f));
			at += 3;
		} else {
			*end++ = (char)*at++;
		}
	}
	*end = '\0';
	*out = copy;
	return NB_OK;
}
