/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_NOTEBOOK_H
#define REPORT_NOTEBOOK_H
/** A notebook as it is in memory: its text, checked, and what it says. */
#include <jansson.h>

#include <mininb/mininb.h>

struct notebook {
	char *text; /* ends with a zero */
	size_t size;
	json_t *root; /* an object with the objects "experiments" and "data" */
};

/**
 * Read the one at `path`; an empty one if there is no such file, or nothing in it, and
 * `may_be_new`. NB_ERR_DATA: it is no notebook.
 */
NB_MUST_CHECK int
notebook_read(struct notebook *notebook, const char *path, int may_be_new);

/** In its text, behind the last member of "experiments" or "data"; NULL: not to be found. */
const char *
notebook_end(const struct notebook *notebook, const char *name);

void
notebook_destroy(struct notebook *notebook);

#endif /* REPORT_NOTEBOOK_H */
