/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check: the contract suite on one engine, a line for each promise as soon as
 * it is known. Databases are made under --path if it was typed, else under
 * $TMPDIR or /tmp, and removed again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"

enum { FORMAT_TEXT, FORMAT_TAP };

/* A promise takes a second or two; on a slow disk, with a sync for each write, some ten. */
#define PROMISE_NS (60 * UINT64_C(1000000000))

/** What was found so far. */
struct tally {
	FILE *out;
	bool is_tap;
	size_t number; /* of the promise, in TAP from 1 */
	size_t kept, broken, not_applicable;
	size_t first_broken; /* promise, if any is */
};

/** Each line of `text` behind `indent`. */
static void
print_lines(FILE *out, const char *indent, const char *text)
{
	while (*text != '\0') {
		int length = (int)strcspn(text, "\n");
		fprintf(out, "%s%.*s\n", indent, length, text);
		text += length;
		text += *text == '\n';
	}
}

static void
print_break(FILE *out, const struct nb_check_finding *finding, const char *indent,
	const char *deeper)
{
	print_lines(out, indent, finding->text);
	if (finding->step_count > 0)
		fprintf(out,
			"%sshortest sequence of operations that shows it, of %" PRIu32 ":\n",
			indent, finding->step_count);
	print_lines(out, deeper, finding->steps);
}

static void
print_tap(FILE *out, const struct nb_check_finding *finding, size_t number)
{
	bool is_broken = finding->outcome == NB_CHECK_BROKEN;
	fprintf(out, "%s %zu %s", is_broken ? "not ok" : "ok", number, finding->promise);
	if (finding->outcome == NB_CHECK_NOT_APPLICABLE)
		fprintf(out, " # SKIP %s", finding->text);
	fprintf(out, "\n");
	if (is_broken)
		print_break(out, finding, "# ", "#   ");
}

/** A promise is named by a sentence whose words are joined by '_'. */
static void
print_name(FILE *out, const char *promise)
{
	for (const char *c = promise; *c != '\0'; c++)
		putc(*c == '_' ? ' ' : *c, out);
}

static void
print_text(FILE *out, const struct nb_check_finding *finding)
{
	static const char *const words[] = {[NB_CHECK_KEPT] = "kept",
		[NB_CHECK_BROKEN] = "BROKEN",
		[NB_CHECK_NOT_APPLICABLE] = "-"};
	fprintf(out, "  %-8s", words[finding->outcome]);
	print_name(out, finding->promise);
	if (finding->outcome == NB_CHECK_NOT_APPLICABLE)
		fprintf(out, ": %s", finding->text);
	fprintf(out, "\n");
	if (finding->outcome == NB_CHECK_BROKEN)
		print_break(out, finding, "          ", "            ");
}

static void
take_finding(void *to, const struct nb_check_finding *finding)
{
	struct tally *tally = to;
	tally->kept += finding->outcome == NB_CHECK_KEPT;
	if (finding->outcome == NB_CHECK_BROKEN && tally->broken == 0)
		tally->first_broken = finding->index;
	tally->broken += finding->outcome == NB_CHECK_BROKEN;
	tally->not_applicable += finding->outcome == NB_CHECK_NOT_APPLICABLE;
	if (tally->is_tap)
		print_tap(tally->out, finding, ++tally->number);
	else
		print_text(tally->out, finding);
	fflush(tally->out); /* the next may take its time */
}

/** Promises whose name, written either way, holds the text; NULL: all. */
static bool
is_wanted(const char *promise, const char *text)
{
	if (text == NULL)
		return true;
	size_t length = strlen(text);
	for (; strlen(promise) >= length; promise++) {
		size_t at = 0;
		while (at < length &&
			(promise[at] == text[at] || (promise[at] == '_' && text[at] == ' ')))
			at++;
		if (at == length)
			return true;
	}
	return false;
}

static size_t
count_wanted(const char *text)
{
	size_t count = 0;
	for (size_t i = 0; i < nb_check_count(); i++)
		count += is_wanted(nb_check_name(i), text);
	return count;
}

static void
print_head(
	FILE *out, const struct options *options, const struct nb_engine_ref *ref, bool is_tap)
{
	const struct nb_engine *engine = nb_engine_table(ref);
	const char *before = is_tap ? "# " : "";
	if (is_tap)
		fprintf(out, "1..%zu\n", count_wanted(options->only));
	fprintf(out, "%sDriver: %s %s (%s)\n", before, engine->name, engine->version(),
		nb_engine_path(ref));
	for (size_t i = 0; i < options->engine_option_count; i++)
		fprintf(out, "%sOption: %s\n", before, options->engine_options[i]);
	fprintf(out, "%sSeed: %" PRIu64 "\n%s", before, options->seed, is_tap ? "" : "\n");
}

/** Promises stand in the order in which they depend on each other. */
static void
print_sum(const struct tally *tally)
{
	if (tally->is_tap)
		return;
	fprintf(tally->out, "\n%zu promises: %zu kept, %zu broken, %zu not applicable\n",
		tally->kept + tally->broken + tally->not_applicable, tally->kept, tally->broken,
		tally->not_applicable);
	if (tally->broken < 2)
		return;
	fprintf(tally->out, "Mend first: ");
	print_name(tally->out, nb_check_name(tally->first_broken));
	fprintf(tally->out, " (others may follow from it)\n");
}

static int
check_all(const struct options *options, struct nb_engine_ref *ref,
	const struct nb_option_value *values)
{
	struct nb_check_args args = NB_CHECK_ARGS_INIT;
	struct tally tally = {.out = nb_stdout(), .is_tap = options->format == FORMAT_TAP};
	const char *tmp = getenv("TMPDIR");
	args.engine = nb_engine_table(ref);
	args.options = values;
	args.seed = options->seed;
	args.timeout_ns = options_were_given(options, "hang-after") ? options->hang_after_ns
								    : PROMISE_NS;
	if (args.timeout_ns == 0)
		args.timeout_ns = UINT64_MAX; /* never */
	args.scratch = options_were_given(options, "path") ? options->path
		: tmp != NULL && tmp[0] != '\0'            ? tmp
							   : "/tmp";
	print_head(tally.out, options, ref, tally.is_tap);
	for (size_t i = 0; i < nb_check_count(); i++) {
		if (!is_wanted(nb_check_name(i), options->only))
			continue;
		int rc = nb_check_apart(&args, i, take_finding, &tally);
		if (rc < 0) {
			print_sum(&tally);
			return message_last_failure(rc);
		}
	}
	print_sum(&tally);
	return tally.broken > 0 ? STATUS_GATE : STATUS_DONE;
}

int
cmd_check(const struct options *options)
{
	struct nb_engine_ref *ref;
	struct nb_option_value *values;
	if (count_wanted(options->only) == 0)
		return message_usage("--only: no promise has '%s' in its name", options->only);
	int rc = nb_engine_load(&ref, options->driver);
	if (rc < 0)
		return message_last_failure(rc);
	rc = nb_engine_configure(
		&values, ref, options->engine_options, options->engine_option_count);
	if (rc < 0) {
		nb_engine_unload(ref);
		return message_last_failure(rc);
	}
	if (options_were_given(options, "path"))
		rc = nb_tree_make(options->path);
	int status = rc < 0 ? message_last_failure(rc) : check_all(options, ref, values);
	nb_options_delete(values, nb_engine_table(ref));
	nb_engine_unload(ref);
	return status;
}
