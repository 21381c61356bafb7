/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the words of the command line.
 *
 * By hand and not by getopt_long(): that one takes any unique beginning of a
 * name for the name, so that a script breaks when an option is added, and it
 * cannot say what is near. Forms: --name=value, --name value, -kVALUE,
 * -k VALUE, "--" before words that begin with '-'. An option that an action
 * does not look at is no error: scripts hand the same set to every action. The
 * last of several values counts, but two actions are an error. A word behind an
 * action that has an operand is that operand, also where it is an action's name.
 *
 * Defaults are texts in the table, read by the same code as what is typed.
 */
#include "options.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"

enum { OPTIONS_MAX = 64 }; /* bits of options.given */

#define FIELD(name) .offset = offsetof(struct options, name)
#define RUNS (ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_GET) | ACTION_BIT(ACTION_DELETE))
#define WRITES (ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_DELETE))
#define VALUES (ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_GET))
#define FILES (RUNS | ACTION_BIT(ACTION_KEYS) | ACTION_BIT(ACTION_SHUFFLE))
#define CHECKS ACTION_BIT(ACTION_CHECK)
#define SEEDS \
	(ACTION_BIT(ACTION_KEYS) | ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_SHUFFLE) | CHECKS)
#define ALL (ACTION_BIT(ACTION_COUNT) - 1)

const char *const option_groups[GROUP_COUNT] = {
	[GROUP_DATA] = "What to do",
	[GROUP_ENGINE] = "The engine",
	[GROUP_MEASURE] = "How to measure",
	[GROUP_OUTPUT] = "What to print",
};

/* clang-format off */
const struct option_row option_table[] = {
	{.name = "action", .letter = 'a', .arg = "ACTION", .type = OPTION_ACTION,
		.group = GROUP_DATA, .actions = ALL, FIELD(action),
		.help = "what to do; may also be the first word"},
	{.name = "keys", .letter = 'i', .arg = "FILE", .type = OPTION_TEXT, .def = "keys.bin",
		.group = GROUP_DATA, .actions = FILES, .words = WORDS_FILE, FIELD(keys),
		.help = "file of keys, LEN bytes each with nothing between them"},
	{.name = "count", .letter = 'c', .arg = "COUNT", .type = OPTION_COUNT, .def = "100000",
		.min = 1, .max = INT64_MAX, .group = GROUP_DATA, .actions = FILES, FIELD(count),
		.help = "operations, each with the next key of the file"},
	{.name = "klen", .letter = 'k', .arg = "LEN", .type = OPTION_BYTES, .def = "16",
		.min = 1, .max = NB_KEY_SIZE_MAX, .group = GROUP_DATA, .actions = FILES,
		FIELD(key_size), .help = "bytes of a key"},
	{.name = "vlen", .letter = 'v', .arg = "LEN", .type = OPTION_BYTES, .def = "100",
		.max = NB_VALUE_SIZE_MAX, .group = GROUP_DATA, .actions = VALUES,
		FIELD(value_size), .help = "bytes of a value"},
	{.name = "value-ratio", .arg = "RATIO", .type = OPTION_REAL, .def = "0.5", .max = 1,
		.group = GROUP_DATA, .actions = ACTION_BIT(ACTION_PUT), FIELD(value_ratio),
		.help = "what an ideal compression would leave of a value; 1: nothing to gain"},
	{.name = "seed", .arg = "NUMBER", .type = OPTION_COUNT, .def = "1", .max = UINT64_MAX,
		.group = GROUP_DATA, .actions = SEEDS, FIELD(seed),
		.help = "start of all that is random; the same seed, the same data"},

	{.name = "driver", .letter = 'd', .arg = "NAME", .type = OPTION_TEXT, .def = "leveldb",
		.group = GROUP_ENGINE, .actions = RUNS | CHECKS | ACTION_BIT(ACTION_ENGINES),
		.words = WORDS_DRIVER, FIELD(driver),
		.help = "the engine, or with a '/' the file of its plugin; a,b,c: each of these",
		.detail = "Several engines run one after the other, each in a process of its own; "
			  "one that crashes or hangs costs its own run, and a table at the end has "
			  "them side by side. A put then asks that none of them holds data, or "
			  "for --fresh."},
	{.name = "path", .letter = 'p', .arg = "DIR", .type = OPTION_TEXT, .def = "./nb",
		.group = GROUP_ENGINE, .actions = RUNS | CHECKS, .words = WORDS_DIRECTORY, FIELD(path),
		.help = "where databases are; the engine's own is DIR/NAME, made if missing"},
	{.name = "fresh", .type = OPTION_FLAG, .group = GROUP_ENGINE,
		.actions = ACTION_BIT(ACTION_PUT), FIELD(is_fresh),
		.help = "remove the engine's database first"},
	{.name = "option", .letter = 'o', .arg = "NAME=VALUE", .type = OPTION_LIST,
		.group = GROUP_ENGINE, .actions = RUNS | CHECKS,
		.help = "an option of the engine's; as often as needed",
		.detail = "With several engines ENGINE.NAME=VALUE is for one of them."},
	{.name = "durability", .arg = "LEVEL", .type = OPTION_CHOICE, .def = "auto",
		.choices = "auto|none|process|periodic|commit", .group = GROUP_ENGINE,
		.actions = RUNS, FIELD(durability),
		.help = "what a crash may take of the writes", .detail = "See DURABILITY."},
	{.name = "cache", .arg = "SIZE", .type = OPTION_BYTES, .min = 1, .max = INT64_MAX,
		.group = GROUP_ENGINE, .actions = RUNS, FIELD(cache_bytes),
		.help = "what the engine may keep in memory, if not its own default"},

	{.name = "threads", .letter = 't', .arg = "COUNT", .type = OPTION_COUNT, .def = "1",
		.min = 1, .max = 1024, .group = GROUP_MEASURE, .actions = RUNS, FIELD(threads),
		.help = "workers that share the operations"},
	{.name = "pin", .type = OPTION_FLAG, .group = GROUP_MEASURE, .actions = RUNS,
		FIELD(is_pinned), .help = "keep each worker on a CPU of its own"},
	{.name = "clock", .arg = "CLOCK", .type = OPTION_CHOICE, .def = "auto",
		.choices = "auto|tsc|monotonic", .group = GROUP_MEASURE, .actions = RUNS,
		FIELD(clock), .help = "what takes the time",
		.detail = "auto is the time stamp counter where it can be trusted; tsc is refused where it "
			  "cannot."},
	{.name = "settle", .arg = "HOW", .type = OPTION_CHOICE, .def = "compact",
		.choices = "none|flush|compact", .group = GROUP_MEASURE, .actions = WRITES,
		FIELD(settle), .help = "how a run of writes ends",
		.detail = "flush: what is in memory is written out; compact: and the work that the "
			  "engine has put off is done. It is timed apart from the operations."},
	{.name = "verify-rate", .arg = "SHARE", .type = OPTION_REAL, .def = "0.01", .max = 1,
		.group = GROUP_MEASURE, .actions = RUNS, FIELD(verify_rate),
		.help = "share of the operations whose data is checked"},
	{.name = "hang-after", .arg = "TIME", .type = OPTION_TIME, .def = "10m",
		.group = GROUP_MEASURE, .actions = RUNS | CHECKS, FIELD(hang_after_ns),
		.help = "several engines: end one that has done nothing for so long; 0s: never",
		.detail = "Opening, settling and closing, whose progress cannot be seen, may take six "
			  "times that. With a single engine that is so only if the option is given. check "
			  "ends a promise after so long, without the option after a minute."},
	{.name = "allow-missing", .type = OPTION_FLAG, .group = GROUP_MEASURE,
		.actions = ACTION_BIT(ACTION_GET) | ACTION_BIT(ACTION_DELETE),
		FIELD(allows_missing), .help = "a key that is not there is no failure"},

	{.name = "only", .arg = "TEXT", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.actions = CHECKS, FIELD(only), .help = "only promises with TEXT in their name"},

	{.name = "report-interval", .letter = 'r', .arg = "COUNT", .type = OPTION_COUNT,
		.def = "10000", .max = INT64_MAX, .group = GROUP_OUTPUT, .actions = FILES,
		FIELD(report_interval), .help = "operations between two looks at progress; 0: none"},
	{.name = "fold", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = RUNS,
		FIELD(is_folded), .help = "one row of the histogram for all below a microsecond"},
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|tap", .group = GROUP_OUTPUT, .actions = CHECKS, FIELD(format),
		.help = "how promises are listed",
		.detail = "tap is the Test Anything Protocol, for test harnesses."},
	{.name = "quiet", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = FILES,
		FIELD(is_quiet), .help = "no progress and no remarks, only warnings and errors"},
	{.name = "version", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = ALL,
		FIELD(wants_version), .help = "print the version"},
	{.name = "help", .letter = 'h', .type = OPTION_HELP, .choices = "man|bash",
		.group = GROUP_OUTPUT, .actions = ALL, FIELD(help),
		.help = "print this text, the man page, or completion for bash"},
	{.name = NULL},
};
/* clang-format on */

static const struct option_row *
find_name(const char *name, size_t length)
{
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (strlen(row->name) == length && memcmp(row->name, name, length) == 0)
			return row;
	}
	return NULL;
}

static const struct option_row *
find_letter(char letter)
{
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (row->letter == letter)
			return row;
	}
	return NULL;
}

/** What was meant: the only name that begins so, else the nearest. */
static const char *
guess_name(const char *name)
{
	const char *names[OPTIONS_MAX], *begins = NULL;
	size_t count = 0, begin_count = 0, length = strlen(name);
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		names[count++] = row->name;
		if (length > 0 && strncmp(row->name, name, length) == 0) {
			begins = row->name;
			begin_count++;
		}
	}
	return begin_count == 1 ? begins : nb_nearest(name, names, count);
}

/* ---- values ---- */

/** "a|b|c" taken apart in place; the number of words. */
static size_t
split_choices(char *text, const char **words, size_t room)
{
	size_t count = 0;
	char *rest = text;
	for (char *word; count < room && (word = strsep(&rest, "|")) != NULL;)
		words[count++] = word;
	return count;
}

static void
append_word(char *text, size_t size, const char *word)
{
	size_t length = strlen(text);
	snprintf(text + length, size - length, "%s%s", length == 0 ? "" : ", ", word);
}

static bool
set_choice(const struct option_row *row, const char *value, uint64_t *field)
{
	char text[128];
	const char *words[16];
	snprintf(text, sizeof(text), "%s", row->choices);
	size_t count = split_choices(text, words, 16);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(words[i], value) == 0) {
			*field = i;
			return true;
		}
	}
	const char *near = nb_nearest(value, words, count);
	char allowed[128] = "";
	for (size_t i = 0; i < count; i++)
		append_word(allowed, sizeof(allowed), words[i]);
	message_usage("--%s: '%s' is not known%s%s%s%s", row->name, value,
		near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
		near != NULL ? "'? Allowed: " : "; allowed: ", allowed);
	return false;
}

static bool
set_number(const struct option_row *row, const char *value, uint64_t *field)
{
	bool is_bytes = row->type == OPTION_BYTES;
	uint64_t number = 0;
	const char *wrong = NULL;
	int rc = is_bytes ? nb_parse_bytes(&number, value) : nb_parse_count(&number, value);
	if (rc < 0)
		wrong = nb_error_text();
	else if (number < row->min)
		wrong = "too small";
	else if (number > row->max)
		wrong = "too large";
	if (wrong != NULL) {
		message_usage("--%s: %s%s%s; allowed: %" PRIu64 " to %" PRIu64 "%s", row->name,
			rc < 0 ? "" : value, rc < 0 ? "" : " is ", wrong, row->min, row->max,
			is_bytes ? " bytes" : "");
		return false;
	}
	*field = number;
	return true;
}

static bool
set_time(const struct option_row *row, const char *value, uint64_t *field)
{
	if (nb_parse_time(field, value) == 0)
		return true;
	message_usage("--%s: %s", row->name, nb_error_text());
	return false;
}

static bool
set_real(const struct option_row *row, const char *value, double *field)
{
	double number = 0;
	int rc = nb_parse_real(&number, value);
	if (rc == 0 && number >= (double)row->min && number <= (double)row->max) {
		*field = number;
		return true;
	}
	message_usage("--%s: %s%s; allowed: %" PRIu64 " to %" PRIu64, row->name,
		rc < 0 ? nb_error_text() : value, rc < 0 ? "" : " is out of range", row->min,
		row->max);
	return false;
}

/** The action is an option and a word; said twice it must be the same one. */
static bool
set_action(struct options *options, const char *name)
{
	size_t action = action_find(name);
	if (action == ACTION_COUNT) {
		char all[256] = "";
		for (size_t i = 0; i < ACTION_COUNT; i++)
			append_word(all, sizeof(all), actions[i].name);
		/* "mininb help" is an option of the same name */
		const struct option_row *row = find_name(name, strlen(name));
		const char *near = row != NULL ? row->name : action_nearest(name);
		message_usage("there is no action '%s'%s%s%s%s%s", name,
			near != NULL ? ", did you mean '" : "", row != NULL ? "--" : "",
			near != NULL ? near : "",
			near != NULL ? "'? There are: " : "; there are: ", all);
		return false;
	}
	if (options->action != ACTION_COUNT && options->action != action) {
		message_usage("two actions, '%s' and '%s', are one too many",
			actions[options->action].name, name);
		return false;
	}
	options->action = action;
	return true;
}

static bool
set_text(const struct option_row *row, const char *value, const char **field)
{
	if (value[0] == '\0') {
		message_usage("--%s: %s must not be empty", row->name, row->arg);
		return false;
	}
	*field = value;
	return true;
}

/** `value` is NULL if there is none, which only a flag and --help can be without. */
static bool
set_option(struct options *options, const struct option_row *row, const char *value)
{
	void *field = (char *)options + row->offset;
	switch (row->type) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return true;
	case OPTION_TEXT:
		return set_text(row, value, field);
	case OPTION_COUNT:
	case OPTION_BYTES:
		return set_number(row, value, field);
	case OPTION_TIME:
		return set_time(row, value, field);
	case OPTION_REAL:
		return set_real(row, value, field);
	case OPTION_CHOICE:
		return set_choice(row, value, field);
	case OPTION_ACTION:
		return set_action(options, value);
	case OPTION_LIST:
		options->engine_options[options->engine_option_count++] = value;
		return true;
	case OPTION_HELP:
		if (value == NULL) {
			options->help = HELP_TEXT;
			return true;
		}
		if (!set_choice(row, value, field))
			return false;
		options->help += HELP_MAN; /* the first choice */
		return true;
	}
	return false;
}

/* ---- words ---- */

struct words {
	char **next; /* ended by NULL */
	struct options *options;
};

/** Of `row`, with what was behind its name or letter, or NULL. */
static bool
take_option(struct words *words, const struct option_row *row, const char *value)
{
	if (row->type == OPTION_FLAG && value != NULL) {
		message_usage("--%s: takes no value", row->name);
		return false;
	}
	if (row->arg != NULL && value == NULL) {
		/* A number may be negative, and then say so; two hyphens are an option. */
		if (*words->next == NULL || strncmp(*words->next, "--", 2) == 0) {
			message_usage("--%s: a value is missing (--%s=%s)", row->name,
				row->name, row->arg);
			return false;
		}
		value = *words->next++;
	}
	words->options->given |= UINT64_C(1) << (row - option_table);
	return set_option(words->options, row, value);
}

static bool
take_long(struct words *words, const char *word)
{
	size_t length = strcspn(word, "=");
	const struct option_row *row = find_name(word, length);
	if (row != NULL)
		return take_option(words, row, word[length] == '=' ? word + length + 1 : NULL);
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	const char *near = guess_name(name);
	message_usage("there is no option --%.*s%s%s%s", (int)length, word,
		near != NULL ? ", did you mean --" : "", near != NULL ? near : "",
		near != NULL ? "?" : "");
	return false;
}

static bool
take_short(struct words *words, const char *word)
{
	const struct option_row *row = find_letter(word[0]);
	/* "-threads" is meant as --threads, not as -t with something behind it. */
	bool has_rest = word[1] != '\0';
	const struct option_row *meant = has_rest ? find_name(word, strcspn(word, "=")) : NULL;
	if (row != NULL && meant == NULL && (row->arg != NULL || !has_rest))
		return take_option(words, row, has_rest ? word + 1 : NULL);
	const char *near = meant != NULL ? meant->name : NULL;
	if (!has_rest)
		near = guess_name(word); /* the only one that begins so, if there is one */
	message_usage("there is no option -%s%s%s%s", word,
		near != NULL ? ", did you mean --" : "", near != NULL ? near : "",
		near != NULL ? "?" : "");
	return false;
}

static bool
take_word(struct words *words, const char *word)
{
	if (words->options->action == ACTION_COUNT)
		return set_action(words->options, word);
	const struct action *action = &actions[words->options->action];
	if (action->operand != NULL && words->options->operand == NULL) {
		words->options->operand = word;
		return true;
	}
	if (action_find(word) != ACTION_COUNT)
		return set_action(words->options, word);
	message_usage("'%s' is one word too many; the action is '%s'", word, action->name);
	return false;
}

static bool
take_words(struct words *words)
{
	bool are_options_over = false;
	while (*words->next != NULL) {
		const char *word = *words->next++;
		bool is_taken;
		if (are_options_over || word[0] != '-' || word[1] == '\0') {
			is_taken = take_word(words, word);
		} else if (strcmp(word, "--") == 0) {
			are_options_over = is_taken = true;
		} else if (word[1] == '-') {
			is_taken = take_long(words, word + 2);
		} else {
			is_taken = take_short(words, word + 1);
		}
		if (!is_taken)
			return false;
	}
	return true;
}

static void
set_defaults(struct options *options)
{
	*options = (struct options){.action = ACTION_COUNT};
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		assert(row - option_table < OPTIONS_MAX);
		bool is_good = row->def == NULL || set_option(options, row, row->def);
		assert(is_good);
		(void)is_good;
	}
}

bool
options_parse(struct options *options, int argc, char **argv)
{
	set_defaults(options);
	options->engine_options = calloc((size_t)argc + 1, sizeof(*options->engine_options));
	if (options->engine_options == NULL) {
		message_error("out of memory");
		return false;
	}
	struct words words = {.next = argc > 0 ? argv + 1 : argv, .options = options};
	if (take_words(&words))
		return true;
	options_destroy(options);
	return false;
}

void
options_destroy(struct options *options)
{
	free(options->engine_options);
	options->engine_options = NULL;
}

bool
options_were_given(const struct options *options, const char *name)
{
	const struct option_row *row = find_name(name, strlen(name));
	assert(row != NULL);
	return (options->given >> (row - option_table) & 1) != 0;
}
