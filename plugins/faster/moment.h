/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_MOMENT_H
#define FASTER_MOMENT_H
/**
 * Moments at which a test can hold a thread while other threads interfere with its operation.
 * They cost nothing outside of tests.
 */
#include "../common/racy.h"

enum moment {
	MOMENT_CURRENT_TABLE, /* the current table is read, the next one is not */
	MOMENT_TABLE,         /* the table for a hash is known, its entry is not */
	MOMENT_TENTATIVE,     /* an entry is tentative */
	MOMENT_DECIDED,       /* its session knows whether another entry has its tag */
	MOMENT_GROWTH,        /* the larger table is published and empty */
	MOMENT_SPLIT,         /* a session has taken a bucket to split it */
	MOMENT_GROWN,         /* the larger table is the only one */
	MOMENT_FOUND,         /* a record is found in memory and not read yet */
	MOMENT_STORE,         /* a record will change in place */
	MOMENT_HALF_READ,     /* half of a sized value is read */
	MOMENT_HALF_STORED,   /* half of a sized value is changed in place */
	MOMENT_LINK,          /* a record is written and not linked yet */
	MOMENT_COPY,          /* compaction has found a record to keep */
	MOMENT_COPIED,        /* compaction has copied a record and not linked the copy */
	MOMENT_PROMOTE,       /* a get will append the record that it has read */
	MOMENT_SEAL,          /* a seal has its address, and read_only is not after it yet */
	MOMENT_SEALED,        /* read_only is after it, and its version is not published yet */
	MOMENT_CUT,           /* it is published; some sessions have read the old regions */
	MOMENT_SETTLED, /* no session changes records before read_only; safe_read_only is old */
	MOMENT_LOG_MADE,   /* a new log is written, with a temporary name */
	MOMENT_LOG_LINKED, /* it also has its final name */
	MOMENT_LOG_NAMED,  /* it has only its final name; meta is not written */
	MOMENT_INDEX_COPY, /* the start of a copy of the index is known; it has no entries yet */
	MOMENT_INDEX_COPIED,  /* it has all entries; its end is not known */
	MOMENT_INDEX_WRITTEN, /* it is written and synced, with a temporary name */
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
