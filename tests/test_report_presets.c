/* SPDX-License-Identifier: BSD-2-Clause */
#include <mininb/job.h>
#include <mininb/result.h>

#include <stdio.h>

#include "scratch.h"
#include "unit.h"

START_TEST(table_has_name_summary_and_file_of_each)
{
	scratch_fresh("presets");
	static const char a[] = "[workload]\nsummary = Of a\nread = 1\n", b[] = "[workload]\n";
	file_put("aa.ini", a, sizeof(a) - 1);
	file_put("aab.ini", b, sizeof(b) - 1);
	char dir[256], expected[1024];
	snprintf(dir, sizeof(dir), "%s/presets", scratch_path);
	setenv("MININB_WORKLOAD_PATH", dir, 1);
	char *text = NULL;
	size_t size, width = 0;
	FILE *stream = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(stream);
	ck_assert_int_eq(nb_presets_write_text(stream), NB_OK);
	fclose(stream);
	ck_assert_int_eq(strncmp(text, "name ", 5), 0);
	const char *summary = strstr(text, "summary"), *where = strstr(text, "where\n");
	ck_assert_ptr_nonnull(summary);
	ck_assert_ptr_nonnull(where);
	width = (size_t)(where - summary);
	snprintf(expected, sizeof(expected), "\n%-*s%-*s%s/aa.ini\n%-*s%-*s%s/aab.ini\n",
		(int)(summary - text), "aa", (int)width, "Of a", dir, (int)(summary - text),
		"aab", (int)width, "", dir);
	ck_assert_msg(strstr(text, expected) != NULL, "%s not in %s", expected, text);
	free(text);
}
END_TEST

START_TEST(stream_that_cannot_be_written_is_told)
{
	FILE *full = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(full);
	ck_assert_int_eq(nb_presets_write_text(full), NB_FAIL);
	fclose(full);
}
END_TEST

int
main(void)
{
	scratch_enter();
	int status = UNIT_RUN("report_presets", table_has_name_summary_and_file_of_each,
		stream_that_cannot_be_written_is_told);
	scratch_leave();
	return status;
}
