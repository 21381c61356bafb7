/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_SCAN_H
#define NET_SCAN_H
/** A scan of one server's records, a part at a time. */
#include "link.h"

/** Zeros: none. */
struct scan {
	struct link *link;
	uint32_t flags;      /* NB_SCAN_* */
	uint32_t count;      /* records of a part, at most */
	struct buffer bytes; /* of the part at hand, */
	size_t at;           /* its next record, */
	uint32_t left;       /* and how many there are */
	bool is_last;        /* no record follows them */
	struct buffer key;   /* where it begins, or after which it goes on */
};

/** Nothing is in flight on the link, from here to the last step. NB_OK or a failure. */
int
scan_begin(struct scan *scan, struct link *link, const struct nb_scan_args *args);

/** The next record, as of nb_engine.scan_next. */
int
scan_step(struct scan *scan, struct nb_slice *key, struct nb_slice *value);

void
scan_destroy(struct scan *scan);

#endif /* NET_SCAN_H */
