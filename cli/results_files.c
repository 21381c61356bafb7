/* SPDX-License-Identifier: BSD-2-Clause */
#include "results_files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <mininb/mininb.h>

#include "kept.h"
#include "message.h"

int
results_files_read(struct nb_results **out, const struct options *options)
{
	struct nb_results *all;
	int rc = nb_results_new(&all);
	for (size_t i = 0; i < options->operand_count && rc == 0; i++) {
		struct nb_results *one;
		rc = nb_results_read(&one, options->operands[i]);
		if (rc == 0) {
			rc = nb_results_append(all, one);
			nb_results_delete(one);
		}
	}
	int status = message_last_failure(rc);
	if (rc == 0 && nb_results_count(all) == 0) {
		message_error("%s has no results", options->operand);
		status = STATUS_FAILED;
	}
	if (status == STATUS_DONE)
		*out = all;
	else
		nb_results_delete(all);
	return status;
}

bool
results_files_is_notebook(const char *path)
{
	char begin[256] = "";
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	size_t size = fread(begin, 1, sizeof(begin) - 1, file);
	fclose(file);
	begin[size] = '\0';
	const char *text = begin + strspn(begin, "{ \t\r\n");
	return strncmp(text, "\"experiments\"", 13) == 0 || strncmp(text, "\"data\"", 6) == 0;
}

/* ---- comparisons ---- */

#define FIELD(name) .offset = offsetof(struct options, name)
/* clang-format off */
const struct option_row compare_options[] = {
	{.name = "confidence", .arg = "SHARE", .type = OPTION_REAL, .def = "0.95", .max = 1,
		.group = GROUP_COMPARE, .before = "only", FIELD(confidence),
		.help = "confidence level of intervals and verdicts",
		.detail = "The default for a file of vs is the confidence that vs was run "
			"with."},
	{.name = "force", .type = OPTION_FLAG, .group = GROUP_COMPARE, FIELD(is_forced),
		.help = "compare results that are not comparable, and print the reason",
		.detail = "vs then also replaces files that mininb did not make."},
	{.name = NULL},
};
/* clang-format on */

struct nb_compare_options
compare_options_of(const struct options *options)
{
	struct nb_compare_options compare = NB_COMPARE_OPTIONS_INIT;
	compare.confidence = options_were_given(options, "confidence") ? options->confidence
								       : 0;
	compare.force = options->is_forced;
	return compare;
}

/** Whether both paths are the same file, also by a link. */
static bool
is_same(const char *one, const char *other)
{
	struct stat a, b;
	return strcmp(one, other) == 0 ||
		(stat(one, &a) == 0 && stat(other, &b) == 0 && S_ISREG(a.st_mode) &&
			a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/** Rejects a file that is named twice, because it would be compared with itself. */
static int
check_different(const char *one, const char *other)
{
	if (!is_same(one, other))
		return STATUS_DONE;
	return strcmp(one, other) == 0
		? message_usage("%s is named twice", one)
		: message_usage("%s and %s are the same file", other, one);
}

int
compare_files(struct nb_comparison **out, const struct options *options)
{
	size_t count = options->operand_count;
	struct nb_compare_input *inputs = kept_array(count, sizeof(*inputs));
	struct nb_results **results = kept_array(count, sizeof(struct nb_results *));
	for (size_t i = 1; i < count; i++) {
		for (size_t k = 0; k < i; k++) {
			int status = check_different(
				options->operands[i], options->operands[k]);
			if (status != STATUS_DONE)
				return status;
		}
	}
	int rc = 0;
	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = nb_results_read(&results[i], options->operands[i]);
		inputs[i] = (struct nb_compare_input){
			.results = results[i], .name = options->operands[i]};
	}
	struct nb_compare_options compare = compare_options_of(options);
	if (rc == 0)
		rc = nb_comparison_new(out, inputs, count, &compare);
	int status = message_last_failure(rc);
	for (size_t i = 0; i < count; i++)
		nb_results_delete(results[i]);
	return status;
}
