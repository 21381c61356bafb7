/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DOC_RIG_H
#define DOC_RIG_H
/** Documents rendered as texts. */
#include <stdlib.h>

#include "report/doc.h"
#include "unit.h"

/** Render the document and destroy it. Free the text. */
static inline char *
doc_rig_written(struct doc *doc, uint32_t rendering)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(doc_finish(doc, NB_OK, rendering, out, "document"), NB_OK);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

/** Same, but compare the text with `expected`. */
static inline void
doc_rig_expect(struct doc *doc, uint32_t rendering, const char *expected)
{
	char *text = doc_rig_written(doc, rendering);
	ck_assert_str_eq(text, expected);
	free(text);
}

#endif /* DOC_RIG_H */
