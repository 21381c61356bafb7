/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "unit.h"

static int
plot(const char *notebook, char **text)
{
	char path[] = "/tmp/test_notebook_plot.XXXXXX";
	size_t size;
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, notebook, strlen(notebook)), (ssize_t)strlen(notebook));
	close(fd);
	FILE *out = open_memstream(text, &size);
	int rc = nb_notebook_write_plot(path, out);
	fclose(out);
	unlink(path);
	return rc;
}

TEST(runs_of_a_test_stand_side_by_side)
{
	char *text;
	ck_assert_int_eq(plot("{\"experiments\": {}, \"data\": {"
			      "\"x10/b/m/0\": [{\"ops_per_sec\": 5}],"
			      "\"x2/b/m/1\": [{\"ops_per_sec\": 4}],"
			      "\"x2/b/m/0\": [{\"ops_per_sec\": 1}, {\"ops_per_sec\": 3}],"
			      "\"x3/a/m/0\": [{\"ops_per_sec\": 2, \"gets_per_sec\": 7}],"
			      "\"x3/c/m/0\": [{\"ops_per_sec\": \"no\"}, 5],"
			      "\"x3/d/m/0\": {}}}",
				 &text),
		NB_OK);
	ck_assert_ptr_nonnull(strstr(text,
		"$ops << EOD\n"
		"1 2.000000 2.000000 2.000000 2.000000 2.000000 \"x3/a/m/0\"\n"
		"2 1.000000 1.500000 2.000000 2.500000 3.000000 \"x2/b/m/0\"\n"
		"3 4.000000 4.000000 4.000000 4.000000 4.000000 \"x2/b/m/1\"\n"
		"4 5.000000 5.000000 5.000000 5.000000 5.000000 \"x10/b/m/0\"\n"
		"EOD\n"));
	ck_assert_ptr_nonnull(strstr(text, "$gets << EOD\n1 7.000000"));
	ck_assert_ptr_null(strstr(text, "$puts"));
	free(text);
}

TEST(file_that_is_not_a_notebook_is_refused)
{
	char *text;
	FILE *out;
	size_t size;
	ck_assert_int_eq(plot("{}", &text), NB_ERR_DATA);
	ck_assert_str_eq(text, "");
	free(text);
	ck_assert_int_eq(plot("", &text), NB_ERR_DATA);
	free(text);
	out = open_memstream(&text, &size);
	ck_assert_int_eq(nb_notebook_write_plot("/nowhere/a", out), NB_FAIL);
	fclose(out);
	free(text);
}
