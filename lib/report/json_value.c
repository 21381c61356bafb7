/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values as JSON and back.
 *
 * JSON text is UTF-8, but a path or a word of a command line may contain any bytes.
 * Replacing other bytes would change the path. So a byte B that is not part of a character
 * is written as the character U+EF00 + B of the private use area. Its UTF-8 is EE BE xx or
 * EE BF xx, and no other character begins like that. If a text contains such a character
 * itself, each of its three bytes is written in the same way, which makes reading unique.
 *
 * A tool that knows only real numbers may have written 5.0 for 5.
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

/** Write a place: "results[2].groups[0]"; cut if it is too long. */
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

void
json_bad(struct json_reader *reader, const char *fmt, ...)
{
	char place[256] = "", what[512];
	va_list args;
	if (reader->rc != NB_OK)
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	write_place(place, sizeof(place), reader->place);
	reader->rc = error_set(NB_ERR_DATA, "%s: %s%s%s", reader->file, place,
		place[0] != '\0' ? ": " : "", what);
}

/* ---- members and elements ---- */

void
json_put(struct json_writer *writer, json_t *object, const char *name, json_t *value)
{
	writer->has_failed |= json_object_set_new(object, name, value) != 0;
}

void
json_add(struct json_writer *writer, json_t *array, json_t *value)
{
	writer->has_failed |= json_array_append_new(array, value) != 0;
}

void
json_each(struct json_reader *reader, const json_t *array, size_t most,
	void (*read)(struct json_reader *reader, const json_t *element, void *into), void *into)
{
	size_t count = json_array_size(array);
	if (array != NULL && !json_is_array(array) && !json_is_null(array))
		json_bad(reader, "must be an array");
	if (count > most)
		json_bad(reader, "has more than %zu elements", most);
	JSON_ENTER(reader, place, NULL);
	for (; place.index < count && reader->rc == NB_OK; place.index++)
		read(reader, json_array_get(array, place.index), into);
	JSON_LEAVE(reader, place);
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
	char digits[40]; /* digits of 2^128, and NUL */
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

uint128
json_to_u128(struct json_reader *reader, const json_t *json)
{
	const double exact = 9007199254740992; /* 2^53: from here on a real may be rounded */
	double real = json_real_value(json);   /* 0 if it is of another type */
	uint128 value = 0;
	if (json_is_null(json) || reader->rc != NB_OK)
		return 0;
	if (json_is_integer(json) && json_integer_value(json) >= 0)
		return (uint128)json_integer_value(json);
	if (json_is_string(json) && parse_decimal(json_string_value(json), &value))
		return value;
	if (json_is_real(json) && real >= 0 && real <= exact && real == floor(real))
		return (uint128)real;
	json_bad(reader,
		json_is_number(json) ? "must be a whole number, and not below 0"
				     : "must be a number");
	return 0;
}

uint64_t
json_to_u64(struct json_reader *reader, const json_t *json, uint64_t most)
{
	uint128 value = json_to_u128(reader, json);
	if (value <= most)
		return (uint64_t)value;
	json_bad(reader, "must be at most %llu", (unsigned long long)most);
	return 0;
}

double
json_to_real(struct json_reader *reader, const json_t *json)
{
	double value = json_number_value(json); /* 0 if it is of another type */
	if (!json_is_number(json) && !json_is_null(json))
		json_bad(reader, "must be a number");
	else if (!(fabs(value) <= JSON_REAL_MAX))
		json_bad(reader, "is beyond %g", JSON_REAL_MAX);
	return reader->rc == NB_OK ? value : 0;
}

uint64_t
json_to_hash(struct json_reader *reader, const json_t *json)
{
	const char *text = json_is_null(json) ? "0000000000000000" : json_string_value(json);
	if (text == NULL || strlen(text) != 16 || strspn(text, "0123456789abcdefABCDEF") != 16)
		json_bad(reader, "must be a text of 16 hexadecimal digits");
	return reader->rc == NB_OK ? strtoull(text, NULL, 16) : 0;
}

bool
json_to_bool(struct json_reader *reader, const json_t *json)
{
	if (!json_is_boolean(json) && !json_is_null(json))
		json_bad(reader, "must be true or false");
	return reader->rc == NB_OK && json_is_true(json);
}

/* ---- texts ---- */

size_t
json_character(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length = at[0] < 0x80 ? 1
		: at[0] < 0xc2       ? 0
		: at[0] < 0xe0       ? 2
		: at[0] < 0xf0       ? 3
		: at[0] < 0xf5       ? 4
				     : 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80) /* also at the end of the text */
			return 0;
	}
	bool is_overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
	bool is_surrogate = at[0] == 0xed && at[1] >= 0xa0;
	bool is_beyond = at[0] == 0xf4 && at[1] >= 0x90;
	return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

/** Whether the character encodes a byte. */
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
		size_t length = json_character((const char *)at);
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

char *
json_to_text(struct json_reader *reader, const json_t *json)
{
	const unsigned char *at = (const unsigned char *)json_string_value(json);
	if (at == NULL && !json_is_null(json))
		json_bad(reader, "must be a text");
	if (at == NULL || reader->rc != NB_OK)
		return NULL;
	char *copy = malloc(json_string_length(json) + 1), *end = copy;
	if (copy == NULL) {
		reader->rc = error_memory();
		return NULL;
	}
	while (*at != '\0') {
		if (is_byte(at)) {
			*end++ = (char)((at[1] == 0xbe ? 0x80 : 0xc0) | (at[2] & 0x3f));
			at += 3;
		} else {
			*end++ = (char)*at++;
		}
	}
	*end = '\0';
	return copy;
}
