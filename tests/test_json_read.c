/* SPDX-License-Identifier: BSD-2-Clause */
/* A result that is read tells the same, byte for byte, as the one that was written. */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "report/json_read.h"
#include "unit.h"

static struct nb_results *
parsed(const char *text)
{
	struct nb_results *results = NULL;
	ck_assert_msg(results_parse(&results, text, strlen(text), "a.json") == NB_OK, "%s",
		nb_error_text());
	return results;
}

START_TEST(a_full_record_is_read_as_it_was)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "leveldb", 1);
	record_rig_add_job(results, "leveldb", 1);
	char *text = record_rig_written(results, "json", 0);
	FILE *f = fopen("/tmp/json-a.json", "w");
	fputs(text, f);
	fclose(f);
	struct nb_results *read = parsed(text);
	char *again = record_rig_written(read, "json", 0);
	ck_assert_str_eq(text, again);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("json_read", a_full_record_is_read_as_it_was);
}
