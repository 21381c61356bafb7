/* SPDX-License-Identifier: BSD-2-Clause */
#include "history.h"

#include <stdlib.h>
#include <string.h>

/* The begin or the end of an operation. */
struct event {
	uint64_t at;
	const struct operation *operation;
	bool is_end;
};

/* A possible state. */
struct way {
	uint64_t value;
	uint32_t taken; /* bit mask of threads whose pending operation has taken effect */
};

enum { TABLE = 1 << 14 };

struct search {
	const struct operation *pending[HISTORY_THREADS];
	struct way *ways;
	size_t count, room;
	uint32_t table[TABLE]; /* indices into ways, plus 1 */
};

static void
add_way(struct search *search, struct way way)
{
	uint64_t hash = (way.value * 0x9e3779b97f4a7c15ull ^ way.taken) * 0xc2b2ae3d27d4eb4full;
	size_t i = hash >> 50;

	for (; search->table[i] != 0; i = (i + 1) % TABLE) {
		const struct way *other = &search->ways[search->table[i] - 1];
		if (other->value == way.value && other->taken == way.taken)
			return;
	}
	if (search->count == search->room) {
		search->room = search->room == 0 ? 256 : 2 * search->room;
		search->ways = realloc(search->ways, search->room * sizeof(way));
	}
	if (search->ways == NULL || search->count > TABLE / 2)
		abort();
	search->ways[search->count++] = way;
	search->table[i] = (uint32_t)search->count;
}

/*
 * Whether the operation would get its answer in this state. Updates *value to the value after
 * it.
 */
static bool
takes_effect(const struct operation *operation, uint64_t *value)
{
	bool is_there = *value != HISTORY_ABSENT;

	switch (operation->verb) {
	case VERB_PUT:
		*value = operation->value;
		return operation->is_done;
	case VERB_INSERT:
		if (!is_there)
			*value = operation->value;
		return operation->is_done != is_there;
	case VERB_DEL:
		*value = HISTORY_ABSENT;
		return operation->is_done == is_there ||
			(operation->is_done && operation->is_blind);
	case VERB_ADD:
		*value += operation->value; /* no sum in a test equals HISTORY_ABSENT */
		return operation->is_done;
	default:
		return operation->is_done == is_there &&
			(!is_there || operation->value == *value);
	}
}

/*
 * Add all states that pending operations can lead to. The loop also visits the new states,
 * which are appended.
 */
static void
explore(struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		for (unsigned thread = 0; thread < HISTORY_THREADS; thread++) {
			struct way way = search->ways[i];
			const struct operation *operation = search->pending[thread];

			if (operation == NULL || (way.taken >> thread & 1) != 0 ||
				!takes_effect(operation, &way.value))
				continue;
			way.taken |= 1u << thread;
			add_way(search, way);
		}
}

/* Keep the states in which the thread's operation has taken effect. Ends that operation. */
static void
finish(struct search *search, unsigned thread)
{
	size_t count = search->count;

	search->count = 0;
	memset(search->table, 0, sizeof(search->table));
	for (size_t i = 0; i < count; i++) {
		struct way way = search->ways[i];

		if ((way.taken >> thread & 1) == 0)
			continue;
		way.taken &= ~(1u << thread);
		add_way(search, way);
	}
	search->pending[thread] = NULL;
}

static int
compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

static struct event *
events_of(const struct operation *operations, size_t count)
{
	struct event *events = malloc(2 * count * sizeof(*events) + 1);

	if (events == NULL)
		abort();
	for (size_t i = 0; i < count; i++) {
		const struct operation *operation = &operations[i];
		events[2 * i] = (struct event){operation->begin, operation, false};
		events[2 * i + 1] = (struct event){operation->end, operation, true};
	}
	qsort(events, 2 * count, sizeof(*events), compare_events);
	return events;
}

bool
history_is_linearizable(const struct operation *operations, size_t count, uint64_t last,
	const struct operation **culprit)
{
	struct search *search = calloc(1, sizeof(*search));
	struct event *events = events_of(operations, count);
	bool is_last = false;

	if (search == NULL)
		abort();
	*culprit = NULL;
	add_way(search, (struct way){HISTORY_ABSENT, 0});
	for (size_t i = 0; i < 2 * count && search->count != 0; i++) {
		const struct operation *operation = events[i].operation;

		if (!events[i].is_end) {
			search->pending[operation->thread] = operation;
			continue;
		}
		explore(search);
		finish(search, operation->thread);
		if (search->count == 0)
			*culprit = operation;
	}
	for (size_t i = 0; i < search->count; i++)
		is_last = is_last || search->ways[i].value == last;
	free(search->ways);
	free(search);
	free(events);
	return is_last;
}
