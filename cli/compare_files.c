/* SPDX-License-Identifier: BSD-2-Clause */
#include "compare_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <mininb/mininb.h>

#include "message.h"
#include "options.h"

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

/** Whether both are one file, also by a link or another path. */
static bool
is_same(const char *one, const char *other)
{
	struct stat a, b;
	return strcmp(one, other) == 0 ||
		(stat(one, &a) == 0 && stat(other, &b) == 0 && S_ISREG(a.st_mode) &&
			a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/** A file that is named twice would be compared with itself. */
static bool
are_all_different(const struct options *options)
{
	for (size_t i = 1; i < options->operand_count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (!is_same(options->operands[i], options->operands[k]))
				continue;
			if (strcmp(options->operands[i], options->operands[k]) == 0)
				message_usage("%s is named twice", options->operands[i]);
			else
				message_usage("%s and %s are the same file",
					options->operands[k], options->operands[i]);
			return false;
		}
	}
	return true;
}

int
compare_files(struct nb_comparison **out, const struct options *options)
{
	size_t count = options->operand_count;
	if (!are_all_different(options))
		return STATUS_USAGE;
	struct nb_compare_input *inputs = calloc(count + 1, sizeof(*inputs));
	struct nb_results **results = calloc(count + 1, sizeof(struct nb_results *));
	if (inputs == NULL || results == NULL) {
		message_error("out of memory");
		free(inputs);
		free(results);
		return STATUS_FAILED;
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
	free(results);
	free(inputs);
	return status;
}
