/* SPDX-License-Identifier: BSD-2-Clause */
#include "rank_files.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "kept.h"
#include "options.h"
#include "output.h"

static const char mark[] = "%r";

/** `name` with `rank` in place of each mark; NULL: it has none. */
static const char *
replace_mark(const char *name, const char *rank)
{
	const char *at = strstr(name, mark), *rest;
	if (at == NULL)
		return NULL;
	rest = at + strlen(mark);
	const char *tail = replace_mark(rest, rank);
	return kept_text("%.*s%s%s", (int)(at - name), name, rank, tail != NULL ? tail : rest);
}

struct options
rank_files_of_all(const struct options *options)
{
	struct options all = *options;
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (!option_is_written(row, options->action))
			continue;
		const char **name = option_field(&all, row);
		const char *marked = *name != NULL ? replace_mark(*name, "all") : NULL;
		*name = marked != NULL ? marked : *name;
	}
	return all;
}

bool
rank_files_of_one(struct options *one, const struct options *options, uint32_t rank)
{
	bool has_some = false;
	*one = *options;
	one->is_strict = false;
	one->same_as = NULL;
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (!option_is_written(row, options->action))
			continue;
		const char **name = option_field(one, row);
		if (*name != NULL)
			*name = replace_mark(*name, kept_text("%" PRIu32, rank));
		has_some |= *name != NULL;
	}
	return has_some;
}
