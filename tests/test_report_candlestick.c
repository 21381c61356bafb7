/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "unit.h"

TEST(unknown_threads_are_omitted)
{
	struct nb_results *results = record_rig_new();
	struct nb_result *run = record_rig_add_put(results, "lmdb", 1)->run;
	free(run->measured.threads);
	run->measured.threads = NULL;
	char *text = record_rig_written(results, "candlestick", 0);
	ck_assert_ptr_null(strstr(text, "EOD"));
	free(text);
	nb_results_delete(results);
}
