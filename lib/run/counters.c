/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of engines: told by name through a callback, kept as copies.
 *
 * They are told apart by name alone. An engine that tells a name twice breaks the
 * contract; the first is kept, as two values cannot be told apart in the difference. One
 * that is not told at the beginning is taken to have been 0: engines leave out what has
 * not happened yet. One that falls although it is a COUNTER is marked, since neither its
 * value nor a difference that wraps around means anything. Kinds that this host does not
 * know are left out: how to read them is not known.
 *
 * A list is searched from its beginning: engines have tens of counters, the largest some
 * 200, and that is done a few times in a run, outside what is measured.
 */
#include "run/counters.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static struct counter *
find(const struct counters *counters, const char *name)
{
	for (size_t i = 0; i < counters->count; i++) {
		if (strcmp(counters->items[i].name, name) == 0)
			return &counters->items[i];
	}
	return NULL;
}

/** A new one of value 0; NULL if memory does not reach. */
static struct counter *
append(struct counters *counters, const char *name, const char *unit, uint32_t kind)
{
	size_t bytes = (counters->count + 1) * sizeof(*counters->items);
	struct counter *grown = realloc(counters->items, bytes);
	if (grown == NULL)
		return NULL;
	counters->items = grown;
	struct counter *added = &grown[counters->count];
	*added = (struct counter){.name = strdup(name), .unit = strdup(unit), .kind = kind};
	if (added->name == NULL || added->unit == NULL) {
		free(added->name);
		free(added->unit);
		return NULL;
	}
	counters->count++;
	return added;
}

/** An nb_stat_emit. */
static void
take(void *to, const char *name, const char *unit, uint32_t kind, uint64_t value)
{
	struct counters *counters = to;
	bool is_known = kind == NB_STAT_COUNTER || kind == NB_STAT_GAUGE;
	if (name == NULL || name[0] == '\0' || !is_known || find(counters, name) != NULL)
		return;
	struct counter *added = append(counters, name, unit != NULL ? unit : "", kind);
	if (added == NULL)
		counters->is_short = true;
	else
		added->value = value;
}

int
counters_collect(struct counters *out, const struct nb_engine *engine, struct nb_db *db)
{
	*out = (struct counters){0};
	if (engine->stats == NULL)
		return NB_OK;
	engine->stats(db, take, out);
	if (!out->is_short)
		return NB_OK;
	counters_destroy(out);
	return error_set(NB_FAIL, "out of memory");
}

static void
add_one(struct counter *sum, const struct counter *was, const struct counter *is)
{
	uint64_t before = was != NULL ? was->value : 0;
	if (is->kind == NB_STAT_GAUGE)
		sum->value = is->value;
	else if (is->value < before)
		sum->has_run_back = true;
	else
		sum->value += is->value - before;
}

int
counters_add_growth(
	struct counters *sum, const struct counters *from, const struct counters *until)
{
	for (size_t i = 0; i < until->count; i++) {
		const struct counter *is = &until->items[i];
		struct counter *into = find(sum, is->name);
		if (into == NULL)
			into = append(sum, is->name, is->unit, is->kind);
		if (into == NULL)
			return error_set(NB_FAIL, "out of memory");
		add_one(into, find(from, is->name), is);
	}
	return NB_OK;
}

int
counters_copy(struct counters *out, const struct counters *from)
{
	*out = (struct counters){0};
	for (size_t i = 0; i < from->count; i++) {
		const struct counter *is = &from->items[i];
		struct counter *copy = append(out, is->name, is->unit, is->kind);
		if (copy == NULL) {
			counters_destroy(out);
			return error_set(NB_FAIL, "out of memory");
		}
		copy->has_run_back = is->has_run_back;
		copy->value = is->value;
	}
	return NB_OK;
}

const struct counter *
counters_find(const struct counters *counters, const char *name)
{
	return find(counters, name);
}

void
counters_destroy(struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++) {
		free(counters->items[i].name);
		free(counters->items[i].unit);
	}
	free(counters->items);
	*counters = (struct counters){0};
}
