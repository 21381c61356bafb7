/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Appends to a notebook in the format of Masstree's (mttest.cc, update_labnotebook() and
 * stat_collector(), of github.com/kohler/masstree-beta):
 *
 *     {"experiments": {"x0": {"git-revision": ..., "time": ..., "machine": ..., "cores": ...,
 *                             "runs": ["x0/rw1/mb/0"]}},
 *      "data": {"x0/rw1/mb/0": [{"table": "mb", "test": "rw1", "trial": 0, "thread": 0,
 *                                "puts": ..., "puts_per_sec": ..., "gets": ..., ...}]}}
 *
 * One call is one experiment. A run's name is experiment/test/table/trial. The table is the
 * engine. The test is the classic action, else the workload. If there are several groups,
 * "@" and the group follow; if the run has a label, "@" and the label. Trials count runs of
 * the same test and engine. tests.c defines the groups of a test, and its rates. "cores" is
 * the number of threads, as in Masstree. Keys that Masstree lacks come last.
 *
 * The existing text stays unchanged, digit for digit: the new text is inserted before the
 * two closing braces (notebook_read.c). From reading to renaming, the directory is locked
 * instead of the file, because each rename replaces the file. If a directory cannot be
 * locked (NFS), PATH.lock is.
 */
#include "report/notebook.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "report/json_value.h"
#include "report/tests.h"

/* ---- the new experiment ---- */

/** Choose a name that no experiment has, even if some were removed from the notebook. */
static void
choose_name(const struct notebook *notebook, char name[32])
{
	json_t *experiments = json_object_get(notebook->root, "experiments");
	json_t *data = json_object_get(notebook->root, "data");
	for (size_t number = json_object_size(experiments);; number++) {
		const char *key;
		json_t *value;
		bool is_used = false;
		snprintf(name, 32, "x%zu/", number);
		size_t length = strlen(name);
		json_object_foreach(data, key, value)
		{
			is_used |= strncmp(key, name, length) == 0;
		}
		name[length - 1] = '\0';
		if (!is_used && json_object_get(experiments, name) == NULL)
			return;
	}
}

static json_t *
describe_thread(struct json_writer *writer, const struct test_run *test, uint32_t thread,
	json_int_t trial)
{
	struct test_thread did = tests_thread(test, thread);
	json_t *described = json_pack("{s:s, s:s, s:I, s:i}", "table", test->record->driver,
		"test", test->name, "trial", trial, "thread", (int)thread);
	for (uint32_t i = 0; i < BOXPLOTS_KINDS; i++) {
		uint32_t kind = (i + 1) % BOXPLOTS_KINDS; /* the sum comes last */
		char rate[32];
		if ((test->kinds & 1u << kind) == 0)
			continue;
		snprintf(rate, sizeof(rate), "%s_per_sec", boxplots_names[kind]);
		json_put(writer, described, boxplots_names[kind],
			json_integer((json_int_t)did.counts[kind]));
		if ((test->rated & 1u << kind) != 0)
			json_put(writer, described, rate, json_real(did.rates[kind]));
	}
	return described;
}

/** Add a test under a name that no run of this call has. */
static void
add_test(struct json_writer *writer, json_t *data, const char *experiment,
	const struct test_run *test)
{
	const struct record *record = test->record;
	char run[2 * TEST_NAME];
	json_int_t trial = record->block > 0 ? (json_int_t)record->block - 1 : 0;
	for (;; trial++) {
		snprintf(run, sizeof(run), "%.240s/%.240s/%.240s/%lld", experiment, test->name,
			record->driver, (long long)trial);
		if (json_object_get(data, run) == NULL)
			break;
	}
	json_t *threads = json_array();
	for (uint32_t t = 0; t < test->thread_count; t++)
		json_add(writer, threads, describe_thread(writer, test, t, trial));
	json_put(writer, data, run, threads);
}

/** Add the runs of all records. Fails if there are none. */
static int
collect_data(json_t *data, const struct nb_results *results, const char *experiment)
{
	struct json_writer writer = {.verb = NULL};
	for (size_t r = 0; r < results->count; r++) {
		struct test_run tests[NB_GROUPS_MAX];
		size_t count = tests_of(&results->records[r], tests);
		for (size_t i = 0; i < count; i++)
			add_test(&writer, data, experiment, &tests[i]);
	}
	if (writer.has_failed)
		return error_memory();
	if (json_object_size(data) == 0)
		return error_set(NB_ERR_USAGE,
			"these results cannot go into a notebook: it has a list of threads for each run, and no run here has one");
	return NB_OK;
}

/** Format a time like ctime(3), which Masstree uses. */
static void
format_time(const char *begun, char time[64])
{
	struct tm tm = {0};
	if (strptime(begun, "%Y-%m-%dT%H:%M:%S", &tm) == NULL ||
		strftime(time, 64, "%a %b %e %H:%M:%S %Y", &tm) == 0)
		snprintf(time, 64, "%s", begun);
}

/** Keys in Masstree's order, then ours. Does not take over the reference to `data`. */
static json_t *
describe_experiment(const struct nb_results *results, const json_t *data)
{
	char time[64];
	uint32_t threads = 0;
	const char *run;
	json_t *value, *engines = json_object(), *runs = json_array();
	const struct environment *environment = NULL;
	for (size_t r = 0; r < results->count; r++) {
		const struct nb_result *it = results->records[r].run;
		if (it == NULL)
			continue;
		if (environment == NULL)
			environment = &it->environment;
		if (it->threads > threads)
			threads = it->threads;
		json_object_set_new(engines, it->engine.name, json_string(it->engine_version));
	}
	json_object_foreach((json_t *)(uintptr_t)data, run, value)
	{
		json_array_append_new(runs, json_string(run));
	}
	format_time(environment->begun, time);
	json_t *experiment = json_object();
	if (environment->revision[0] != '\0')
		json_object_set_new(
			experiment, "git-revision", json_string(environment->revision));
	json_object_set_new(experiment, "time", json_string(time));
	json_object_set_new(experiment, "machine", json_string(environment->host));
	json_object_set_new(experiment, "cores", json_integer(threads));
	json_object_set_new(experiment, "runs", runs);
	json_object_set_new(experiment, "mininb", json_string(nb_version()));
	json_object_set_new(experiment, "engines", engines);
	return experiment;
}

/* ---- the new text ---- */

/** Write the members of `from` with the indentation of the second level. */
static int
write_members(const json_t *from, bool is_first, FILE *out)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)from, key, value)
	{
		json_t *name = json_string(key);
		char *left = json_dumps(name, JSON_ENCODE_ANY);
		char *right = json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
		json_decref(name);
		if (left == NULL || right == NULL) {
			free(left);
			free(right);
			return error_memory();
		}
		fprintf(out, "%s\n    %s: ", is_first ? "" : ",", left);
		for (const char *at = right; *at != '\0'; at++) {
			fputc(*at, out);
			if (*at == '\n') /* no string in JSON contains a newline */
				fputs("    ", out);
		}
		is_first = false;
		free(left);
		free(right);
	}
	return NB_OK;
}

static int
join(const struct notebook *notebook, const json_t *experiments, const json_t *data, FILE *out)
{
	static const char *const names[] = {"experiments", "data"};
	const json_t *members[] = {experiments, data};
	const char *from = notebook->text, *ends[2];
	for (size_t i = 0; i < 2; i++) {
		ends[i] = notebook_end(notebook, names[i]);
		if (ends[i] == NULL)
			return error_set(NB_ERR_DATA,
				"is not a notebook: the name \"%s\" is written in another way; nothing was written",
				names[i]);
	}
	for (size_t i = 0; i < 2; i++) {
		size_t p = ends[0] < ends[1] ? i : 1 - i;
		fwrite(from, 1, (size_t)(ends[p] - from), out);
		int rc = write_members(members[p], ends[p][-1] == '{', out);
		if (rc != NB_OK)
			return rc;
		from = ends[p];
	}
	fputs(from, out);
	return NB_OK;
}

static int
write_file(const char *path, const char *text, size_t size)
{
	struct atomic_file atomic;
	int rc = atomic_file_open(&atomic, path, size);
	if (rc != NB_OK)
		return rc;
	rc = atomic_file_write(&atomic, text, size, 0);
	if (rc == NB_OK)
		return atomic_file_commit(&atomic);
	atomic_file_abort(&atomic);
	return rc;
}

/** Write the notebook with one more experiment. */
static int
write_notebook(
	const struct notebook *notebook, const struct nb_results *results, const char *path)
{
	char name[32], *text = NULL;
	size_t size = 0;
	choose_name(notebook, name);
	json_t *data = json_object(), *experiments = json_object();
	int rc = collect_data(data, results, name);
	if (rc == NB_OK &&
		json_object_set_new(experiments, name, describe_experiment(results, data)) != 0)
		rc = error_memory();
	FILE *out = open_memstream(&text, &size);
	if (rc == NB_OK && out == NULL)
		rc = error_memory();
	if (rc == NB_OK)
		rc = join(notebook, experiments, data, out);
	if (rc == NB_ERR_DATA)
		rc = error_prefix(rc, "%s", path);
	if (out != NULL && fclose(out) != 0 && rc == NB_OK)
		rc = error_memory();
	if (rc == NB_OK)
		rc = write_file(path, text, size);
	free(text);
	json_decref(experiments);
	json_decref(data);
	return rc;
}

/* ---- the lock ---- */

/** Lock a file; 0, or -1 and errno. */
static int
lock(int fd)
{
	int rc;
	do
		rc = flock(fd, LOCK_EX);
	while (rc != 0 && errno == EINTR && !stop_requested());
	return rc;
}

static int
open_lock_file(const char *path)
{
	char *name;
	if (asprintf(&name, "%s.lock", path) < 0)
		return -1;
	int fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
	free(name);
	return fd;
}

/**
 * Lock the notebook. Returns a descriptor, or -1 and sets the error. Closing it releases
 * the lock.
 */
static int
lock_beside(const char *path)
{
	char *copy = strdup(path);
	int fd = copy != NULL ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(copy);
	if (fd >= 0 && lock(fd) != 0 && errno != EINTR) {
		close(fd);
		fd = open_lock_file(path);
		if (fd >= 0 && lock(fd) != 0) {
			close(fd);
			fd = -1;
		}
	}
	if (fd < 0)
		error_system("%s: cannot be locked", path);
	return fd;
}

int
nb_results_append_notebook(const struct nb_results *results, const char *path)
{
	struct notebook notebook;
	char *real = realpath(path, NULL); /* one lock, whichever link is used */
	int fd = lock_beside(real != NULL ? real : path);
	free(real);
	if (fd < 0)
		return NB_FAIL;
	int rc = stop_requested() ? error_interrupted() : notebook_read(&notebook, path, 1);
	if (rc == NB_OK) {
		rc = write_notebook(&notebook, results, path);
		notebook_destroy(&notebook);
	}
	close(fd);
	return rc;
}
