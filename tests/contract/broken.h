/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BROKEN_H
#define BROKEN_H
/** Engines with one known defect each, to show that the suite finds it. */
#include <stdbool.h>
#include <stddef.h>

#include <mininb/engine.h>

struct defect {
	const char *name, *promise; /* "del_does_nothing", and the promise that it breaks */
	struct {
		size_t offset; /* in the engine's table; 0: none */
		void (*verb)(void);
	} verbs[3];
	bool is_plain; /* `memory` itself, without the verbs of fitted.h */
	uint32_t caps_added, durabilities_added, auto_durability;
	const char *table_name;
};

#define VERB(field, with) \
	{ \
		offsetof(struct nb_engine, field), (void (*)(void))(with) \
	}

/** By subject; each list ends with a NULL name. */
extern const struct defect broken_records[], broken_verbs[], broken_scans[], broken_places[],
	broken_requests[], broken_execute[], broken_transactions[];

/** The index-th of all lists; NULL after the last. */
const struct defect *
broken_defect(size_t index);

size_t
broken_count(void);

/** `memory`, usually with the verbs of fitted.h, with the defect. There is one table. */
const struct nb_engine *
broken_engine(const struct nb_engine *memory, const struct defect *defect);

/** The correct engine below. */
extern const struct nb_engine *broken_right;

/** A counter for defects; broken_engine() and broken_open_counted() set it to 0. */
extern uint64_t broken_calls;

int
broken_open_counted(struct nb_db **out, const struct nb_open_args *args);

#endif /* BROKEN_H */
