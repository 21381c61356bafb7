/* SPDX-License-Identifier: BSD-2-Clause */
/* Notebooks: existing content stays unchanged, digit for digit, and no results are lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record_rig.h"
#include "report/notebook.h"
#include "unit.h"

/*
 * From Masstree's README, with a number that no double can represent and one that no integer
 * type can.
 */
static const char theirs[] =
	"{\n  \"experiments\":{\n    \"x0\":{\n      \"git-revision\":\"673994c\",\n"
	"      \"note\":\"a } \\\" { brace\", \"cores\":2,\n"
	"      \"runs\":[\"x0\\/rw1\\/mb\\/0\"]\n    }\n  },\n"
	"  \"data\":{\n    \"x0\\/rw1\\/mb\\/0\":[\n"
	"      {\"table\":\"mb\",\"test\":\"rw1\",\"trial\":0,\"thread\":0,"
	"\"puts\":13243551,\"puts_per_sec\":1324492.05531000000001,"
	"\"ops\":123456789012345678901234567890,\"ops_per_sec\":1405590.1258},\n"
	"      {\"table\":\"mb\",\"thread\":1,\"puts_per_sec\":1324397.45602,"
	"\"ops_per_sec\":1398395.26601}\n    ]\n  }\n}\n";

static char dir[64], path[96];

static void
begin(const char *text)
{
	snprintf(dir, sizeof(dir), "/tmp/test_notebook.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/nb.json", dir);
	if (text == NULL)
		return;
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

static void
end(void)
{
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0); /* fails if other files were left */
}

static char *
read_back(void)
{
	char *text = NULL;
	size_t room = 0;
	FILE *in = fopen(path, "r");
	ck_assert_ptr_nonnull(in);
	ck_assert_int_ge(getdelim(&text, &room, '\0', in), 0);
	fclose(in);
	return text;
}

static void
append(const struct nb_results *results)
{
	ck_assert_msg(
		nb_results_append_notebook(results, path) == NB_OK, "%s", nb_error_text());
}

static struct nb_results *
two_runs(void)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "lmdb", 1);
	record_rig_add_job(results, "leveldb", 1);
	return results;
}

TEST(existing_content_stays_digit_for_digit)
{
	struct nb_results *results = two_runs();
	begin(theirs);
	append(results);
	char *text = read_back();
	const char *from = theirs, *at = text;
	/* the old text is a subsequence of the new text */
	while (*from != '\0') {
		while (*at != '\0' && *at != *from)
			at++;
		ck_assert_int_eq(*at, *from);
		at++;
		from++;
	}
	ck_assert_ptr_nonnull(strstr(text, "1324492.05531000000001"));
	ck_assert_ptr_nonnull(strstr(text, "123456789012345678901234567890"));
	ck_assert_ptr_nonnull(strstr(text, "\"x1\": {"));
	ck_assert_ptr_nonnull(strstr(text, "\"x1/put/lmdb/0\": ["));
	ck_assert_int_eq(strncmp(text, theirs, strstr(theirs, "\n  },") - theirs), 0);
	free(text);
	end();
	nb_results_delete(results);
}

TEST(names_are_never_reused)
{
	struct notebook notebook;
	struct nb_results *results = two_runs();
	begin("{\"data\": {\"x3/a/b/0\": []}, \"experiments\": {\"x2\": {}, \"x7\": {}}}");
	append(results); /* x2 exists, and x3 has data */
	append(results);
	ck_assert_int_eq(notebook_read(&notebook, path, 0), NB_OK);
	json_t *experiments = json_object_get(notebook.root, "experiments");
	ck_assert_uint_eq(json_object_size(experiments), 4);
	ck_assert_ptr_nonnull(json_object_get(experiments, "x4"));
	ck_assert_ptr_nonnull(json_object_get(experiments, "x5"));
	ck_assert_uint_eq(json_object_size(json_object_get(notebook.root, "data")), 1 + 6);
	notebook_destroy(&notebook);
	end();
	nb_results_delete(results);
}

TEST(repetitions_are_trials)
{
	struct notebook notebook;
	struct nb_results *results = record_rig_new();
	for (uint32_t i = 0; i < 3; i++)
		record_rig_add_put(results, "lmdb", 1)->block = i;
	snprintf(results->records[2].label, sizeof(results->records[2].label), "a/b c");
	begin("");
	append(results);
	ck_assert_int_eq(notebook_read(&notebook, path, 0), NB_OK);
	json_t *data = json_object_get(notebook.root, "data");
	ck_assert_uint_eq(json_object_size(data), 3);
	ck_assert_ptr_nonnull(json_object_get(data, "x0/put/lmdb/0"));
	ck_assert_ptr_nonnull(json_object_get(data, "x0/put/lmdb/1"));
	ck_assert_ptr_nonnull(json_object_get(data, "x0/put@a_b_c/lmdb/1")); /* block 2 */
	notebook_destroy(&notebook);
	end();
	nb_results_delete(results);
}

TEST(file_that_is_not_a_notebook_is_refused_and_unchanged)
{
	static const char *const others[] = {"hello", "[]", "{}", "{\"experiments\": {}}",
		"{\"experiments\": [], \"data\": {}}", "{\"experiments\": {}, \"data\": {}",
		"{\"experiments\": {}, \"data\": {}} x", "\"experiments\"",
		"{\"\\u0065xperiments\": {}, \"data\": {}}",
		"{\"experiments\": {\"x0\": 1, \"x0\": 2}, \"data\": {}}"};
	struct nb_results *results = two_runs();
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		begin(others[i]);
		ck_assert_int_eq(nb_results_append_notebook(results, path), NB_ERR_DATA);
		ck_assert_ptr_nonnull(strstr(nb_error_text(), "nb.json: is not a notebook: "));
		char *text = read_back();
		ck_assert_str_eq(text, others[i]);
		free(text);
		end();
	}
	nb_results_delete(results);
}

TEST(empty_results_are_refused)
{
	struct nb_results *results = record_rig_new();
	ck_assert_int_eq(nb_results_add_failure(results, "tdb", "killed"), NB_OK);
	begin(NULL);
	ck_assert_int_eq(nb_results_append_notebook(results, path), NB_ERR_USAGE);
	end(); /* no file was created */
	ck_assert_int_eq(nb_results_append_notebook(results, "/nowhere/nb.json"), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "/nowhere/nb.json"));
	nb_results_delete(results);
}

TEST(concurrent_writers_lose_no_experiment)
{
	enum { PROCESSES = 3, TIMES = 3 };
	struct notebook notebook;
	struct nb_results *results = two_runs();
	begin(NULL);
	for (int p = 0; p < PROCESSES; p++) {
		pid_t child = fork();
		ck_assert_int_ge(child, 0);
		for (int i = 0; child == 0 && i < TIMES; i++)
			if (nb_results_append_notebook(results, path) != NB_OK)
				_exit(1);
		if (child == 0)
			_exit(0);
	}
	for (int p = 0; p < PROCESSES; p++) {
		int status;
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_int_eq(notebook_read(&notebook, path, 0), NB_OK);
	ck_assert_uint_eq(json_object_size(json_object_get(notebook.root, "experiments")),
		PROCESSES * TIMES);
	ck_assert_uint_eq(json_object_size(json_object_get(notebook.root, "data")),
		3 * PROCESSES * TIMES);
	notebook_destroy(&notebook);
	end();
	nb_results_delete(results);
}
