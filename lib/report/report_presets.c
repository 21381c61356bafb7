/* SPDX-License-Identifier: BSD-2-Clause */
#include <mininb/job.h>
#include <mininb/result.h>

#include "base/table.h"

int
nb_presets_write_text(FILE *out)
{
	static const struct table_column columns[] = {
		{"name", false}, {"summary", false}, {"where", false}};
	struct nb_preset *presets;
	int rc = nb_presets_list(&presets);
	if (rc != NB_OK)
		return rc;
	struct table table;
	table_create(&table, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; rc == NB_OK && presets[i].name != NULL; i++) {
		const char *row[] = {presets[i].name, presets[i].summary, presets[i].path};
		rc = table_add(&table, row);
	}
	if (rc == NB_OK)
		rc = table_write(&table, out);
	table_destroy(&table);
	nb_presets_delete(presets);
	return rc;
}
