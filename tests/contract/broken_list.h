/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BROKEN_LIST_H
#define BROKEN_LIST_H
/** Defects, by subject, each file with a list of its own that ends with a NULL name. */
#include <stdbool.h>

#include "broken.h"

struct defect {
	const char *name, *promise;
	struct {
		size_t offset; /* in the engine's table; 0: no further one */
		void (*verb)(void);
	} verbs[3];
	bool is_plain; /* not fitted with what memory lacks */
	uint32_t caps_added, durabilities_added, auto_durability;
	const char *table_name;
};

#define VERB(field, with) \
	{ \
		offsetof(struct nb_engine, field), (void (*)(void))(with) \
	}

extern const struct defect broken_records[], broken_verbs[], broken_scans[], broken_places[];

/** The right engine below. */
extern const struct nb_engine *broken_right;

/** For a defect to count with; 0 when the engine is made, and by broken_open_counted(). */
extern uint64_t broken_calls;

int
broken_open_counted(struct nb_db **out, const struct nb_open_args *args);

#endif /* BROKEN_LIST_H */
