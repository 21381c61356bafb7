/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of crash tests: a row for each engine and level, which fits 80 columns, then
 * each crash after which something was wrong, with the command that shows it again.
 *
 * Recovery is the open after a crash, its time that of nb_crash(). How it is spread is drawn
 * as bars, each of a span of times that is twice as long as the one before.
 */
#include "crash_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "options.h"
#include "output.h"

/* Of a row the findings of each kind that are told in full; of what is not promised one is an
 * example. The rest is in the JSON. */
enum { FIGURE_SIZE = 16, SHOWN_BROKEN = 3, SHOWN_OTHER = 1 };

/* ---- rows ---- */

struct crash_row *
crash_rows_append(struct crash_rows *rows)
{
	struct crash_row *items = realloc(
		rows->items, (rows->count + 1) * sizeof(*rows->items));
	if (items == NULL) {
		message_error("out of memory");
		return NULL;
	}
	rows->items = items;
	rows->items[rows->count] = (struct crash_row){.driver = NULL};
	return &rows->items[rows->count++];
}

void
crash_rows_destroy(struct crash_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct crash_row *row = &rows->items[i];
		for (size_t k = 0; k < row->found_count; k++) {
			free(row->found[k].text);
			free(row->found[k].when);
			free(row->found[k].kept);
		}
		free(row->found);
		free(row->driver);
		free(row->engine);
		free(row->version);
		nb_crash_tally_clear(&row->tally);
	}
	free(rows->items);
}

void
crash_row_take(void *to, const struct nb_crash_finding *finding)
{
	struct crash_row *row = to;
	struct crash_found *found = realloc(
		row->found, (row->found_count + 1) * sizeof(*found));
	if (found == NULL) {
		message_error("out of memory: a finding is not listed: %s", finding->text);
		return;
	}
	row->found = found;
	found[row->found_count++] = (struct crash_found){.round = finding->round,
		.wrong = finding->wrong,
		.is_broken = finding->is_broken != 0,
		.is_counted = finding->is_counted != 0,
		.text = strdup(finding->text),
		.when = strdup(finding->when),
		.kept = finding->kept != NULL ? strdup(finding->kept) : NULL};
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

/** In five characters: "850us", "1.2ms", "12ms", "3.0s"; "-" of 0. */
static const char *
time_text(char text[FIGURE_SIZE], uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	size_t unit = 0;
	while (value >= 999.5 && unit < 3) {
		value /= 1000;
		unit++;
	}
	if (ns == 0)
		snprintf(text, FIGURE_SIZE, "-");
	else
		snprintf(text, FIGURE_SIZE, "%.*f%s", value < 9.95 && unit > 0, value,
			units[unit]);
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
crash_print_row(FILE *out, const struct crash_row *row)
{
	const struct nb_crash_tally *tally = &row->tally;
	char texts[9][FIGURE_SIZE];
	char name[13];
	snprintf(name, sizeof(name), "%s", row->engine);
	fprintf(out, ROW, name, nb_durability_name(row->durability),
		count_text(texts[0], tally->crashes), count_text(texts[1], tally->acknowledged),
		count_text(texts[2], tally->survived), count_text(texts[3], tally->lost),
		count_text(texts[4], tally->wrong[NB_CRASH_TORN]),
		count_text(texts[5], tally->wrong[NB_CRASH_GHOST]),
		count_text(texts[6], tally->broken),
		time_text(texts[7], nb_histogram_percentile(tally->recovery, 50)),
		time_text(texts[8], nb_histogram_max(tally->recovery)));
	fflush(out);
}

/** A text in single quotes, if a shell would cut it or make something else of it. */
static void
print_word(FILE *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./,=:+@%";
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

/** Without it one that hangs is waited for longer than before. */
static void
print_patience(FILE *out, const struct options *options)
{
	if (options_were_given(options, "hang-after"))
		fprintf(out, " --hang-after=%.9gs", (double)options->hang_after_ns / 1e9);
}

/** The call that does the same rounds up to that one; it finds the same if that was counted. */
static void
print_command(FILE *out, const struct options *options, const struct crash_row *row,
	const struct crash_found *found)
{
	fputs("mininb crash --driver=", out);
	print_word(out, row->driver);
	fprintf(out, " --durability=%s --seed=%" PRIu64 " --rounds=%" PRIu32,
		nb_durability_name(row->durability), options->seed, found->round + 1);
	if (options_were_given(options, "ops"))
		fprintf(out, " --ops=%" PRIu64, options->ops);
	if (options->moment == NB_CRASH_TIMED)
		fputs(" --moment=timed", out);
	if (options->moment == NB_CRASH_COUNTED)
		fputs(" --moment=counted", out);
	if (options->threads > 1)
		fprintf(out, " --threads=%" PRIu64, options->threads);
	if (options->is_power)
		fprintf(out, " --power --file-system=%s",
			options->file_system == NB_CRASH_POSIX ? "posix" : "journalled");
	if (options->is_power && options_were_given(options, "states"))
		fprintf(out, " --states=%" PRIu64, options->states);
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
print_one(FILE *out, const struct crash_rows *rows, const struct crash_row *row,
	const struct crash_found *found)
{
	fprintf(out, "\n%s, %s, round %" PRIu32 ": %s%s\n", row->engine,
		nb_durability_name(row->durability), found->round + 1,
		nb_crash_wrong_name(found->wrong),
		found->is_broken ? "" : " (not promised, so not broken)");
	fprintf(out, "    what   : %s\n    when   : %s\n", found->text, found->when);
	if (found->kept != NULL) {
		fputs("    again  : mininb crash --again=", out);
		print_word(out, found->kept);
		if (strchr(row->driver, '/') !=
			NULL) { /* which is not loaded by what a file says */
			fputs(" --driver=", out);
			print_word(out, row->driver);
		}
		print_patience(out, rows->options);
		fputc('\n', out);
	}
	if (rows->options->again != NULL) /* which does not know how many there were */
		return;
	/* The moments of a recording are numbers of calls, and so the seed repeats them too. */
	bool is_repeated = found->is_counted || rows->options->is_power;
	fputs(is_repeated ? "    repeat : " : "    rounds : ", out);
	print_command(out, rows->options, row, found);
}

/** Findings of the row of the same kind, among the first `count`. */
static size_t
count_alike(const struct crash_row *row, const struct crash_found *found, size_t count)
{
	size_t alike = 0;
	for (size_t i = 0; i < count; i++)
		alike += row->found[i].wrong == found->wrong &&
			row->found[i].is_broken == found->is_broken;
	return alike;
}

void
crash_print_found(FILE *out, const struct crash_rows *rows, const struct crash_row *row)
{
	for (size_t i = 0; i < row->found_count; i++) {
		const struct crash_found *found = &row->found[i];
		size_t shown = found->is_broken ? SHOWN_BROKEN : SHOWN_OTHER;
		size_t before = count_alike(row, found, i);
		size_t all = before < shown ? count_alike(row, found, row->found_count) : 0;
		if (before < shown)
			print_one(out, rows, row, found);
		if (before + 1 == shown && all > shown)
			fprintf(out, "    and %zu more like that\n", all - shown);
	}
}

/** What a level that promises nothing has taken. */
static void
print_none(FILE *out, const struct crash_row *row)
{
	const struct nb_crash_tally *tally = &row->tally;
	if (tally->acknowledged == 0 || tally->lost == 0)
		return;
	fprintf(out,
		"\n%s, %s: nothing is promised; of %" PRIu64
		" writes that had returned\n%" PRIu64 " were lost (%.4g %%)",
		row->engine, nb_durability_name(row->durability), tally->acknowledged,
		tally->lost, (double)tally->lost / (double)tally->acknowledged * 100);
	if (tally->holes > 0)
		fprintf(out, ", %" PRIu64 " of them while a later one was there", tally->holes);
	if (tally->wrong[NB_CRASH_NOT_OPENED] > 0)
		fprintf(out,
			"\n%" PRIu64 " of %" PRIu32
			" crashes left what did not open, or could not be read",
			tally->wrong[NB_CRASH_NOT_OPENED], tally->crashes);
	fputc('\n', out);
}

/** A level that a loss of power was not tried on is not praised for surviving it. */
static void
print_untried(FILE *out, const struct crash_rows *rows)
{
	bool has_others = false;
	for (size_t i = 0; i < rows->count; i++)
		has_others |= rows->items[i].durability != NB_DUR_COMMIT;
	if (rows->options->is_power && has_others)
		fputs("Power was lost at the level commit only: of the others process promises "
		      "nothing\n"
		      "then, and the interval of periodic is longer than a recording; they "
		      "were killed\n"
		      "between any two calls instead.\n",
			out);
}

/** What a test that found nothing did not look for. */
static void
print_unlooked(FILE *out, const struct options *options)
{
	if (options->is_power && options->file_system == NB_CRASH_JOURNALLED)
		fputs("Names and sizes were as of one moment, as a journal keeps them; a sync "
		      "of a\ndirectory that is left out is found with --file-system=posix.\n",
			out);
}

/** The last word. */
static void
print_verdict(FILE *out, const struct crash_rows *rows)
{
	uint64_t crashes = 0, broken = 0, acknowledged = 0;
	bool is_whole = true, is_promised = false;
	for (size_t i = 0; i < rows->count; i++) {
		is_whole &= rows->items[i].is_whole;
		is_promised |= rows->items[i].durability != NB_DUR_NONE;
		crashes += rows->items[i].tally.crashes;
		broken += rows->items[i].tally.broken;
		acknowledged += rows->items[i].tally.acknowledged;
	}
	fprintf(out, "\n%s", is_whole ? "" : "Partial, not all rounds were done.\n");
	if (broken > 0)
		fprintf(out, "In %" PRIu64 " of %" PRIu64 " crashes a promise was broken.\n",
			broken, crashes);
	else if (acknowledged == 0)
		fputs("No write had returned in any of them: this says nothing.\n", out);
	else if (!is_promised)
		fputs("Nothing was promised, so no promise was broken.\n", out);
	else
		fprintf(out, "No promise was broken in %" PRIu64 " crash%s.\n", crashes,
			crashes == 1 ? "" : "es");
}

/* ---- the picture ---- */

enum { SPANS = 16, SPAN_FIRST_NS = 31250, BAR_WIDTH = 40 };

/**
 * How many recoveries took less than `ns`, to within a percent of the ranks: by percentiles,
 * since a histogram is asked for a time and not for a rank.
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
print_spread(FILE *out, const struct crash_row *row)
{
	const struct nb_histogram *recovery = row->tally.recovery;
	uint64_t to = SPAN_FIRST_NS;
	double below = 0;
	char from_text[FIGURE_SIZE], to_text[FIGURE_SIZE];
	if (nb_histogram_count(recovery) < 20) /* a few are told by p50 and max */
		return;
	fprintf(out, "\n%s, %s: how long recoveries took\n", row->engine,
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
	fputs("\nacked: writes that had returned; torn, ghost, broken: crashes with such;\n"
	      "recovery: the open after a crash. What had not returned may be there or not.\n",
		out);
	print_untried(out, rows);
	print_unlooked(out, rows->options);

	for (size_t i = 0; i < rows->count; i++) {
		const struct crash_row *row = &rows->items[i];
		crash_print_found(out, rows, row);
		if (row->durability == NB_DUR_NONE)
			print_none(out, row);
	}
	if ((output_flags(rows->options) & NB_TEXT_BARS) != 0)
		for (size_t i = 0; i < rows->count; i++)
			print_spread(out, &rows->items[i]);
	print_verdict(out, rows);
}

/* ---- JSON ---- */

/** Bytes of the character that begins here; 0 if none does: Unicode standard, table 3-7. */
static size_t
character(const unsigned char *at)
{
	static const struct {
		unsigned char first, last; /* its first byte, */
		unsigned char least, most; /* and its second */
		unsigned char length;
	} forms[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};
	const size_t count = sizeof(forms) / sizeof(*forms);
	size_t form = 0, length = 2;
	while (form < count && (at[0] < forms[form].first || at[0] > forms[form].last))
		form++;
	if (form == count)
		return at[0] < 0x80;
	if (at[1] < forms[form].least || at[1] > forms[form].most)
		return 0;
	while (length < forms[form].length && (at[length] & 0xc0) == 0x80)
		length++;
	return length == forms[form].length ? length : 0;
}

/** What an engine says may be any bytes: those of no character are told as results tell them,
 * by one of the private use area. */
static void
put_text(FILE *out, const char *name, const char *text, const char *behind)
{
	const unsigned char *at = (const unsigned char *)text;
	fprintf(out, "\"%s\": \"", name);
	while (*at != '\0') {
		size_t length = character(at);
		if (length == 0)
			fprintf(out, "\\uef%02x", *at);
		else if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < ' ')
			fprintf(out, "\\u%04x", *at);
		else
			fwrite(at, 1, length, out);
		at += length + (length == 0);
	}
	fprintf(out, "\"%s", behind);
}

static void
put_number(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "\"%s\": %" PRIu64 ", ", name, value);
}

static void
put_times(FILE *out, const char *name, const struct nb_histogram *times)
{
	fprintf(out, "\"%s\": {", name);
	put_number(out, "count", nb_histogram_count(times));
	put_number(out, "p50_ns", nb_histogram_percentile(times, 50));
	put_number(out, "p90_ns", nb_histogram_percentile(times, 90));
	fprintf(out, "\"max_ns\": %" PRIu64 "},\n   ", nb_histogram_max(times));
}

static void
put_found(FILE *out, const struct crash_found *found)
{
	fputs("\n    {", out);
	put_number(out, "round", found->round + 1);
	put_text(out, "wrong", nb_crash_wrong_name(found->wrong), ", ");
	fprintf(out, "\"is_broken\": %s, ", found->is_broken ? "true" : "false");
	fprintf(out, "\"is_counted\": %s, ", found->is_counted ? "true" : "false");
	put_text(out, "text", found->text, ", ");
	put_text(out, "when", found->when, found->kept != NULL ? ", " : "}");
	if (found->kept != NULL)
		put_text(out, "kept", found->kept, "}");
}

static void
put_row(FILE *out, const struct crash_row *row)
{
	const struct nb_crash_tally *tally = &row->tally;
	fputs("\n  {", out);
	put_text(out, "driver", row->driver, ", ");
	put_text(out, "engine", row->engine, ", ");
	put_text(out, "engine_version", row->version, ",\n   ");
	put_text(out, "durability", nb_durability_name(row->durability), ", ");
	fprintf(out, "\"is_whole\": %s, ", row->is_whole ? "true" : "false");
	put_number(out, "rounds", tally->rounds);
	put_number(out, "crashes", tally->crashes);
	put_number(out, "counted", tally->counted);
	put_number(out, "broken", tally->broken);
	fputs("\n   ", out);
	put_number(out, "acknowledged", tally->acknowledged);
	put_number(out, "survived", tally->survived);
	put_number(out, "lost", tally->lost);
	put_number(out, "holes", tally->holes);
	put_number(out, "in_flight", tally->in_flight);
	put_number(out, "in_flight_kept", tally->in_flight_kept);
	fputs("\n   ", out);
	put_times(out, "recovery", tally->recovery);
	put_times(out, "reopening", tally->reopening);
	fputs("\"wrong\": {", out);
	for (uint32_t i = 0; i < NB_CRASH_WRONGS; i++)
		fprintf(out, "\"%s\": %" PRIu64 "%s", nb_crash_wrong_name(i), tally->wrong[i],
			i + 1 < NB_CRASH_WRONGS ? ", " : "},\n   ");
	put_number(out, "calls", tally->calls);
	put_number(out, "syncs", tally->syncs);
	put_number(out, "mapped_pages", tally->mapped_pages);
	put_text(out, "unseen", tally->unseen, ",");
	fputs("\n   \"findings\": [", out);
	for (size_t i = 0; i < row->found_count; i++) {
		put_found(out, &row->found[i]);
		fputs(i + 1 < row->found_count ? "," : "", out);
	}
	fputs("]}", out);
}

static void
put_document(FILE *out, const struct crash_rows *rows)
{
	const struct options *options = rows->options;
	fputs("{", out);
	put_text(out, "format", "mininb-crash", ", ");
	put_number(out, "version", 1);
	put_text(out, "mininb", nb_version(), ",\n ");
	put_text(out, "how", options->is_power ? "power" : "kill", ", ");
	fprintf(out, "\"seed\": \"%" PRIu64 "\", ", options->seed);
	put_number(out, "threads", options->threads);
	fputs("\n \"options\": [", out);
	for (size_t i = 0; i < options->engine_option_count; i++) {
		fputs(i > 0 ? ", {" : "{", out);
		put_text(out, "option", options->engine_options[i], "}");
	}
	fputs("],\n \"engines\": [", out);
	for (size_t i = 0; i < rows->count; i++) {
		put_row(out, &rows->items[i]);
		fputs(i + 1 < rows->count ? "," : "", out);
	}
	fputs("]}\n", out);
}

bool
crash_write_json(const char *path, const struct crash_rows *rows)
{
	if (strcmp(path, "-") == 0) {
		put_document(nb_stdout(), rows);
		return true; /* main() sees whether it went out */
	}
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (out != NULL)
		put_document(out, rows);
	bool is_good = out != NULL && fclose(out) == 0;
	if (!is_good)
		message_error("--output: out of memory for what would be in %s", path);
	else
		is_good = message_last_failure(nb_file_write(path, text, size)) == STATUS_DONE;
	free(text);
	return is_good;
}
