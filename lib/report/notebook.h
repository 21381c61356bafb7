/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_NOTEBOOK_H
#define REPORT_NOTEBOOK_H
/** A notebook in memory: its text, and the same parsed. */
#include <jansson.h>

#include <mininb/mininb.h>

struct notebook {
	char *text; /* ends with a zero */
	size_t size;
	json_t *root; /* an object with the objects "experiments" and "data" */
};

/**
 * Read the one at `path`. If `may_be_new`, a missing or empty file is an empty notebook.
 * NB_ERR_DATA: it is not a notebook.
 */
NB_MUST_CHECK int
notebook_read(struct notebook *notebook, const char *path, int may_be_new);

/** In its text, after the last member of "experiments" or "data"; NULL: not found. */
const char *
notebook_end(const struct notebook *notebook, const char *name);

void
notebook_destroy(struct notebook *notebook);

#endif /* REPORT_NOTEBOOK_H */
