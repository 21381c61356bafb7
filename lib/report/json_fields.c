/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks a table of fields, to write a structure or to read it.
 *
 * Writing and reading follow the order of the table, so that of several errors always the
 * same one is reported. An array is allocated when its length is known, and its count grows
 * with the elements, so an incomplete array is destroyed like a complete one.
 */
#include "report/json_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

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
json_name(
	const struct json_names *names, const char *verb, json_kind_names kinds, uint32_t index)
{
	if (names->are_kinds && kinds != NULL && index < NB_KINDS_MAX &&
		kinds[index][0] != '\0')
		return kinds[index];
	if (names->are_kinds && verb != NULL && index == 0)
		return verb;
	if (index >= names->count)
		return NULL;
	return names->name_of != NULL ? names->name_of(index) : names->names[index];
}

/** A field that describes one element of a list. */
static struct json_field
element_of(const struct json_field *list)
{
	return (struct json_field){.size = list->element,
		.flags = (list->flags & FIELD_SIZED) | FIELD_FILLED,
		.fields = list->fields,
		.type = list->type == JSON_T_NUMBERS ? JSON_T_NUMBER
			: list->type == JSON_T_TEXTS ? JSON_T_TEXT
			: list->fields == NULL       ? JSON_T_CHARS
						     : JSON_T_OBJECT};
}

/* ---- writing ---- */

static json_t *
write_field(struct json_writer *writer, const struct json_field *field, const char *from);

/** Write a name; null for a value beyond the last name. */
static json_t *
write_name(struct json_writer *writer, const struct json_field *field, const void *at)
{
	uint64_t index = json_get_number(at, field->size);
	const char *name = index <= UINT32_MAX
		? json_name(field->names, writer->verb, writer->kinds, (uint32_t)index)
		: NULL;
	return json_from_text(name);
}

/**
 * Write an array of bit names. A bit without a name, of a plugin newer than its host, is
 * "bit17".
 */
static json_t *
write_bits(struct json_writer *writer, const struct json_field *field, const void *at)
{
	uint64_t bits = json_get_number(at, field->size);
	json_t *array = json_array();
	for (uint32_t i = 0; i < 64; i++) {
		char text[16];
		const char *name = json_name(field->names, NULL, NULL, i);
		snprintf(text, sizeof(text), "bit%u", i);
		if ((bits >> i & 1) != 0)
			json_add(writer, array, json_string(name != NULL ? name : text));
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
			json_put(writer, object,
				json_name(field->names, writer->verb, writer->kinds, i),
				json_from_u64(number));
	}
	return object;
}

static json_t *
write_list(struct json_writer *writer, const struct json_field *field, const char *from)
{
	const struct json_field element = element_of(field);
	const char *elements = (field->flags & FIELD_WITHIN) != 0
		? from + field->offset
		: get_pointer(from + field->offset);
	if (elements == NULL && (field->flags & FIELD_FILLED) == 0)
		return json_null();
	uint64_t count = json_get_number(from + field->count_offset, field->count_size);
	json_t *array = json_array();
	for (uint64_t i = 0; i < count; i++)
		json_add(writer, array,
			write_field(writer, &element, elements + i * field->element));
	return array;
}

static json_t *
write_object(struct json_writer *writer, const struct json_field *field, const void *at)
{
	bool was_sparse = writer->is_sparse;
	if (writer->verb != NULL && (field->flags & FIELD_OF_JOB) != 0)
		return json_null();
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
		return json_from_histogram(writer, get_pointer(at));
	case JSON_T_CUSTOM:
		return field->write(writer, from);
	}
	return NULL;
}

/** Whether a field is empty: its bytes, or those of its count, are all 0. */
static bool
is_empty(const struct json_field *field, const char *from)
{
	size_t i = 0;
	if (field->type == JSON_T_LIST || field->type == JSON_T_NUMBERS ||
		field->type == JSON_T_TEXTS)
		return json_get_number(from + field->count_offset, field->count_size) == 0;
	if (field->type == JSON_T_CHARS)
		return from[field->offset] == '\0';
	while (i < field->size && from[field->offset + i] == 0)
		i++;
	return i == field->size;
}

void
json_write_fields(struct json_writer *writer, json_t *object, const struct json_field *fields,
	const void *from)
{
	for (const struct json_field *field = fields; field->name != NULL; field++) {
		bool is_left_out = writer->is_sparse && field->type == JSON_T_NUMBER &&
			json_get_number((const char *)from + field->offset, field->size) == 0;
		is_left_out |= (field->flags & FIELD_IF_USED) != 0 && is_empty(field, from);
		if (!is_left_out)
			json_put(writer, object, field->name, write_field(writer, field, from));
	}
}

/* ---- reading ---- */

/** Copy a text into an array and free it. */
static void
set_chars(struct json_reader *reader, char *at, size_t size, char *text)
{
	if (text != NULL && strlen(text) >= size)
		json_bad(reader, "is a text of more than %zu bytes", size - 1);
	else if (text != NULL)
		memcpy(at, text, strlen(text) + 1);
	free(text);
}

static char *
read_text(struct json_reader *reader, const struct json_field *field, const json_t *json)
{
	char *text = json_to_text(reader, json);
	if (text != NULL || reader->rc != NB_OK || (field->flags & FIELD_FILLED) == 0)
		return text;
	text = strdup("");
	if (text == NULL)
		reader->rc = error_memory();
	return text;
}

static const char *
read_borrowed(struct json_reader *reader, const json_t *json)
{
	char *text = json_to_text(reader, json);
	if (text == NULL)
		return "";
	char **kept = array_append(reader->texts, reader->text_count, sizeof(*kept));
	if (kept != NULL)
		return *kept = text;
	reader->rc = NB_FAIL;
	free(text);
	return "";
}

/** The index of a name; names->count: unknown. */
static uint32_t
find_name(const struct json_reader *reader, const struct json_names *names, const char *text)
{
	uint32_t i = 0;
	const char *name;
	while (i < names->count &&
		((name = json_name(names, reader->verb, reader->kinds, i)) == NULL ||
			strcmp(name, text) != 0))
		i++;
	return i;
}

uint32_t
json_to_name(struct json_reader *reader, const json_t *json, const struct json_names *names)
{
	char list[400] = "";
	if (json_is_null(json) || reader->rc != NB_OK)
		return 0;
	uint32_t index = json_is_string(json)
		? find_name(reader, names, json_string_value(json))
		: names->count;
	if (index < names->count)
		return index;
	for (uint32_t i = 0; i < names->count; i++) {
		size_t used = strlen(list);
		const char *name = json_name(names, reader->verb, reader->kinds, i);
		if (name != NULL)
			snprintf(list + used, sizeof(list) - used, "%s%s", i > 0 ? ", " : "",
				name);
	}
	if (json_is_string(json))
		json_bad(reader, "must be one of %s", list);
	else
		json_bad(reader, "must be a text");
	return 0;
}

/** A bit set while it is read, and the field with its names. */
struct bits {
	const struct json_field *field;
	uint64_t value;
};

static void
read_bit(struct json_reader *reader, const json_t *json, void *into)
{
	struct bits *bits = into;
	const struct json_names *names = bits->field->names;
	const char *text = json_is_string(json) ? json_string_value(json) : "";
	int end = 0;
	unsigned bit = find_name(reader, names, text);
	bool is_number = bit == names->count && strlen(text) <= 5 &&
		sscanf(text, "bit%2u%n", &bit, &end) == 1 && text[end] == '\0' &&
		bit < 8 * bits->field->size;
	if (is_number || bit < names->count)
		bits->value |= UINT64_C(1) << bit;
	else
		json_bad(reader, "is not a name that is allowed here");
}

static void
read_counts(struct json_reader *reader, const struct json_field *field, const json_t *json,
	char *at)
{
	if (!json_is_object(json) && !json_is_null(json))
		json_bad(reader, "must be an object of numbers");
	for (uint32_t i = 0; i < field->names->count; i++) {
		const char *name = json_name(field->names, reader->verb, reader->kinds, i);
		const json_t *member = name != NULL ? json_object_get(json, name) : NULL;
		if (member == NULL)
			continue;
		JSON_ENTER(reader, place, name);
		json_set_number(at + i * field->element, field->element,
			json_to_u64(reader, member, most_of(field->element)));
		JSON_LEAVE(reader, place);
	}
}

static void
read_field(struct json_reader *reader, const struct json_field *field, const json_t *json,
	char *into);

/** A list while it is read. */
struct list {
	struct json_field element;
	char *elements, *count;
	size_t count_size;
};

static void
read_element(struct json_reader *reader, const json_t *json, void *into)
{
	struct list *list = into;
	size_t index = reader->place->index;
	json_set_number(list->count, list->count_size, index + 1);
	read_field(reader, &list->element, json, list->elements + index * list->element.size);
}

static void
read_list(struct json_reader *reader, const struct json_field *field, const json_t *json,
	char *into)
{
	size_t count = json_array_size(json);
	struct list list = {.element = element_of(field),
		.elements = into + field->offset,
		.count = into + field->count_offset,
		.count_size = field->count_size};
	if ((field->flags & FIELD_WITHIN) == 0 && json_is_array(json) && count <= field->most) {
		list.elements = calloc(count + 1, field->element);
		set_pointer(into + field->offset, list.elements);
		if (list.elements == NULL)
			reader->rc = error_memory();
	}
	json_each(reader, json, field->most, read_element, &list);
}

static void
read_field(struct json_reader *reader, const struct json_field *field, const json_t *json,
	char *into)
{
	char *at = into + field->offset;
	struct bits bits = {.field = field};
	double real;
	switch (field->type) {
	case JSON_T_NUMBER:
		json_set_number(
			at, field->size, json_to_u64(reader, json, most_of(field->size)));
		break;
	case JSON_T_FLAG:
		json_set_number(at, field->size, json_to_bool(reader, json));
		break;
	case JSON_T_REAL:
		real = json_to_real(reader, json);
		memcpy(at, &real, sizeof(real));
		break;
	case JSON_T_HASH:
		json_set_number(at, field->size, json_to_hash(reader, json));
		break;
	case JSON_T_CHARS:
		set_chars(reader, at, field->size, json_to_text(reader, json));
		break;
	case JSON_T_TEXT:
		set_pointer(at, read_text(reader, field, json));
		break;
	case JSON_T_BORROWED:
		set_pointer(at, read_borrowed(reader, json));
		break;
	case JSON_T_NAME:
		json_set_number(at, field->size, json_to_name(reader, json, field->names));
		break;
	case JSON_T_BITS:
		json_each(reader, json, SIZE_MAX, read_bit, &bits);
		json_set_number(at, field->size, bits.value);
		break;
	case JSON_T_COUNTS:
		read_counts(reader, field, json, at);
		break;
	case JSON_T_NUMBERS:
	case JSON_T_TEXTS:
	case JSON_T_LIST:
		read_list(reader, field, json, into);
		break;
	case JSON_T_OBJECT:
		if ((field->flags & FIELD_SIZED) != 0)
			json_set_number(at, sizeof(size_t), field->size);
		json_read_fields(reader, json, field->fields, at);
		break;
	case JSON_T_HISTOGRAM:
		set_pointer(at, json_to_histogram(reader, json));
		break;
	case JSON_T_CUSTOM:
		field->read(reader, json, into);
		break;
	}
	if (field->check != NULL && reader->rc == NB_OK)
		field->check(reader, into);
}

/**
 * A missing member is read as null, which makes it empty. So are all members of a missing
 * object.
 */
void
json_read_fields(struct json_reader *reader, const json_t *object,
	const struct json_field *fields, void *into)
{
	if (object != NULL && !json_is_object(object) && !json_is_null(object))
		json_bad(reader, "must be an object");
	for (const struct json_field *field = fields;
		field->name != NULL && reader->rc == NB_OK; field++) {
		const json_t *member = json_object_get(object, field->name);
		if (reader->verb != NULL && (field->flags & FIELD_OF_JOB) != 0)
			continue;
		JSON_ENTER(reader, place, field->name);
		if (member == NULL && (field->flags & FIELD_MUST) != 0)
			json_bad(reader, "is missing");
		else
			read_field(reader, field, member != NULL ? member : json_null(), into);
		JSON_LEAVE(reader, place);
	}
}
