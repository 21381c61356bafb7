/* SPDX-License-Identifier: BSD-2-Clause */
#include "results_files.h"

#include <stdio.h>
#include <string.h>

#include <mininb/mininb.h>

#include "message.h"

int
results_files_read(struct nb_results **out, const char *const *paths, size_t count)
{
	struct nb_results *all;
	int rc = nb_results_new(&all);
	for (size_t i = 0; i < count && rc == 0; i++) {
		struct nb_results *one;
		rc = nb_results_read(&one, paths[i]);
		if (rc == 0) {
			rc = nb_results_append(all, one);
			nb_results_delete(one);
		}
	}
	int status = message_last_failure(rc);
	if (rc == 0 && nb_results_count(all) == 0) {
		message_error("%s has no results", paths[0]);
		status = STATUS_FAILED;
	}
	if (status == STATUS_DONE)
		*out = all;
	else
		nb_results_delete(all);
	return status;
}

bool
results_files_is_notebook(const char *path)
{
	char begin[256] = "";
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	size_t size = fread(begin, 1, sizeof(begin) - 1, file);
	fclose(file);
	begin[size] = '\0';
	const char *text = begin + strspn(begin, "{ \t\r\n");
	return strncmp(text, "\"experiments\"", 13) == 0 || strncmp(text, "\"data\"", 6) == 0;
}
