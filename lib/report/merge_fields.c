/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges members of two results, each by the rule in its row of a table of fields. */
#include <math.h>
#include <string.h>

#include "report/json_fields.h"
#include "report/merge_parts.h"

static uint64_t
merge_numbers(enum json_merge rule, uint64_t a, uint64_t b)
{
	switch (rule) {
	case MERGE_SUM:
		return merge_sum(a, b);
	case MERGE_KNOWN:
		return a > 0 && b > 0 ? merge_sum(a, b) : 0;
	case MERGE_MOST:
		return merge_most(a, b);
	case MERGE_LEAST:
		return a < b ? a : b;
	case MERGE_ANY:
		return a | b;
	case MERGE_ALL:
		return a & b;
	default:
		return a;
	}
}

static void
merge_number(enum json_merge rule, void *into, const void *from, size_t size)
{
	uint64_t merged = merge_numbers(
		rule, json_get_number(into, size), json_get_number(from, size));
	uint64_t most = size == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
	json_set_number(into, size, merged < most ? merged : most);
}

static void
merge_real(enum json_merge rule, void *into, const void *from)
{
	double a, b;
	memcpy(&a, into, sizeof(a));
	memcpy(&b, from, sizeof(b));
	if (rule == MERGE_MOST)
		a = fmax(a, b);
	else if (rule == MERGE_KNOWN)
		a = a > 0 && b > 0 ? a + b : 0;
	else if (rule == MERGE_SUM)
		a += b;
	memcpy(into, &a, sizeof(a));
}

static void
merge_field(const struct json_field *field, char *into, const char *from, int *rc)
{
	if (field->type == JSON_T_OBJECT) {
		merge_fields(field->fields, into, from, rc);
	} else if (field->merge == MERGE_KEEP) {
		return;
	} else if (field->type == JSON_T_HISTOGRAM) {
		struct nb_histogram *other;
		memcpy(&other, from, sizeof(other));
		merge_histogram((struct nb_histogram **)(void *)into, other, rc);
	} else if (field->type == JSON_T_REAL) {
		merge_real(field->merge, into, from);
	} else if (field->type == JSON_T_COUNTS) {
		for (size_t i = 0; i < field->size; i += field->element)
			merge_number(field->merge, into + i, from + i, field->element);
	} else if (field->merge != MERGE_FILL) {
		merge_number(field->merge, into, from, field->size);
	} else if (into[0] == '\0') {
		memcpy(into, from, field->size);
	}
}

void
merge_fields(const struct json_field *fields, void *into, const void *from, int *rc)
{
	for (const struct json_field *field = fields; field->name != NULL && *rc == NB_OK;
		field++)
		merge_field(field, (char *)into + field->offset,
			(const char *)from + field->offset, rc);
}
