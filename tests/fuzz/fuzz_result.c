/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as a result file. What is read is written in every format, and as
 * JSON read again: both have to tell the same. So what a report makes of odd numbers is
 * looked at, too. Then all of its results are merged.
 *
 *     tests/fuzz/fuzz_result -max_len=65536 NEW_CORPUS .../tests/fuzz/corpus/result
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_read.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(int is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "not so: %s (%s)\n", what, nb_error_text());
	abort();
}

static char *
written(const struct nb_results *results, const char *format, uint32_t flags)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	require(out != NULL, "memory");
	require(nb_results_write(results, format, out, flags) == NB_OK, "it is written");
	require(fclose(out) == 0, "all of it");
	return text;
}

static void
compare(const struct nb_results *a, const struct nb_results *b)
{
	static const uint32_t flags[] = {0, NB_TEXT_FOLD | NB_TEXT_BARS};
	for (const struct nb_format *format = nb_formats(); format->name != NULL; format++) {
		for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
			char *first = written(a, format->name, flags[i]);
			char *second = written(b, format->name, flags[i]);
			require(strcmp(first, second) == 0, "both tell the same");
			free(first);
			free(second);
		}
	}
}

/** Those that can be. */
static void
merge(const struct nb_results *results)
{
	struct nb_results *merged, *again;
	if (nb_results_merge(&merged, results) != NB_OK) {
		require(strchr(nb_error_text(), '\n') == NULL, "it is said why, in one line");
		return;
	}
	char *text = written(merged, "json", 0);
	require(results_parse(&again, text, strlen(text), "merged") == NB_OK,
		"it is read again");
	compare(merged, again);
	free(text);
	nb_results_delete(merged);
	nb_results_delete(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_results *results, *again;
	if (results_parse(&results, (const char *)data, size, "a.json") != NB_OK) {
		require(strncmp(nb_error_text(), "a.json: ", 8) == 0, "the file is told");
		require(strchr(nb_error_text(), '\n') == NULL, "in one line");
		return 0;
	}
	char *text = written(results, "json", 0);
	require(results_parse(&again, text, strlen(text), "again") == NB_OK,
		"it is read again");
	compare(results, again);
	merge(results);
	free(text);
	nb_results_delete(results);
	nb_results_delete(again);
	return 0;
}
