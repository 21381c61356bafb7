/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_MOMENT_H
#define FASTER_MOMENT_H
/**
 * Moments at which a test can hold a thread, so that others do what would break an operation
 * that took too little care. They cost nothing outside of tests.
 */
#include "../common/racy.h"

enum moment {
	MOMENT_CURRENT_TABLE, /* the current table is read, the next one is not */
	MOMENT_TABLE,         /* the table for a hash is known, its entry is not */
	MOMENT_TENTATIVE,     /* an entry is tentative */
	MOMENT_DECIDED,       /* and its session knows whether it is the only one of its tag */
	MOMENT_GROWTH,        /* the larger table is published and empty */
	MOMENT_SPLIT,         /* a session has taken a bucket to split it */
	MOMENT_GROWN,         /* the larger table is the only one */
	MOMENT_FOUND,         /* a record is found in memory and not read yet */
	MOMENT_STORE,         /* a record will change in place */
	MOMENT_HALF_READ,     /* half of a sized value is read */
	MOMENT_HALF_STORED,   /* half of a sized value is changed in place */
	MOMENT_LINK,          /* a record is written and not linked yet */
	MOMENT_COPY,          /* compaction has found a record that it has to keep */
	MOMENT_COPIED,        /* it has copied it, and not linked the copy */
	MOMENT_PROMOTE,       /* a record that was read is about to be appended */
	MOMENT_SEAL,          /* a seal has its place, and read_only is not behind it yet */
	MOMENT_SEALED,        /* read_only is behind it, and its version is not published yet */
	MOMENT_SETTLED,    /* nobody changes what is before read_only; safe_read_only is old */
	MOMENT_LOG_MADE,   /* a new log is written under the name of its database */
	MOMENT_LOG_LINKED, /* it has its own name, too */
	MOMENT_LOG_NAMED,  /* it has its own name only; meta is not written */
	MOMENTS
};

#ifdef RACY_MEET
void
moment_reached(enum moment moment);
#else
static inline void
moment_reached(enum moment moment)
{
	(void)moment;
}
#endif

#endif /* FASTER_MOMENT_H */
