/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as a notebook. The target plots it and appends results to it. A
 * rejected notebook must stay unchanged. An accepted one must be readable and have one more
 * experiment.
 *
 *     tests/fuzz/fuzz_notebook -max_len=4096 -dict=.../notebook.dict NEW_CORPUS
 * .../corpus/notebook
 */
#include <fcntl.h>

#include "fuzz.h"
#include "report/record.h"
#include "report/notebook.h"

/* The smallest valid result that has a thread count. */
static const char result_text[] =
	"{\"format\":\"mininb-result\",\"version\":1,\"results\":[{\"action\":\"run\","
	"\"driver\":\"toy\",\"engine\":{\"name\":\"toy\"},\"digest\":\"c1eff4195825e505\","
	"\"measured\":{\"ops\":1900,\"wall_ns\":28344632},"
	"\"groups\":[{\"ops\":700,\"by_thread\":[{}]}]}]}";

static int
is_file(const char *path, const uint8_t *data, size_t size)
{
	uint8_t *now = malloc(size + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	require(now != NULL && fd >= 0, "the file can be read");
	int is_same = read(fd, now, size + 1) == (ssize_t)size &&
		(size == 0 || memcmp(now, data, size) == 0);
	close(fd);
	free(now);
	return is_same;
}

static size_t
experiments(const struct notebook *notebook)
{
	return json_object_size(json_object_get(notebook->root, "experiments"));
}

/** The number of experiments; SIZE_MAX: not a notebook. */
static size_t
read_it(const char *path, int may_be_new)
{
	struct notebook notebook;
	if (notebook_read(&notebook, path, may_be_new) != NB_OK) {
		require(strncmp(nb_error_text(), path, strlen(path)) == 0,
			"the error names the file");
		return SIZE_MAX;
	}
	size_t count = experiments(&notebook);
	(void)notebook_end(&notebook, "experiments");
	(void)notebook_end(&notebook, "data");
	notebook_destroy(&notebook);
	return count;
}

static void
plot(const char *path)
{
	FILE *out = fopen("/dev/null", "we");
	require(out != NULL, "/dev/null can be opened");
	(void)!nb_notebook_write_plot(path, out);
	fclose(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct nb_results
		*results; /* shared by all inputs, because parsing it costs most */
	char path[FUZZ_PATH];
	if (results == NULL)
		require(results_parse(&results, result_text, sizeof(result_text) - 1,
				"results") == NB_OK,
			"the results can be read");
	put_file(place_of("notebook", path), data, size);
	plot(path);
	size_t before = read_it(path, 1);
	if (nb_results_append_notebook(results, path) == NB_OK) {
		require(read_it(path, 0) == before + 1, "one experiment was added");
		plot(path);
	} else {
		require(is_file(path, data, size), "a rejected file is unchanged");
	}
	unlink(path);
	return 0;
}
