/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of crash tests: a row for each engine and level, in 80 columns, then each crash
 * that left an error, with the command that reproduces it.
 *
 * Recovery is the open after a crash, timed by nb_crash(). Its distribution is drawn as bars.
 * Each bar covers times up to twice those of the previous bar.
 */
#include "crash_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "kept.h"
#include "message.h"
#include "options.h"
#include "output.h"

/*
 * Maximum findings of each kind that are printed for a row; one example if the level does not
 * promise it. The JSON has all.
 */
enum { FIGURE_SIZE = 16, SHOWN_BROKEN = 3, SHOWN_OTHER = 1 };

void
crash_row_take(void *to, const struct nb_crash_finding *finding)
{
	struct nb_crash_row *row = to;
	size_t count = row->finding_count;
	if ((count & (count - 1)) == 0) { /* 0 and each power of two: when the array is full */
		struct nb_crash_finding *grown = kept_array(2 * count, sizeof(*grown));
		for (size_t i = 0; i < count; i++)
			grown[i] = row->findings[i];
		row->findings = grown;
	}
	struct nb_crash_finding *own = (struct nb_crash_finding *)&row->findings[count];
	row->finding_count++;
	*own = *finding;
	own->text = kept_text("%s", finding->text);
	own->when = kept_text("%s", finding->when);
	own->kept = finding->kept != NULL ? kept_text("%s", finding->kept) : NULL;
}

/* ---- figures ---- */

/** "99999", "123k", "1.2M". */
static const char *
count_text(char text[FIGURE_SIZE], uint64_t count)
{
	if (count < 100000)
		snprintf(text, FIGURE_SIZE, "%" PRIu64, count);
	else if (count < 999500)
		snprintf(text, FIGURE_SIZE, "%.0fk", (double)count / 1e3);
	else
		snprintf(text, FIGURE_SIZE, "%.3gM", (double)count / 1e6);
	return text;
}

/** In five characters: "850us", "1.2ms", "12ms", "3.0s"; "-" for 0. */
static const char *
time_text(char text[FIGURE_SIZE], uint64_t ns)
{
	if (ns == 0)
		snprintf(text, FIGURE_SIZE, "-");
	else
		clock_format_ns(text, FIGURE_SIZE, ns, 2);
	return text;
}

/* ---- text ---- */

#define ROW "%-12s %-8s %7s %5s %8s %5s %4s %5s %6s %5s %5s\n"

void
crash_print_titles(FILE *out)
{
	fprintf(out, "%80s\n", "recovery");
	fprintf(out, ROW, "engine", "level", "crashes", "acked", "survived", "lost", "torn",
		"ghost", "broken", "p50", "max");
}

void
crash_print_row(FILE *out, const struct nb_crash_row *row, const char *label)
{
	const struct nb_crash_tally *tally = row->tally;
	char texts[9][FIGURE_SIZE];
	fprintf(out, ROW, label, nb_durability_name(row->durability),
		count_text(texts[0], tally->crashes), count_text(texts[1], tally->acknowledged),
		count_text(texts[2], tally->survived), count_text(texts[3], tally->lost),
		count_text(texts[4], tally->wrong[NB_CRASH_TORN]),
		count_text(texts[5], tally->wrong[NB_CRASH_GHOST]),
		count_text(texts[6], tally->broken),
		time_text(texts[7], nb_histogram_percentile(tally->recovery, 50)),
		time_text(texts[8], nb_histogram_max(tally->recovery)));
	fflush(out);
}

/** Quotes a text if a shell would split or expand it. */
static void
print_word(FILE *out, const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,=:+@%";
	if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
		fputs(text, out);
		return;
	}
	fputc('\'', out);
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(*text, out);
	}
	fputc('\'', out);
}

/** Repeats --hang-after, because the default may wait longer for a hanging engine. */
static void
print_patience(FILE *out, const struct options *options)
{
	if (options_were_given(options, "hang-after"))
		fprintf(out, " --hang-after=%.9gs", (double)options->hang_after_ns / 1e9);
}

/**
 * The command that repeats the rounds up to that one. It finds the same if the moment was
 * counted.
 */
static void
print_command(FILE *out, const struct options *options, const struct nb_crash_row *row,
	const struct nb_crash_finding *found)
{
	fputs("mininb crash --driver=", out);
	print_word(out, row->driver);
	fprintf(out, " --durability=%s --seed=%" PRIu64 " --rounds=%" PRIu32,
		nb_durability_name(row->durability), options->seed, found->round + 1);
	if (options_were_given(options, "ops"))
		fprintf(out, " --ops=%" PRIu64, crash_own.ops);
	if (crash_own.moment == NB_CRASH_TIMED)
		fputs(" --moment=timed", out);
	if (crash_own.moment == NB_CRASH_COUNTED)
		fputs(" --moment=counted", out);
	if (options->threads > 1)
		fprintf(out, " --threads=%" PRIu64, options->threads);
	if (crash_own.is_power)
		fprintf(out, " --power --file-system=%s",
			crash_own.file_system == NB_CRASH_POSIX ? "posix" : "journalled");
	if (crash_own.is_power && options_were_given(options, "states"))
		fprintf(out, " --states=%" PRIu64, crash_own.states);
	for (size_t i = 0; i < options->engine_option_count; i++) {
		fputs(" -o ", out);
		print_word(out, options->engine_options[i]);
	}
	if (options_were_given(options, "path")) {
		fputs(" --path=", out);
		print_word(out, options->path);
	}
	print_patience(out, options);
	fputc('\n', out);
}

static void
print_one(FILE *out, const struct crash_rows *rows, size_t index,
	const struct nb_crash_finding *found)
{
	const struct nb_crash_row *row = &rows->items[index];
	fprintf(out, "\n%s, %s, round %" PRIu32 ": %s%s\n", rows->labels[index],
		nb_durability_name(row->durability), found->round + 1,
		nb_crash_wrong_name(found->wrong),
		found->is_broken ? "" : " (not promised, so not broken)");
	fprintf(out, "    what   : %s\n    when   : %s\n", found->text, found->when);
	if (found->kept != NULL) {
		fputs("    again  : mininb crash --again=", out);
		print_word(out, found->kept);
		if (strchr(row->driver, '/') != NULL) { /* a file must not load a plugin */
			fputs(" --driver=", out);
			print_word(out, row->driver);
		}
		print_patience(out, rows->options);
		fputc('\n', out);
	}
	if (crash_own.again != NULL) /* the number of findings is unknown */
		return;
	/* Moments of a recording are numbers of calls, so the seed repeats them. */
	bool is_repeated = found->is_counted || crash_own.is_power;
	fputs(is_repeated ? "    repeat : " : "    rounds : ", out);
	print_command(out, rows->options, row, found);
}

/** The number of findings of the same kind among the first `count` of the row. */
static size_t
count_alike(const struct nb_crash_row *row, const struct nb_crash_finding *found, size_t count)
{
	size_t alike = 0;
	for (size_t i = 0; i < count; i++)
		alike += row->findings[i].wrong == found->wrong &&
			row->findings[i].is_broken == found->is_broken;
	return alike;
}

void
crash_print_found(FILE *out, const struct crash_rows *rows, size_t index)
{
	const struct nb_crash_row *row = &rows->items[index];
	for (size_t i = 0; i < row->finding_count; i++) {
		const struct nb_crash_finding *found = &row->findings[i];
		size_t shown = found->is_broken ? SHOWN_BROKEN : SHOWN_OTHER;
		size_t before = count_alike(row, found, i);
		size_t all = before < shown ? count_alike(row, found, row->finding_count) : 0;
		if (before < shown)
			print_one(out, rows, index, found);
		if (before + 1 == shown && all > shown)
			fprintf(out, "    and %zu more like that\n", all - shown);
	}
}

/** Prints losses at a level without promises. */
static void
print_none(FILE *out, const struct nb_crash_row *row, const char *label)
{
	const struct nb_crash_tally *tally = row->tally;
	if (tally->acknowledged == 0 || tally->lost == 0)
		return;
	fprintf(out,
		"\n%s, %s: this level promises nothing; of %" PRIu64
		" writes that had returned\n%" PRIu64 " were lost (%.4g %%)",
		label, nb_durability_name(row->durability), tally->acknowledged, tally->lost,
		(double)tally->lost / (double)tally->acknowledged * 100);
	if (tally->holes > 0)
		fprintf(out, ", %" PRIu64 " of them although a later write survived",
			tally->holes);
	if (tally->wrong[NB_CRASH_NOT_OPENED] > 0)
		fprintf(out,
			"\n%" PRIu64 " of %" PRIu32
			" crashes left a database that did not open or could not be read",
			tally->wrong[NB_CRASH_NOT_OPENED], tally->crashes);
	fputc('\n', out);
}

/** Prints which levels were not tested with power failures, or how. */
static void
print_untried(FILE *out, const struct crash_rows *rows)
{
	bool has_others = false, has_periodic = false;
	for (size_t i = 0; i < rows->count; i++) {
		has_others |= rows->items[i].durability < NB_DUR_PERIODIC;
		has_periodic |= rows->items[i].durability == NB_DUR_PERIODIC;
	}
	if (crash_own.is_power && has_others)
		fputs("Only the levels periodic and commit were tested with power failures: the others\n"
		      "promise nothing then. At those mininb killed the process between two calls.\n",
			out);
	if (crash_own.is_power && has_periodic)
		fputs("A recording is shorter than most intervals of periodic. Give the engine a short\n"
		      "one, so that it syncs within the recording.\n",
			out);
}

/** Prints which failures the test cannot find. */
static void
print_unlooked(FILE *out)
{
	if (crash_own.is_power && crash_own.file_system == NB_CRASH_JOURNALLED)
		fputs("Names and sizes survived in their order, as with a journal. To find a missing\nsync of a directory, use --file-system=posix.\n",
			out);
}

/** Prints the verdict. */
static void
print_verdict(FILE *out, const struct crash_rows *rows)
{
	uint64_t crashes = 0, broken = 0, acknowledged = 0;
	bool is_whole = true, is_promised = false;
	for (size_t i = 0; i < rows->count; i++) {
		is_whole &= rows->items[i].is_whole;
		is_promised |= rows->items[i].durability != NB_DUR_NONE;
		crashes += rows->tallies[i].crashes;
		broken += rows->tallies[i].broken;
		acknowledged += rows->tallies[i].acknowledged;
	}
	fprintf(out, "\n%s", is_whole ? "" : "Partial: not all rounds were done.\n");
	if (broken > 0)
		fprintf(out, "In %" PRIu64 " of %" PRIu64 " crashes a promise was broken.\n",
			broken, crashes);
	else if (acknowledged == 0)
		fputs("No write had returned before a crash, so this shows nothing.\n", out);
	else if (!is_promised)
		fputs("Nothing was promised, so no promise was broken.\n", out);
	else
		fprintf(out, "No promise was broken in %" PRIu64 " crash%s.\n", crashes,
			crashes == 1 ? "" : "es");
}

/* ---- recovery times ---- */

enum { SPANS = 16, SPAN_FIRST_NS = 31250, BAR_WIDTH = 40 };

/**
 * Fraction of recoveries below `ns`, exact to 0.1 %. Searched by percentiles, because a
 * histogram has no rank of a time.
 */
static double
share_below(const struct nb_histogram *histogram, uint64_t ns)
{
	double low = 0, high = 100;
	if (nb_histogram_min(histogram) >= ns)
		return 0;
	while (high - low > 0.1) {
		double middle = (low + high) / 2;
		if (nb_histogram_percentile(histogram, middle) < ns)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static void
print_spread(FILE *out, const struct nb_crash_row *row, const char *label)
{
	const struct nb_histogram *recovery = row->tally->recovery;
	uint64_t to = SPAN_FIRST_NS;
	double below = 0;
	char from_text[FIGURE_SIZE], to_text[FIGURE_SIZE];
	if (nb_histogram_count(recovery) <
		20) /* p50 and max describe few values sufficiently */
		return;
	fprintf(out, "\n%s, %s: how long recoveries took\n", label,
		nb_durability_name(row->durability));
	for (int i = 0; i < SPANS && below < 99.9; i++, to *= 2) {
		double upto = i + 1 == SPANS ? 100 : share_below(recovery, to);
		int width = (int)((upto - below) / 100 * BAR_WIDTH + 0.5);
		if (upto > 0.1)
			fprintf(out, "    %5s - %5s %3.0f %% %.*s\n",
				i == 0 ? "0" : time_text(from_text, to / 2),
				time_text(to_text, to), upto - below, width,
				"########################################");
		below = upto;
	}
}

void
crash_print_findings(FILE *out, const struct crash_rows *rows)
{
	fputs("\nacked: writes that had returned; torn, ghost, broken: crashes with such\n"
	      "errors; recovery: the open after a crash. Other writes may be there or not.\n",
		out);
	print_untried(out, rows);
	print_unlooked(out);

	for (size_t i = 0; i < rows->count; i++) {
		crash_print_found(out, rows, i);
		if (rows->items[i].durability == NB_DUR_NONE)
			print_none(out, &rows->items[i], rows->labels[i]);
	}
	if ((output_flags(rows->options) & NB_TEXT_BARS) != 0)
		for (size_t i = 0; i < rows->count; i++)
			print_spread(out, &rows->items[i], rows->labels[i]);
	print_verdict(out, rows);
}

/* ---- JSON ---- */

int
crash_write_json(const char *path, const struct crash_rows *rows)
{
	struct nb_crash_args args = NB_CRASH_ARGS_INIT;
	args.how = crash_own.is_power ? NB_CRASH_POWER : NB_CRASH_KILL;
	args.seed = rows->options->seed;
	args.sessions = (uint32_t)rows->options->threads;
	args.engine_options = rows->options->engine_options;
	args.engine_option_count = rows->options->engine_option_count;
	char *json = nb_crash_to_json(&args, rows->items, rows->count);
	if (json == NULL)
		return message_no_memory();
	char *text = kept_text("%s\n", json);
	free(json);
	if (strcmp(path, "-") != 0)
		return message_last_failure(nb_file_write(path, text, strlen(text)));
	fputs(text, nb_stdout()); /* main() checks whether it was written */
	return STATUS_DONE;
}
