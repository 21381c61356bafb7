/* SPDX-License-Identifier: BSD-2-Clause */
#include <mininb/job.h>
#include <mininb/result.h>

#include "report/doc.h"

int
nb_presets_write_text(FILE *out)
{
	static const struct doc_column columns[] = {
		{"name", DOC_LEFT, 0}, {"summary", DOC_LEFT, 0}, {"where", DOC_LEFT, 0}};
	struct doc doc = {0};
	struct nb_preset *presets;
	int rc = nb_presets_list(&presets);
	if (rc != NB_OK)
		return rc;
	doc_table(&doc, columns, 0, 0);
	for (size_t i = 0; presets[i].name != NULL; i++)
		doc_texts(&doc, presets[i].name, presets[i].summary, presets[i].path);
	nb_presets_delete(presets);
	return doc_finish(&doc, NB_OK, DOC_TEXT, out, "cannot write a table");
}
