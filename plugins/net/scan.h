/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_SCAN_H
#define NET_SCAN_H
/** A scan of the records of one server. It fetches them in parts. */
#include "link.h"

/** A scan; all zeros before the first scan_begin(). */
struct scan {
	struct link *link;
	uint32_t flags;      /* NB_SCAN_* */
	uint32_t count;      /* maximum number of records of a part */
	struct buffer bytes; /* the current part */
	size_t at;           /* offset of the next record */
	uint32_t left;       /* number of records from there */
	bool is_last;        /* no record follows the current part */
	struct buffer key;   /* first key, or last key of the current part */
};

/**
 * Begin a scan. No request may be in flight on the link until the last step of the scan. Returns
 * NB_OK or a failure.
 */
int
scan_begin(struct scan *scan, struct link *link, const struct nb_scan_args *args);

/** Return the next record, like nb_engine.scan_next. */
int
scan_step(struct scan *scan, struct nb_slice *key, struct nb_slice *value);

void
scan_destroy(struct scan *scan);

#endif /* NET_SCAN_H */
