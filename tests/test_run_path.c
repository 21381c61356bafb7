/* SPDX-License-Identifier: BSD-2-Clause */
/* The database directory: writing runs create it, reading runs need an existing one. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"
#include "unit.h"

static struct rig rig;

/** Create a run of an engine that keeps its data in <dir>/<name>. */
static void
new_run(struct rig *of, uint32_t verb, const char *name)
{
	rig_create(of, verb, 10);
	snprintf(of->path, sizeof(of->path), "%.60s/%.30s", of->dir, name);
	rig_new(of, NULL);
	of->run->engine->table.caps |= NB_CAP_PERSISTENT;
}

static void
make_file(const struct rig *of, const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", of->dir, name);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fclose(file);
}

static void
make_dir(const struct rig *of, const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", of->dir, name);
	ck_assert_int_eq(mkdir(path, 0777), 0);
}

TEST(path_is_made_with_all_its_parents)
{
	static const char *const names[] = {"nb", "a/b/c", "a//b/", "./x/../y"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char inside[64];
		new_run(&rig, NB_VERB_PUT, names[i]);
		ck_assert_msg(run_prepare_path(rig.run) == NB_OK, "%s", nb_error_text());
		snprintf(inside, sizeof(inside), "%s/memory/.", names[i]);
		ck_assert(rig_has(&rig, inside));
		ck_assert(!rig.run->measured.had_data);
		ck_assert_uint_eq(rig.run->measured.had_bytes, 0);
		ck_assert_int_eq(
			run_prepare_path(rig.run), NB_OK); /* an existing path is fine */
	}
}

TEST(fresh_put_finds_an_empty_directory)
{
	new_run(&rig, NB_VERB_PUT, "nb");
	make_dir(&rig, "nb");
	make_dir(&rig, "nb/memory");
	make_dir(&rig, "nb/memory/sub");
	make_file(&rig, "nb/memory/sub/file");
	make_file(&rig, "nb/memory/file");
	make_file(&rig, "nb/file");
	rig.run->options.flags |= NB_RUN_FORCE;
	ck_assert_int_eq(run_prepare_path(rig.run), NB_OK);
	ck_assert(rig.run->measured.had_data);
	rig.run->options.flags = NB_RUN_FRESH; /* a forced database belongs to mininb */
	ck_assert_int_eq(run_prepare_path(rig.run), NB_OK);
	ck_assert(!rig.run->measured.had_data);
	ck_assert(!rig_has(&rig, "nb/memory/file") && !rig_has(&rig, "nb/memory/sub"));
	ck_assert(rig_has(&rig, "nb/file"));
}

TEST(only_a_put_is_fresh)
{
	for (uint32_t verb = NB_VERB_GET; verb <= NB_VERB_DELETE; verb++) {
		new_run(&rig, verb, "nb");
		make_dir(&rig, "nb");
		make_dir(&rig, "nb/memory");
		make_file(&rig, "nb/memory/file");
		rig.run->options.flags |= NB_RUN_FRESH | NB_RUN_FORCE;
		ck_assert_int_eq(run_prepare_path(rig.run), NB_OK);
		ck_assert(rig_has(&rig, "nb/memory/file"));
	}
}

TEST(relative_path_is_made_below_the_working_directory)
{
	rig_create(&rig, NB_VERB_PUT, 10);
	ck_assert_int_eq(chdir(rig.dir), 0);
	rig.options.path = "r";
	rig_new(&rig, NULL);
	ck_assert_int_eq(run_prepare_path(rig.run), NB_OK);
	ck_assert(rig_has(&rig, "r/memory/."));
}

TEST(path_that_is_a_file_is_reported)
{
	static const char *const names[] = {"file", "file/below", "file/far/below"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
			new_run(&rig, verb, names[i]);
			make_file(&rig, "file");
			ck_assert_int_eq(run_prepare_path(rig.run), NB_FAIL);
			rig_assert_told("/file");
			rig_assert_told(
				verb == NB_VERB_PUT ? "is not a directory" : "Not a directory");
		}
}

TEST(database_that_is_a_file_is_reported)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		new_run(&rig, verb, "nb");
		make_dir(&rig, "nb");
		make_file(&rig, "nb/memory");
		ck_assert_int_eq(run_prepare_path(rig.run), NB_FAIL);
		rig_assert_told("nb/memory: is not a directory");
	}
}

TEST(dangling_link_is_reported)
{
	char link[128];
	new_run(&rig, NB_VERB_PUT, "nb");
	snprintf(link, sizeof(link), "%s/nb", rig.dir);
	ck_assert_int_eq(symlink("/nonexistent/dir", link), 0);
	ck_assert_int_eq(run_prepare_path(rig.run), NB_FAIL);
	rig_assert_told("nb: No such file or directory");
}

TEST(read_without_a_database_names_the_command_that_makes_one)
{
	for (uint32_t verb = NB_VERB_GET; verb <= NB_VERB_DELETE; verb++)
		for (int is_there = 0; is_there < 2; is_there++) {
			new_run(&rig, verb, "nb");
			if (is_there) {
				make_dir(&rig, "nb");
				make_dir(&rig, "nb/memory");
			}
			ck_assert_int_eq(run_prepare_path(rig.run), NB_FAIL);
			rig_assert_told("nb/memory: holds no database of memory");
			rig_assert_told("mininb --action=put --driver=memory --path ");
			ck_assert_int_eq(rig_has(&rig, "nb"), is_there);
		}
}

TEST(data_that_was_there_is_known)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		new_run(&rig, verb, "nb");
		make_dir(&rig, "nb");
		make_dir(&rig, "nb/memory");
		make_file(&rig, "nb/memory/data");
		rig.run->options.flags |= NB_RUN_FORCE;
		ck_assert_int_eq(run_prepare_path(rig.run), NB_OK);
		ck_assert(rig.run->measured.had_data);
		ck_assert_uint_eq(
			rig.run->measured.had_bytes, sysinfo_allocated_bytes(rig.run->path));
	}
}

TEST(foreign_database_is_read_but_not_written)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++)
		for (uint32_t fresh = 0; fresh <= NB_RUN_FRESH; fresh += NB_RUN_FRESH) {
			new_run(&rig, verb, "nb");
			make_dir(&rig, "nb");
			make_dir(&rig, "nb/memory");
			make_file(&rig, "nb/memory/data");
			rig.run->options.flags |= fresh;
			bool is_read = verb == NB_VERB_GET;
			ck_assert_int_eq(run_prepare_path(rig.run), is_read ? NB_OK : NB_FAIL);
			if (!is_read)
				rig_assert_told("mininb did not make it");
			ck_assert(rig_has(&rig, "nb/memory/data"));
			ck_assert(!rig_has(&rig, "nb/.mininb-memory"));
		}
}

TEST(engine_without_persistent_data_needs_no_database)
{
	new_run(&rig, NB_VERB_GET, "nb");
	rig.run->engine->table.caps &= ~NB_CAP_PERSISTENT;
	ck_assert_int_eq(run_prepare_path(rig.run), NB_OK);
	ck_assert(rig_has(&rig, "nb/memory"));
}

TEST(unwritable_directory_is_reported)
{
	if (geteuid() == 0)
		return; /* root may write everywhere */
	new_run(&rig, NB_VERB_PUT, "nb");
	ck_assert_int_eq(chmod(rig.dir, 0555), 0);
	ck_assert_int_eq(run_prepare_path(rig.run), NB_FAIL);
	rig_assert_told("nb: directory cannot be made: Permission denied");
	ck_assert_int_eq(chmod(rig.dir, 0777), 0);
}

/** A second run on the same database, with this verb, is rejected or not. */
static void
prepare_beside(struct rig *first, uint32_t verb, uint32_t caps, int rc)
{
	struct rig second;
	rig_create(&second, verb, 10);
	snprintf(second.path, sizeof(second.path), "%s", first->path);
	rig_new(&second, NULL);
	second.run->engine->table.caps |= caps;
	int got = run_prepare_path(second.run);
	ck_assert_msg(got == rc, "verb %u: %d, %s", verb, got, nb_error_text());
	if (rc != NB_OK)
		rig_assert_told("nb/memory: is in use by process ");
	rig_destroy(&second);
}

TEST(database_belongs_to_one_run_until_it_ends)
{
	uint32_t both = NB_CAP_PERSISTENT | NB_CAP_MULTI_PROCESS;
	new_run(&rig, NB_VERB_PUT, "nb");
	ck_assert_int_eq(run_prepare_path(rig.run), NB_OK);
	make_file(&rig, "nb/memory/data");
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		prepare_beside(&rig, verb, NB_CAP_PERSISTENT, NB_FAIL);
		prepare_beside(&rig, verb, both, NB_FAIL);
	}
	prepare_beside(&rig, NB_VERB_PUT, 0, NB_OK); /* the engine keeps no data */
	run_release_path(rig.run);
	prepare_beside(&rig, NB_VERB_GET, NB_CAP_PERSISTENT, NB_OK);
}

TEST(reading_runs_share_a_database_of_several_processes)
{
	static struct rig maker;
	uint32_t both = NB_CAP_PERSISTENT | NB_CAP_MULTI_PROCESS;
	new_run(&maker, NB_VERB_PUT, "nb");
	ck_assert_int_eq(run_prepare_path(maker.run), NB_OK);
	make_file(&maker, "nb/memory/data");
	run_release_path(maker.run);
	rig_create(&rig, NB_VERB_GET, 10);
	snprintf(rig.path, sizeof(rig.path), "%s", maker.path);
	rig_new(&rig, NULL);
	rig.run->engine->table.caps |= both;
	ck_assert_int_eq(run_prepare_path(rig.run), NB_OK);
	prepare_beside(&rig, NB_VERB_GET, both, NB_OK);
	prepare_beside(&rig, NB_VERB_GET, NB_CAP_PERSISTENT, NB_FAIL);
	prepare_beside(&rig, NB_VERB_DELETE, both, NB_FAIL);
	prepare_beside(&rig, NB_VERB_PUT, both, NB_FAIL);
}
