/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_BATCH_READ_H
#define RUN_BATCH_READ_H
/** The batch read of a social graph: a scan of all edges, page by page, before a run. */
#include <mininb/mininb.h>

#include <stdbool.h>

struct nb_run;

enum { BATCH_READ_PAGE = 500 }; /* edges, as in the original */

struct batch_read {
	uint64_t edges, pages;
	uint64_t ns;         /* of all pages */
	uint64_t longest_ns; /* of a page */
};

/** NB_ERR_USAGE or NB_UNSUPPORTED if the job asks for a batch read that is not possible. */
NB_MUST_CHECK int
batch_read_check(const struct nb_run *run);

/** If the job asks for it: read all edges, into measured.batch_read. */
NB_MUST_CHECK int
batch_read(struct nb_run *run);

#endif /* RUN_BATCH_READ_H */
