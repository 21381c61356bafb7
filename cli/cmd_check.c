/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check: runs the contract suite on one engine and prints a line for each promise as soon as it
 * is tested. It makes databases in --path if given, else in $TMPDIR or /tmp, and removes them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "kept.h"
#include "message.h"
#include "options.h"

static struct {
	const char *only;
} own;

#define INTO(name) .into = &own.name
/* clang-format off */
static const struct option_row own_options[] = {
	{.name = "only", .arg = "TEXT,...", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.before = "report-interval", .decides = true, INTO(only),
		.help = "test only promises with a TEXT in their name; a space matches '_'"},
	{.name = NULL},
};
/* clang-format on */

enum { FORMAT_TEXT, FORMAT_TAP };

/*
 * A promise takes a second or two, or about ten on a slow disk with a sync for each write; a
 * recovery takes milliseconds, or seconds on a slow disk.
 */
#define PATIENCE_NS (60 * UINT64_C(1000000000))

/* ---- functions that check and crash share ---- */

int
test_load(struct nb_engine_ref **ref, struct nb_option_value **values,
	const struct options *options, struct nb_check_args *check)
{
	int rc = check != NULL ? nb_check_load(ref, check, options->driver)
			       : nb_engine_load(ref, options->driver);
	if (rc == 0)
		rc = nb_engine_configure(
			values, *ref, options->engine_options, options->engine_option_count);
	if (rc == 0 && options_were_given(options, "path"))
		rc = nb_tree_make(options->path);
	return message_last_failure(rc);
}

void
test_unload(struct nb_engine_ref *ref, struct nb_option_value *values)
{
	if (values != NULL)
		nb_options_delete(values, nb_engine_table(ref));
	nb_engine_unload(ref);
}

const char *
test_scratch(const struct options *options, const char *otherwise)
{
	const char *tmp = getenv("TMPDIR");
	if (options_were_given(options, "path"))
		return options->path;
	return tmp != NULL && tmp[0] != '\0' ? tmp : otherwise;
}

uint64_t
test_patience_ns(const struct options *options)
{
	if (!options_were_given(options, "hang-after"))
		return PATIENCE_NS;
	return options->hang_after_ns > 0 ? options->hang_after_ns : UINT64_MAX;
}

/* ---- the report ---- */

/** Findings so far. */
struct tally {
	FILE *out;
	bool is_tap;
	size_t number; /* number of the promise, in TAP from 1 */
	size_t kept, broken, not_applicable;
	size_t first_broken; /* the promise, if `broken` > 0 */
};

/** Prints each line of `text` after `indent`. */
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

/** The name of a promise is a sentence with '_' between the words. */
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
	fflush(tally->out); /* the next promise may take long */
}

/** Whether the name contains the first `length` bytes of the text, whose spaces match '_'. */
static bool
has_text(const char *promise, const char *text, size_t length)
{
	for (; strlen(promise) >= length; promise++) {
		size_t i = 0;
		while (i < length && promise[i] == (text[i] == ' ' ? '_' : text[i]))
			i++;
		if (i == length)
			return true;
	}
	return false;
}

/** Whether the name contains one of the texts "A,B"; NULL matches all. */
static bool
is_wanted(const char *promise, const char *texts)
{
	bool is_there = texts == NULL;
	while (texts != NULL && !is_there) {
		size_t length = strcspn(texts, ",");
		is_there = length > 0 && has_text(promise, texts, length);
		texts = texts[length] == ',' ? texts + length + 1 : NULL;
	}
	return is_there;
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
		fprintf(out, "1..%zu\n", count_wanted(own.only));
	fprintf(out, "%sDriver: %s %s (%s)\n", before, engine->name, engine->version(),
		nb_engine_path(ref));
	for (size_t i = 0; i < options->engine_option_count; i++)
		fprintf(out, "%sOption: %s\n", before, options->engine_options[i]);
	fprintf(out, "%sSeed: %" PRIu64 "\n%s", before, options->seed, is_tap ? "" : "\n");
}

/** Promises are sorted: a promise may depend on earlier ones. */
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
	fprintf(tally->out, "Fix first: ");
	print_name(tally->out, nb_check_name(tally->first_broken));
	fprintf(tally->out, " (it may cause the others)\n");
}

static int
check_promises(
	const struct options *options, struct nb_engine_ref *ref, struct nb_check_args args)
{
	struct tally tally = {.out = nb_stdout(), .is_tap = options->format == FORMAT_TAP};
	print_head(tally.out, options, ref, tally.is_tap);
	for (size_t i = 0; i < nb_check_count(); i++) {
		if (!is_wanted(nb_check_name(i), own.only))
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

static int
check_all(const struct options *options, struct nb_engine_ref *ref, struct nb_check_args args)
{
	struct nb_check_servers *servers;
	args.seed = options->seed;
	args.timeout_ns = test_patience_ns(options);
	args.scratch = test_scratch(options, "/tmp");
	int rc = nb_check_serve(&servers, &args);
	if (rc < 0)
		return message_last_failure(rc);
	int status = check_promises(options, ref, args);
	nb_check_serve_end(servers);
	return status;
}

static int
do_check(const struct options *options)
{
	struct nb_engine_ref *ref = NULL;
	struct nb_option_value *values = NULL;
	if (count_wanted(own.only) == 0)
		return message_usage("--only: no promise has '%s' in its name", own.only);
	struct nb_check_args args = NB_CHECK_ARGS_INIT;
	int status = test_load(&ref, &values, options, &args);
	args.options = values;
	args.servers = options->servers;
	if (status == STATUS_DONE)
		status = check_all(options, ref, args);
	test_unload(ref, values);
	return status;
}

const struct cmd cmd_check = {
	.name = "check",
	.run = do_check,
	.help = "test an engine on each promise of the plugin interface",
	.detail = "The contract suite: a promise is kept, broken or not applicable. For a "
		  "broken one mininb prints what happened, if possible with the shortest "
		  "sequence of operations that shows it. Each promise is tested in its own "
		  "process, on new databases in a new directory below --path, $TMPDIR or /tmp. "
		  "The exit status is 4 if a promise is broken.",
	.own = {own_options},
	.shares = "seed driver path servers option hang-after format",
	.measures = true,
};
