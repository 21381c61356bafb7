/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_NOTEBOOK_H
#define REPORT_NOTEBOOK_H
/** A notebook of Masstree's tools in memory: its text, and the parsed JSON. */
#include <jansson.h>

#include <mininb/mininb.h>

struct notebook {
	char *text; /* ends with a zero */
	size_t size;
	json_t *root; /* an object with the objects "experiments" and "data" */
};

/**
 * Read the notebook at `path`. If `may_be_new`, a missing or empty file is an empty
 * notebook. NB_ERR_DATA: the file is not a notebook.
 */
NB_MUST_CHECK int
notebook_read(struct notebook *notebook, const char *path, int may_be_new);

/** The position in the text after the last member of "experiments" or "data"; NULL: not found. */
const char *
notebook_end(const struct notebook *notebook, const char *name);

void
notebook_destroy(struct notebook *notebook);

#endif /* REPORT_NOTEBOOK_H */
