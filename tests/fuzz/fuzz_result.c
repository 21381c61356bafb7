/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as a result file. The target writes an accepted file in every
 * format, and reads the JSON back. The original and the copy must give the same JSON, and the
 * same output in another format that the size of the input selects. So the reports of odd
 * numbers are tested as well. Then the target merges the results, compares them with
 * themselves, judges them with a gate, and writes them as tables and into a notebook.
 *
 *     tests/fuzz/fuzz_result -max_len=16384 -dict=.../result.dict NEW_CORPUS
 * .../tests/fuzz/corpus/result
 */
#include "fuzz.h"
#include "report/record.h"

static char *
written(const struct nb_results *results, const char *format, uint32_t flags)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	require(out != NULL, "a memory stream can be opened");
	require(nb_results_write(results, format, out, flags) == NB_OK,
		"the results can be written");
	require(fclose(out) == 0, "the whole text is written");
	return text;
}

/**
 * Write `a` in all formats. JSON and the format that `which` selects must be the same for `b`.
 */
static void
compare(const struct nb_results *a, const struct nb_results *b, size_t which)
{
	const uint32_t flags = which % 2 == 0 ? 0 : NB_TEXT_FOLD | NB_TEXT_BARS;
	size_t count = 0, i = 0;
	for (const struct nb_format *format = nb_formats(); format->name != NULL; format++)
		count++;
	for (const struct nb_format *format = nb_formats(); format->name != NULL; format++) {
		char *first = written(a, format->name, flags), *second;
		if (strcmp(format->name, "json") == 0 || i++ == which / 2 % count) {
			second = written(b, format->name, flags);
			require(strcmp(first, second) == 0, "both reports are equal");
			free(second);
		}
		free(first);
	}
}

/** Merge the results, if possible, and read the merged ones back. */
static void
merge(const struct nb_results *results, size_t which)
{
	struct nb_results *merged, *again;
	if (nb_results_merge(&merged, results) != NB_OK) {
		require(strchr(nb_error_text(), '\n') == NULL, "the error has one line");
		return;
	}
	char *text = written(merged, "json", 0);
	require(results_parse(&again, text, strlen(text), "merged") == NB_OK,
		"the merged result can be read");
	compare(merged, again, which);
	free(text);
	nb_results_delete(merged);
	nb_results_delete(again);
}

/** Write separate files: tables, and a notebook, to which the results can be appended again. */
static void
write_files(const struct nb_results *results)
{
	static const char *const made[] = {
		"-operations.csv", "-series.csv", "-latency.csv", "-counters.csv"};
	char prefix[FUZZ_PATH], path[FUZZ_PATH + 32];
	place_of("result", prefix);
	require(nb_results_write_csv_files(results, prefix) == NB_OK,
		"the tables can be written");
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		snprintf(path, sizeof(path), "%s%s", prefix, made[i]);
		require(unlink(path) == 0, "each table exists");
	}
	if (nb_results_append_notebook(results, prefix) != NB_OK)
		return; /* possibly no experiments */
	require(nb_results_append_notebook(results, prefix) == NB_OK,
		"the notebook accepts another experiment");
	FILE *out = fopen("/dev/null", "we");
	require(out != NULL && nb_notebook_write_plot(prefix, out) == NB_OK,
		"the notebook can be read");
	fclose(out);
	unlink(prefix);
}

/** Call the functions that the command uses for results from files. */
static void
ask(const struct nb_results *results)
{
	struct nb_command command;
	nb_results_command(results, &command);
	for (size_t i = 0; i < command.word_count; i++)
		require(command.words[i] != NULL, "each word is set");
	for (size_t run = 0; run < nb_results_count(results); run++) {
		struct nb_summary summary = {.size = sizeof(summary)};
		nb_results_summarize(results, run, &summary);
		for (size_t i = 0; nb_results_note(results, run, i) != NULL; i++)
			require(nb_results_note_id(results, run, i) != NULL,
				"each note has an id");
	}
}

/**
 * Compare the inputs, of which the first is the tested file. With a single input, its engines
 * are compared.
 */
static void
compare_files(const struct nb_compare_input *inputs, size_t count, size_t which)
{
	static const char *const formats[] = {"text", "md", "json"};
	struct nb_compare_options options = NB_COMPARE_OPTIONS_INIT;
	struct nb_comparison *comparison;
	char brief[200];
	options.resamples = 20;
	options.confidence = which % 3 == 0 ? 0 : 0.95;
	options.force = 1;
	if (nb_comparison_new(&comparison, inputs, count, &options) != NB_OK) {
		require(nb_error_text()[0] != '\0', "the failure has a text");
		return;
	}
	FILE *out = fopen("/dev/null", "we");
	require(out != NULL, "/dev/null can be opened");
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		require(nb_comparison_write(comparison, formats[i], out, NB_TEXT_BARS) == NB_OK,
			"the comparison can be written");
	nb_comparison_brief(comparison, brief, sizeof(brief));
	(void)nb_comparison_is_tight(comparison, 0.05);
	int rc = nb_comparison_gate(comparison, "throughput:3%,p99:5%", out);
	require(count == 1 || rc == 0 || rc == NB_ERR_USAGE,
		"a result is not worse than itself");
	fclose(out);
	nb_comparison_delete(comparison);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_results *results, *again;
	if (results_parse(&results, (const char *)data, size, "a.json") != NB_OK) {
		require(strncmp(nb_error_text(), "a.json: ", 8) == 0,
			"the error names the file");
		require(strchr(nb_error_text(), '\n') == NULL, "the error has one line");
		return 0;
	}
	char *text = written(results, "json", 0);
	require(results_parse(&again, text, strlen(text), "again") == NB_OK,
		"the written result can be read");
	compare(results, again, size);
	merge(results, size);
	ask(results);
	const struct nb_compare_input inputs[] = {{results, "a.json"}, {again, "b.json"}};
	compare_files(inputs, 1, size);
	compare_files(inputs, 2, size);
	write_files(results);
	free(text);
	nb_results_delete(results);
	nb_results_delete(again);
	return 0;
}
