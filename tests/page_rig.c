/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes HTML pages for the browser tests. page_rig DIRECTORY writes:
 *
 * - one.html: a job with the curve of a sweep
 * - many.html: several engines, one of which failed, and names that contain HTML
 * - versus.html: repetitions of vs
 * - alone.html: repetitions of vs in which one of two engines failed
 * - empty.html
 */
#include <stdio.h>
#include <stdlib.h>

#include "record_rig.h"
#include "unit.h"

static const char *directory;

static void
write_page(struct nb_results *results, const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s.html", directory, name);
	ck_assert_msg(nb_results_write_file(results, "html", path, 0) == NB_OK, "%s",
		nb_error_text());
	nb_results_delete(results);
}

TEST(pages)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_curve(results);
	write_page(results, "one");
	results = record_rig_new();
	record_rig_add_put(results, "kyotocabinet", 1);
	record_rig_add_put(results, "<script>alert(1)</script>\"'\xFF", 1.5);
	record_rig_add_put(results, "an_engine_with_a_name_that_is_long_without_a_blank", 0.5);
	ck_assert_int_eq(nb_results_add_failure(results, "gdbm", "killed by signal 11"), NB_OK);
	write_page(results, "many");
	write_page(record_rig_new(), "empty");
	results = record_rig_new();
	record_rig_add_versus(results);
	results_find_actions(results);
	write_page(results, "versus");
	results = record_rig_new();
	for (uint32_t round = 1; round <= 2; round++) {
		struct record *record = record_rig_add_put(results, "leveldb", round);
		record->contestant = 1;
		record->block = round;
	}
	ck_assert_int_eq(nb_results_add_failure(results, "gdbm", "killed by signal 9"), NB_OK);
	results->records[2].contestant = 2;
	write_page(results, "alone");
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: page_rig DIRECTORY\n", stderr);
		return 2;
	}
	directory = argv[1];
	return unit_run();
}
