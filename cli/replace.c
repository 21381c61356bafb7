/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks whether each file that an action writes may be replaced, before the action begins:
 * after hours of measuring it would be too late.
 *
 * The library checks links and files of other users in directories like /tmp again when it
 * writes a file, also with --force.
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

/** --csv is the beginning of several names. */
static int
check_tables(const struct options *options, const char *prefix)
{
	const char *suffix;
	int status = STATUS_DONE;
	for (size_t i = 0; status == STATUS_DONE && (suffix = nb_results_csv_suffix(i)) != NULL;
		i++) {
		char *path;
		if (asprintf(&path, "%s%s", prefix, suffix) < 0)
			return message_no_memory();
		status = check_file(options, path);
		free(path);
	}
	return status;
}

/** mininb appends to it, so it must be a notebook. */
static int
check_notebook(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return STATUS_DONE;
	if (S_ISREG(st.st_mode) && (st.st_size == 0 || results_files_is_notebook(path)))
		return STATUS_DONE;
	message_error("%s: exists and is not a notebook; use another file", path);
	return STATUS_FAILED;
}

int
replace_check(const struct options *options)
{
	int status = STATUS_DONE;
	for (const struct option_row *row = option_table();
		row->name != NULL && status == STATUS_DONE; row++) {
		if (!option_is_written(row, options->action))
			continue;
		const char *path = *(const char *const *)option_field(options, row);
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
