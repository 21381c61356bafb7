/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engines with defects, to show that each check of the contract suite can fail. A real plugin
 * had or could have each defect in the lists. A defect replaces up to three verbs of a correct
 * engine.
 */
#include <string.h>

#include "broken.h"
#include "fitted.h"

const struct nb_engine *broken_right;
uint64_t broken_calls;

static const struct defect *const lists[] = {broken_records, broken_verbs, broken_scans,
	broken_places, broken_requests, broken_execute, broken_transactions};
enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

int
broken_open_counted(struct nb_db **out, const struct nb_open_args *args)
{
	__atomic_store_n(&broken_calls, 0, __ATOMIC_RELAXED);
	return broken_right->open(out, args);
}

const struct defect *
broken_defect(size_t index)
{
	for (size_t i = 0; i < LISTS; i++)
		for (const struct defect *at = lists[i]; at->name != NULL; at++)
			if (index-- == 0)
				return at;
	return NULL;
}

size_t
broken_count(void)
{
	size_t count = 0;
	while (broken_defect(count) != NULL)
		count++;
	return count;
}

const struct nb_engine *
broken_engine(const struct nb_engine *memory, const struct defect *defect)
{
	static struct nb_engine table;
	broken_right = defect->is_plain ? memory : fitted_engine(memory);
	broken_calls = 0;
	table = *broken_right;
	table.caps |= defect->caps_added;
	table.durabilities |= defect->durabilities_added;
	if (defect->auto_durability != 0)
		table.auto_durability = defect->auto_durability;
	if (defect->table_name != NULL)
		table.name = defect->table_name;
	for (size_t i = 0; i < 3 && defect->verbs[i].offset != 0; i++)
		memcpy((char *)&table + defect->verbs[i].offset, &defect->verbs[i].verb,
			sizeof(defect->verbs[i].verb));
	return &table;
}
