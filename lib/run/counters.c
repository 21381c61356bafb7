/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of engines: reported by name through a callback, kept as copies.
 *
 * The name alone identifies a counter. An engine that reports a name twice breaks the contract;
 * the first value is kept. A counter that is missing at the beginning counts as 0, because
 * engines omit events that have not happened yet. A COUNTER that falls is marked, because
 * neither its value nor its difference means anything. Unknown kinds are omitted, because this
 * host cannot interpret them.
 *
 * Lists are searched linearly. Engines have tens of counters, at most some 200. The search
 * happens at most once per sample, and is not timed.
 */
#include "run/counters.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

struct counter *
counters_find(const struct counters *counters, const char *name)
{
	for (size_t i = 0; i < counters->count; i++) {
		if (strcmp(counters->items[i].name, name) == 0)
			return &counters->items[i];
	}
	return NULL;
}

/** Append a counter of value 0. NULL: out of memory. */
static struct counter *
append(struct counters *counters, const char *name, const char *unit, uint32_t kind)
{
	struct counter *added = array_append(
		&counters->items, &counters->count, sizeof(*counters->items));
	if (added == NULL)
		return NULL;
	*added = (struct counter){.name = strdup(name), .unit = strdup(unit), .kind = kind};
	if (added->name != NULL && added->unit != NULL)
		return added;
	free(added->name);
	free(added->unit);
	counters->count--;
	return NULL;
}

/** An nb_stat_emit. */
static void
take(void *to, const char *name, const char *unit, uint32_t kind, uint64_t value)
{
	struct counters *counters = to;
	bool is_known = kind == NB_STAT_COUNTER || kind == NB_STAT_GAUGE;
	if (name == NULL || name[0] == '\0' || !is_known ||
		counters_find(counters, name) != NULL)
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
	return error_memory();
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
		struct counter *into = counters_find(sum, is->name);
		if (into == NULL)
			into = append(sum, is->name, is->unit, is->kind);
		if (into == NULL)
			return error_memory();
		add_one(into, counters_find(from, is->name), is);
	}
	return NB_OK;
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
