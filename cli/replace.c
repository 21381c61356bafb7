/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one place where it is asked whether a file may be replaced, for all options that name one
 * (`writers` of the table) and all actions, before the action begins: at the end of a night it
 * would be too late.
 *
 * A link or file of another user's in a directory like /tmp is asked for again when the file is
 * written, by the library, also with --force.
 */
#include "replace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"
#include "results_files.h"

static int
check_file(const struct options *options, const char *path)
{
	return message_last_failure(nb_file_may_replace(path, options->seed));
}

/** --csv names several. */
static int
check_tables(const struct options *options, const char *prefix)
{
	const char *suffix;
	int status = STATUS_DONE;
	for (size_t i = 0; status == STATUS_DONE && (suffix = nb_results_csv_suffix(i)) != NULL;
		i++) {
		char *path;
		if (asprintf(&path, "%s%s", prefix, suffix) < 0) {
			message_error("out of memory");
			return STATUS_FAILED;
		}
		status = check_file(options, path);
		free(path);
	}
	return status;
}

/** It is appended to, so it has to be one. */
static int
check_notebook(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return STATUS_DONE;
	if (S_ISREG(st.st_mode) && (st.st_size == 0 || results_files_is_notebook(path)))
		return STATUS_DONE;
	message_error("%s: is there, and is no notebook; name another file", path);
	return STATUS_FAILED;
}

int
replace_check(const struct options *options)
{
	int status = STATUS_DONE;
	for (const struct option_row *row = option_table;
		row->name != NULL && status == STATUS_DONE; row++) {
		if ((row->writers & ACTION_BIT(options->action)) == 0)
			continue;
		const char *path = *(const char *const *)((const char *)options + row->offset);
		if (path == NULL || strcmp(path, "-") == 0)
			continue;
		if (strcmp(row->name, "notebook") == 0)
			status = check_notebook(path);
		else if (options->is_forced)
			continue;
		else if (strcmp(row->name, "csv") == 0)
			status = check_tables(options, path);
		else
			status = check_file(options, path);
	}
	return status;
}
