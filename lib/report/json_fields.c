/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Going through a table of fields, to write a structure and to read it.
 *
 * There is one function for each type of field in either direction. The order is that of
 * the table in writing, and in reading too, so that of several errors the same is always
 * told. An array is made as soon as its length is known, and its count grows with the
 * elements, so that half of one can be destroyed as a whole one is.
 */
#include "report/json_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_histogram.h"

/* ---- members ---- */

uint64_t
json_get_number(const void *at, size_t size)
{
	uint64_t wide = 0;
	uint32_t word = 0;
	bool flag = false;
	switch (size) {
	case sizeof(flag):
		memcpy(&flag, at, sizeof(flag));
		return flag;
	case sizeof(word):
		memcpy(&word, at, sizeof(word));
		return word;
	default:
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
}

void
json_set_number(void *at, size_t size, uint64_t wide)
{
	uint32_t word = (uint32_t)wide;
	bool flag = wide != 0;
	switch (size) {
	case sizeof(flag):
		memcpy(at, &flag, sizeof(flag));
		break;
	case sizeof(word):
		memcpy(at, &word, sizeof(word));
		break;
	default:
		memcpy(at, &wide, sizeof(wide));
		break;
	}
}

static uint64_t
most_of(size_t size)
{
	return size == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
}

static void *
get_pointer(const void *at)
{
	void *pointer;
	memcpy(&pointer, at, sizeof(pointer));
	return pointer;
}

static void
set_pointer(void *at, const void *pointer)
{
	memcpy(at, &pointer, sizeof(pointer));
}

const char *
json_name(const struct json_names *names, const char *verb, uint32_t index)
{
	if (names->are_kinds && verb != NULL && index == 0)
		return verb;
	if (index >= names->count)
		return NULL;
	return names->name_of != NULL ? names->name_of(index) : names->names[index];
}

/* ---- writing ---- */

void
json_put(struct json_writer *writer, json_t *object, const char *name, json_t *value)
{
	if (json_object_set_new(object, name, value) != 0)
		writer->has_failed = true;
}

static void
append(struct json_writer *writer, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) != 0)
		writer->has_failed = true;
}

/** What is beyond the last name is no value of ours: null. */
static json_t *
write_name(struct json_writer *writer, const struct json_field *field, const void *at)
{
	uint64_t index = json_get_number(at, field->size);
	const char *name = index <= UINT32_MAX
		? json_name(field->names, writer->verb, (uint32_t)index)
		: NULL;
	return json_from_text(name);
}

/** A bit without a name, of a plugin that is newer than its host, is "bit17". */
static json_t *
write_bits(struct json_writer *writer, const struct json_field *field, const void *at)
{
	uint64_t bits = json_get_number(at, field->size);
	json_t *array = json_array();
	for (uint32_t i = 0; i < 64; i++) {
		char text[16];
		const char *name = json_name(field->names, NULL, i);
		snprintf(text, sizeof(text), "bit%u", i);
		if ((bits >> i & 1) != 0)
			append(writer, array, json_string(name != NULL ? name : text));
	}
	return array;
}

static json_t *
write_counts(struct json_writer *writer, const struct json_field *field, const void *at)
{
	json_t *object = json_object();
	const char *numbers = at;
	for (uint32_t i = 0; i < field->names->count; i++) {
		uint64_t number = json_get_number(numbers + i * field->element, field->element);
		if (number > 0)
			json_put(writer, object, json_name(field->names, writer->verb, i),
				json_from_u64(number));
	}
	return object;
}

static json_t *
write_element(struct json_writer *writer, const struct json_field *field, const void *at)
{
	if (field->type == JSON_T_NUMBERS)
		return json_from_u64(json_get_number(at, field->element));
	if (field->type == JSON_T_TEXTS)
		return json_from_text(get_pointer(at));
	if (field->fields == NULL) /* char[][] */
		return json_from_text(at);
	json_t *object = json_object();
	json_write_fields(writer, object, field->fields, at);
	return object;
}

static json_t *
write_list(struct json_writer *writer, const struct json_field *field, const char *from)
{
	const char *elements = (field->flags & FIELD_WITHIN) != 0
		? from + field->offset
		: get_pointer(from + field->offset);
	if (elements == NULL)
		return json_null();
	uint64_t count = json_get_number(from + field->count_offset, field->count_size);
	json_t *array = json_array();
	for (uint64_t i = 0; i < count; i++)
		append(writer, array,
			write_element(writer, field, elements + i * field->element));
	return array;
}

static json_t *
write_object(struct json_writer *writer, const struct json_field *field, const void *at)
{
	bool was_sparse = writer->is_sparse;
	json_t *object = json_object();
	writer->is_sparse = was_sparse || (field->flags & FIELD_SPARSE) != 0;
	json_write_fields(writer, object, field->fields, at);
	writer->is_sparse = was_sparse;
	return object;
}

static json_t *
write_field(struct json_writer *writer, const struct json_field *field, const char *from)
{
	const void *at = from + field->offset;
	double real;
	switch (field->type) {
	case JSON_T_NUMBER:
		return json_from_u64(json_get_number(at, field->size));
	case JSON_T_FLAG:
		return json_boolean(json_get_number(at, field->size) != 0);
	case JSON_T_REAL:
		memcpy(&real, at, sizeof(real));
		return json_from_real(real);
	case JSON_T_HASH:
		return json_from_hash(json_get_number(at, field->size));
	case JSON_T_CHARS:
		return json_from_text(at);
	case JSON_T_TEXT:
	case JSON_T_BORROWED:
		return json_from_text(get_pointer(at));
	case JSON_T_NAME:
		return write_name(writer, field, at);
	case JSON_T_BITS:
		return write_bits(writer, field, at);
	case JSON_T_COUNTS:
		return write_counts(writer, field, at);
	case JSON_T_NUMBERS:
	case JSON_T_TEXTS:
	case JSON_T_LIST:
		return write_list(writer, field, from);
	case JSON_T_OBJECT:
		return write_object(writer, field, at);
	case JSON_T_HISTOGRAM:
		return json_from_histogram(get_pointer(at));
	case JSON_T_CUSTOM:
		return field->write(writer, from);
	}
	return NULL;
}

void
json_write_fields(struct json_writer *writer, json_t *object, const struct json_field *fields,
	const void *from)
{
	for (const struct json_field *field = fields; field->name != NULL; field++) {
		bool is_left_out = writer->is_sparse && field->type == JSON_T_NUMBER &&
			json_get_number((const char *)from + field->offset, field->size) == 0;
		if (!is_left_out)
			json_put(writer, object, field->name, write_field(writer, field, from));
	}
}

/* ---- reading ---- */

static int
read_number(const struct json_reader *reader, const struct json_field *field,
	const json_t *json, void *at)
{
	uint64_t value;
	uint64_t most = field->most > 0 ? field->most : most_of(field->size);
	int rc = json_to_u64(reader, json, most, &value);
	if (rc == NB_OK)
		json_set_number(at, field->size, value);
	return rc;
}

static int
read_flag(const struct json_reader *reader, const struct json_field *field, const json_t *json,
	void *at)
{
	bool flag;
	int rc = json_to_bool(reader, json, &flag);
	if (rc == NB_OK)
		json_set_number(at, field->size, flag);
	return rc;
}

static int
read_hash(const struct json_reader *reader, const json_t *json, void *at)
{
	uint64_t hash;
	int rc = json_to_hash(reader, json, &hash);
	if (rc == NB_OK)
		memcpy(at, &hash, sizeof(hash));
	return rc;
}

/** A text that is longer than what it is for. */
static int
read_chars(const struct json_reader *reader, const json_t *json, char *at, size_t size)
{
	char *text;
	int rc = json_to_text(reader, json, &text);
	if (rc != NB_OK || text == NULL)
		return rc;
	if (strlen(text) >= size)
		rc = json_bad(reader, "is a text of more than %zu bytes", size - 1);
	else
		memcpy(at, text, strlen(text) + 1);
	free(text);
	return rc;
}

static int
read_text(const struct json_reader *reader, const struct json_field *field, const json_t *json,
	void *at)
{
	char *text;
	int rc = json_to_text(reader, json, &text);
	if (rc == NB_OK && text == NULL && (field->flags & FIELD_FILLED) != 0) {
		text = strdup("");
		rc = text != NULL ? NB_OK : error_set(NB_FAIL, "out of memory");
	}
	if (rc == NB_OK)
		set_pointer(at, text);
	return rc;
}

static int
read_borrowed(const struct json_reader *reader, const json_t *json, void *at)
{
	char *text, **grown;
	int rc = json_to_text(reader, json, &text);
	set_pointer(at, "");
	if (rc != NB_OK || text == NULL)
		return rc;
	grown = realloc(*reader->texts, (*reader->text_count + 1) * sizeof(*grown));
	if (grown == NULL) {
		free(text);
		return error_set(NB_FAIL, "out of memory");
	}
	*reader->texts = grown;
	grown[(*reader->text_count)++] = text;
	set_pointer(at, text);
	return NB_OK;
}

/** names->count if there is none of that name. */
static uint32_t
find_name(const struct json_reader *reader, const struct json_names *names, const char *text)
{
	uint32_t i = 0;
	while (i < names->count && strcmp(json_name(names, reader->verb, i), text) != 0)
		i++;
	return i;
}

int
json_to_name(const struct json_reader *reader, const json_t *json,
	const struct json_names *names, uint32_t *out)
{
	char list[400] = "";
	*out = 0;
	if (json_is_null(json))
		return NB_OK;
	if (!json_is_string(json))
		return json_bad(reader, "must be a text");
	*out = find_name(reader, names, json_string_value(json));
	if (*out < names->count)
		return NB_OK;
	for (uint32_t i = 0; i < names->count; i++) {
		size_t used = strlen(list);
		snprintf(list + used, sizeof(list) - used, "%s%s", i > 0 ? ", " : "",
			json_name(names, reader->verb, i));
	}
	*out = 0;
	return json_bad(reader, "must be one of %s", list);
}

static int
read_name(const struct json_reader *reader, const struct json_field *field, const json_t *json,
	void *at)
{
	uint32_t index;
	int rc = json_to_name(reader, json, field->names, &index);
	if (rc == NB_OK)
		json_set_number(at, field->size, index);
	return rc;
}

static int
read_bit(struct json_reader *reader, const struct json_field *field, const json_t *json,
	uint64_t *bits)
{
	const char *text = json_string_value(json);
	unsigned bit;
	int end = 0;
	uint32_t index = text != NULL ? find_name(reader, field->names, text) : 0;
	if (text != NULL && index < field->names->count) {
		*bits |= UINT64_C(1) << index;
		return NB_OK;
	}
	bool is_number = text != NULL && strlen(text) <= 5 &&
		sscanf(text, "bit%2u%n", &bit, &end) == 1 && text[end] == '\0';
	if (!is_number || bit >= 8 * field->size)
		return json_bad(reader, "is no name that may stand here");
	*bits |= UINT64_C(1) << bit;
	return NB_OK;
}

static int
read_bits(struct json_reader *reader, const struct json_field *field, const json_t *json,
	void *at)
{
	uint64_t bits = 0;
	if (!json_is_array(json) && !json_is_null(json))
		return json_bad(reader, "must be an array of names");
	JSON_ENTER(reader, place, NULL);
	int rc = NB_OK;
	for (; place.index < json_array_size(json) && rc == NB_OK; place.index++)
		rc = read_bit(reader, field, json_array_get(json, place.index), &bits);
	JSON_LEAVE(reader, place);
	json_set_number(at, field->size, bits);
	return rc;
}

static int
read_counts(struct json_reader *reader, const struct json_field *field, const json_t *json,
	char *at)
{
	int rc = NB_OK;
	if (!json_is_object(json) && !json_is_null(json))
		return json_bad(reader, "must be an object of numbers");
	for (uint32_t i = 0; i < field->names->count && rc == NB_OK; i++) {
		uint64_t number;
		const char *name = json_name(field->names, reader->verb, i);
		const json_t *member = json_object_get(json, name);
		if (member == NULL)
			continue;
		JSON_ENTER(reader, place, name);
		rc = json_to_u64(reader, member, most_of(field->element), &number);
		JSON_LEAVE(reader, place);
		if (rc == NB_OK)
			json_set_number(at + i * field->element, field->element, number);
	}
	return rc;
}

static int
read_object(struct json_reader *reader, const struct json_field *field, const json_t *json,
	void *at)
{
	if ((field->flags & FIELD_SIZED) != 0)
		json_set_number(at, sizeof(size_t), field->size);
	return json_read_fields(reader, json, field->fields, at);
}

static int
read_element(struct json_reader *reader, const struct json_field *field, const json_t *json,
	char *at)
{
	static const struct json_field text = {.type = JSON_T_TEXT, .flags = FIELD_FILLED};
	uint64_t number;
	if (field->type == JSON_T_NUMBERS) {
		int rc = json_to_u64(reader, json, most_of(field->element), &number);
		if (rc == NB_OK)
			json_set_number(at, field->element, number);
		return rc;
	}
	if (field->type == JSON_T_TEXTS)
		return read_text(reader, &text, json, at);
	if (field->fields == NULL)
		return read_chars(reader, json, at, field->element);
	if ((field->flags & FIELD_SIZED) != 0)
		json_set_number(at, sizeof(size_t), field->element);
	return json_read_fields(reader, json, field->fields, at);
}

static int
read_list(struct json_reader *reader, const struct json_field *field, const json_t *json,
	char *into)
{
	size_t count = json_array_size(json);
	char *elements = into + field->offset;
	if (json_is_null(json))
		return NB_OK;
	if (!json_is_array(json))
		return json_bad(reader, "must be an array");
	if (count > field->most)
		return json_bad(
			reader, "has more than %llu elements", (unsigned long long)field->most);
	if ((field->flags & FIELD_WITHIN) == 0) {
		elements = calloc(count + 1, field->element);
		if (elements == NULL)
			return error_set(NB_FAIL, "out of memory");
		set_pointer(into + field->offset, elements);
	}
	JSON_ENTER(reader, place, NULL);
	int rc = NB_OK;
	for (; place.index < count && rc == NB_OK; place.index++) {
		json_set_number(into + field->count_offset, field->count_size, place.index + 1);
		rc = read_element(reader, field, json_array_get(json, place.index),
			elements + place.index * field->element);
	}
	JSON_LEAVE(reader, place);
	return rc;
}

static int
read_field(struct json_reader *reader, const struct json_field *field, const json_t *json,
	char *into)
{
	void *at = into + field->offset;
	double real;
	int rc;
	switch (field->type) {
	case JSON_T_NUMBER:
		return read_number(reader, field, json, at);
	case JSON_T_FLAG:
		return read_flag(reader, field, json, at);
	case JSON_T_REAL:
		rc = json_to_real(reader, json, &real);
		memcpy(at, &real, sizeof(real));
		return rc;
	case JSON_T_HASH:
		return read_hash(reader, json, at);
	case JSON_T_CHARS:
		return read_chars(reader, json, at, field->size);
	case JSON_T_TEXT:
		return read_text(reader, field, json, at);
	case JSON_T_BORROWED:
		return read_borrowed(reader, json, at);
	case JSON_T_NAME:
		return read_name(reader, field, json, at);
	case JSON_T_BITS:
		return read_bits(reader, field, json, at);
	case JSON_T_COUNTS:
		return read_counts(reader, field, json, at);
	case JSON_T_NUMBERS:
	case JSON_T_TEXTS:
	case JSON_T_LIST:
		return read_list(reader, field, json, into);
	case JSON_T_OBJECT:
		return read_object(reader, field, json, at);
	case JSON_T_HISTOGRAM:
		return json_to_histogram(reader, json, at);
	case JSON_T_CUSTOM:
		return field->read(reader, json, into);
	}
	return NB_FAIL;
}

/** A member that is not there is read as null, which makes it empty; so is all of no object. */
int
json_read_fields(struct json_reader *reader, const json_t *object,
	const struct json_field *fields, void *into)
{
	json_t *nothing = json_null();
	int rc = NB_OK;
	if (object != NULL && !json_is_object(object) && !json_is_null(object))
		return json_bad(reader, "must be an object");
	for (const struct json_field *field = fields; field->name != NULL && rc == NB_OK;
		field++) {
		const json_t *member = json_object_get(object, field->name);
		JSON_ENTER(reader, place, field->name);
		if (member == NULL && (field->flags & FIELD_MUST) != 0)
			rc = json_bad(reader, "is missing");
		else
			rc = read_field(reader, field, member != NULL ? member : nothing, into);
		JSON_LEAVE(reader, place);
	}
	return rc;
}
