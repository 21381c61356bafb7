/* SPDX-License-Identifier: BSD-2-Clause */
/* Conclusions from sync counts, computed by hand, and their texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/note.h"
#include "run/syncs.h"
#include "unit.h"

enum { TEXT_SIZE = 512 };

static struct nb_result result;

static void
begin(uint32_t durability, uint32_t threads, uint64_t commits, uint64_t fdatasyncs)
{
	result = (struct nb_result){.engine = {.name = "thing"},
		.workload = {.verb = NB_VERB_PUT},
		.threads = threads,
		.durability = durability,
		.measured = {.commits = commits,
			.used = {.known = SYSTEM_SYNCS, .fdatasync_calls = fdatasyncs},
			.used_after = {.known = SYSTEM_SYNCS}}};
}

static void
assert_line(const char *wanted)
{
	char text[TEXT_SIZE];
	result_syncs_text(&result, text, sizeof(text));
	ck_assert_str_eq(text, wanted);
}

static void
assert_note(const char *wanted)
{
	notes_of_claims(&result);
	ck_assert_str_eq(result.note_count > 0 ? result.notes[0].text : "", wanted);
	result_remove_note(&result, "claims-without-syncs");
	ck_assert_uint_eq(result.note_count, 0);
	free(result.notes);
	result.notes = NULL;
}

TEST(sync_covers_one_write_of_each_thread)
{
	static const struct {
		uint32_t threads;
		uint64_t commits, syncs, unsynced;
	} examples[] = {
		{1, 1000, 1000, 0}, {1, 1000, 1001, 0}, {1, 1000, 999, 1}, {1, 1000, 1, 999},
		{1, 1000, 0, 1000}, {1, 0, 0, 0}, {4, 1000, 250, 0}, {4, 1000, 249, 4},
		{4, 1001, 250, 1}, {4, 1000, 0, 1000}, {4, 3, 1, 0}, {16, 1000000, 62500, 0},
		{16, 1000000, 62000, 8000},
		{256, UINT64_MAX, UINT64_MAX, 0}, /* values that would overflow a product */
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		begin(NB_DUR_COMMIT, examples[i].threads, examples[i].commits,
			examples[i].syncs);
		ck_assert_msg(
			result_unsynced(&result) == examples[i].unsynced, "example %zu", i);
	}
}

TEST(calls_of_all_kinds_are_syncs)
{
	begin(NB_DUR_COMMIT, 1, 10, 4);
	result.measured.used.fsync_calls = 3;
	result.measured.used.msync_calls = 2;
	ck_assert_uint_eq(result_unsynced(&result), 1);
	result.measured.used.sync_calls = 1;
	ck_assert_uint_eq(result_unsynced(&result), 0);
	assert_line("3 fsync, 4 fdatasync, 2 msync, 1 sync or syncfs, 1 per write");
	/* later syncs do not count */
	result.measured.used.sync_calls = 0;
	result.measured.used_after.fsync_calls = 100;
	ck_assert_uint_eq(result_unsynced(&result), 1);
	assert_line(
		"3 fsync, 4 fdatasync, 2 msync, 0.9 per write; then until closed 100 fsync");
}

TEST(other_levels_cause_no_finding)
{
	for (uint32_t level = NB_DUR_NONE; level < NB_DUR_COMMIT; level++) {
		begin(level, 1, 1000, 0);
		ck_assert_uint_eq(result_unsynced(&result), 0);
		assert_note("");
		assert_line(level == NB_DUR_PERIODIC ? "none for 1000 writes" : "");
		begin(level, 1, 1000, 12);
		assert_note("");
		assert_line("12 fdatasync, 0.012 per write");
	}
}

TEST(uncounted_syncs_are_unknown_and_not_0)
{
	begin(NB_DUR_COMMIT, 1, 1000, 0);
	result.measured.used.known = 0;
	assert_note("");
	assert_line(""); /* a result without sync counts */
	strcpy(result.measured.syncs_missing, "fsync is another's");
	assert_note("");
	assert_line("not known: fsync is another's");
	result.durability = NB_DUR_PROCESS;
	assert_line("");
	result.durability = NB_DUR_COMMIT;
	result.workload.verb = NB_VERB_GET;
	assert_line("");
}

TEST(uncountable_syncs_are_reported_instead_of_a_finding)
{
	static const struct {
		uint32_t by;
		const char *line;
	} examples[] = {
		{SYNCS_DSYNC_FILE,
			"none for 1000 writes; also written through a file open with O_DSYNC, "
			"each write of which is synced"},
		{SYNCS_PERSISTENT_MEMORY,
			"none for 1000 writes; and in persistent memory (MAP_SYNC), where "
			"instructions make data durable"},
		{SYNCS_IO_URING, "none for 1000 writes; an io_uring may have synced, too"},
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		begin(NB_DUR_COMMIT, 1, 1000, 0);
		result.measured.durable_by = examples[i].by;
		ck_assert_uint_eq(result_unsynced(&result), 0);
		assert_note("");
		assert_line(examples[i].line);
		/* and the note is absent if there were enough syncs */
		result.measured.used.fdatasync_calls = 1000;
		assert_line("1000 fdatasync, 1 per write");
	}
}

TEST(reads_have_a_line_only_if_something_was_synced)
{
	begin(NB_DUR_COMMIT, 1, 0, 0);
	result.workload.verb = NB_VERB_GET;
	assert_line("");
	assert_note("");
	result.measured.used.fsync_calls = 2;
	assert_line("2 fsync");
}

TEST(note_states_how_many_writes_were_not_durable)
{
	begin(NB_DUR_COMMIT, 1, 2000, 0);
	assert_line("none for 2000 writes");
	assert_note(
		"thing claims commit (writes survive power loss), but acknowledged 2000 writes without one sync, and not in persistent memory: power loss may take them all. The level is process at most; compare it as process");
	begin(NB_DUR_COMMIT, 1, 2000, 500);
	assert_note(
		"thing claims commit (writes survive power loss), but acknowledged 2000 writes with 500 syncs, each of which can be for one write: at least 1500 of the writes were not yet durable, and power loss may take them. The level is not commit; compare it as periodic or process");
	begin(NB_DUR_COMMIT, 4, 4000, 500);
	assert_line("500 fdatasync, 0.125 per write");
	assert_note(
		"thing claims commit (writes survive power loss), but acknowledged 4000 writes with 500 syncs, each of which can be for one write of each thread: at least 2000 of the writes were not yet durable, and power loss may take them. The level is not commit; compare it as periodic or process");
}
