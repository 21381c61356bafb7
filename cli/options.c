/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the words of the command line.
 *
 * By hand and not by getopt_long(): that one takes any unique beginning of a
 * name for the name, so that a script breaks when an option is added, and it
 * cannot say what is near. Forms: --name=value, --name value, -kVALUE,
 * -k VALUE, "--" before words that begin with '-'. An option that an action
 * does not look at is an error only if it would change what is measured
 * (options_unused.h): scripts hand the same set to every action. The last of several values counts, but two actions are an error. A word behind an
 * action that has operands is one of them, also where it is an action's name.
 *
 * Keys of jobs are options, too, also of one group (--readers.threads=4). They are not read
 * here but kept in the order in which they came; what a value may be is the library's to
 * say. Where a row of the table has the name of a key, the row reads it, and what was typed
 * is kept as well. A name or a letter that two rows have is of the one that the action looks
 * at, if the action came before. Unlike a row's, such an option is an error with an action that has no
 * workload: of --read=95 it could only be a mistake.
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
#include "options_unused.h"

enum {
	OPTIONS_MAX = 128, /* bits of options.given */
	NAMES_MAX = 256,   /* of options and keys of jobs together */
	JOB_NAME_MAX = 128 /* of a group and a key */
};

/** Of two rows with that name or letter, the one that the action looks at; else the first. */
static const struct option_row *
choose_row(const struct option_row *first, const struct option_row *row, size_t action)
{
	bool is_looked_at = action < ACTION_COUNT && (row->actions & ACTION_BIT(action)) != 0;
	bool was_looked_at = first != NULL && action < ACTION_COUNT &&
		(first->actions & ACTION_BIT(action)) != 0;
	return first == NULL || (is_looked_at && !was_looked_at) ? row : first;
}

/** `action` is what the words before have said, or ACTION_COUNT. */
static const struct option_row *
find_name(const char *name, size_t length, size_t action)
{
	const struct option_row *found = NULL;
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (strlen(row->name) == length && memcmp(row->name, name, length) == 0)
			found = choose_row(found, row, action);
	}
	return found;
}

static const struct option_row *
find_letter(char letter, size_t action)
{
	const struct option_row *found = NULL;
	for (const struct option_row *row = option_table; row->name != NULL; row++) {
		if (row->letter == letter)
			found = choose_row(found, row, action);
	}
	return found;
}

bool
options_have_before(
	const struct option_row *row, char letter, const char *name, unsigned action_bits)
{
	for (const struct option_row *before = option_table; before < row; before++) {
		bool is_same = (letter != 0 && before->letter == letter) ||
			(name != NULL && strcmp(before->name, name) == 0);
		if (is_same && (before->actions & action_bits) != 0)
			return true;
	}
	return false;
}

/* ---- keys of jobs ---- */

static const struct nb_job_key *
find_job_key(const char *name, size_t length)
{
	for (const struct nb_job_key *key = nb_job_keys(); key->name != NULL; key++) {
		if (strlen(key->name) == length && memcmp(key->name, name, length) == 0)
			return key;
	}
	return NULL;
}

const struct nb_job_key *
options_next_job_key(const struct nb_job_key *key)
{
	key = key == NULL ? nb_job_keys() : key + 1;
	while (key->name != NULL &&
		find_name(key->name, strlen(key->name), ACTION_COUNT) != NULL)
		key++;
	return key->name != NULL ? key : NULL;
}

/** Length of "readers." before the key; 0 if there is no group. */
static size_t
group_length(const char *name, size_t length)
{
	while (length > 0 && name[length - 1] != '.')
		length--;
	return length;
}

/** Whether the words so far leave it open that keys of jobs are options. */
static bool
may_have_job(const struct options *options)
{
	return options->action == ACTION_COUNT ||
		(ACTION_BIT(options->action) & JOB_ACTIONS) != 0;
}

static bool
add_setting(struct options *options, const char *name, size_t length, const char *value)
{
	size_t size = length + 1 + strlen(value) + 1;
	char *setting = malloc(size);
	if (setting == NULL) {
		message_error("out of memory");
		return false;
	}
	snprintf(setting, size, "%.*s=%s", (int)length, name, value);
	options->job_settings[options->job_setting_count++] = setting;
	return true;
}

/* ---- guesses ---- */

/** Names that may have been meant, into `names`; their number. */
static size_t
list_names(const struct options *options, bool has_group, const char **names)
{
	size_t count = 0;
	for (const struct option_row *row = option_table; !has_group && row->name != NULL;
		row++)
		names[count++] = row->name;
	if (has_group) {
		for (const struct nb_job_key *key = nb_job_keys();
			key->name != NULL && count < NAMES_MAX; key++)
			names[count++] = key->name;
	} else if (may_have_job(options)) {
		for (const struct nb_job_key *key = NULL;
			(key = options_next_job_key(key)) != NULL && count < NAMES_MAX;)
			names[count++] = key->name;
	}
	return count;
}

/** What was meant: the only name that begins so, else the nearest. */
static const char *
guess_name(const struct options *options, bool has_group, const char *name)
{
	const char *names[NAMES_MAX], *begins = NULL;
	size_t begin_count = 0, length = strlen(name);
	size_t count = list_names(options, has_group, names);
	for (size_t i = 0; i < count; i++) {
		if (length > 0 && strncmp(names[i], name, length) == 0) {
			begins = names[i];
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
set_speed(const struct option_row *row, const char *value, double *field)
{
	char text[64];
	size_t length = strlen(value);
	if (length > 0 && value[length - 1] == 'x')
		length--;
	snprintf(text, sizeof(text), "%.*s", (int)length, value);
	if (nb_parse_real(field, text) == 0 && *field > 0)
		return true;
	message_usage("--%s: '%s' is no factor like 1x, 2x or 0.5x", row->name, value);
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
		const struct option_row *row = find_name(name, strlen(name), ACTION_COUNT);
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
	case OPTION_SPEED:
		return set_speed(row, value, field);
	case OPTION_REAL:
		return set_real(row, value, field);
	case OPTION_CHOICE:
		return set_choice(row, value, field);
	case OPTION_ACTION:
		return set_action(options, value);
	case OPTION_LIST:
		options->engine_options[options->engine_option_count++] = value;
		return true;
	case OPTION_SET: {
		size_t length = strcspn(value, "=");
		if (value[length] != '\0')
			return add_setting(options, value, length, value + length + 1);
		message_usage("--set: '%s' is no [GROUP.]KEY=VALUE", value);
		return false;
	}
	case OPTION_HELP:
		if (value == NULL) {
			options->help = HELP_TEXT;
			return true;
		}
		if (!set_choice(row, value, field))
			return false;
		options->help += HELP_SCDOC; /* the first choice */
		return true;
	}
	return false;
}

/* ---- words ---- */

struct words {
	char **next; /* ended by NULL */
	struct options *options;
	const char *job_key; /* the first one that is no row's; NULL: none */
};

/** The value of --name: `value`, or if that is NULL the next word. NULL if there is none. */
static const char *
take_value(struct words *words, const char *name, const char *arg, const char *value)
{
	if (value != NULL)
		return value;
	/* A number may be negative, and then say so; two hyphens are an option. */
	if (*words->next != NULL && strncmp(*words->next, "--", 2) != 0)
		return *words->next++;
	message_usage("--%s: a value is missing (--%s=%s)", name, name, arg);
	return NULL;
}

/** Of `row`, with what was behind its name or letter, or NULL. */
static bool
take_option(struct words *words, const struct option_row *row, const char *value)
{
	if (row->type == OPTION_FLAG && value != NULL) {
		message_usage("--%s: takes no value", row->name);
		return false;
	}
	if (row->arg != NULL && (value = take_value(words, row->name, row->arg, value)) == NULL)
		return false;
	size_t number = (size_t)(row - option_table);
	words->options->given[number / 64] |= UINT64_C(1) << number % 64;
	if (!set_option(words->options, row, value))
		return false;
	return row->job_key == NULL ||
		add_setting(words->options, row->job_key, strlen(row->job_key), value);
}

/** `word` is [GROUP.]KEY, which takes `length` of it, and its value if there is a '='. */
static bool
take_job_key(struct words *words, const struct nb_job_key *key, const char *word, size_t length)
{
	char name[JOB_NAME_MAX];
	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	const char *value = take_value(
		words, name, key->arg, word[length] == '=' ? word + length + 1 : NULL);
	if (value == NULL)
		return false;
	if (words->job_key == NULL)
		words->job_key = word;
	return add_setting(words->options, word, length, value);
}

static bool
refuse_name(const struct words *words, const char *word, size_t length)
{
	size_t group = group_length(word, length);
	char name[JOB_NAME_MAX];
	snprintf(name, sizeof(name), "%.*s", (int)(length - group), word + group);
	const char *near = guess_name(words->options, group > 0, name);
	message_usage("there is no option --%.*s%s%.*s%s%s", (int)length, word,
		near != NULL ? ", did you mean --" : "", near != NULL ? (int)group : 0, word,
		near != NULL ? near : "", near != NULL ? "?" : "");
	return false;
}

static bool
take_long(struct words *words, const char *word)
{
	size_t length = strcspn(word, "=");
	const struct option_row *row = find_name(word, length, words->options->action);
	if (row != NULL)
		return take_option(words, row, word[length] == '=' ? word + length + 1 : NULL);
	size_t group = group_length(word, length);
	const struct nb_job_key *key = find_job_key(word + group, length - group);
	return key != NULL && group != 1 ? take_job_key(words, key, word, length)
					 : refuse_name(words, word, length);
}

/** The name of the option that is meant by "-threads", or NULL. */
static const char *
long_name_of(const struct words *words, const char *word)
{
	size_t length = strcspn(word, "=");
	const struct option_row *row = find_name(word, length, words->options->action);
	const struct nb_job_key *key = may_have_job(words->options) ? find_job_key(word, length)
								    : NULL;
	return row != NULL ? row->name : key != NULL ? key->name : NULL;
}

static bool
take_short(struct words *words, const char *word)
{
	const struct option_row *row = find_letter(word[0], words->options->action);
	/* "-threads" is meant as --threads, not as -t with something behind it. */
	bool has_rest = word[1] != '\0';
	const char *near = has_rest ? long_name_of(words, word) : NULL;
	if (row != NULL && near == NULL && (row->arg != NULL || !has_rest))
		return take_option(words, row, has_rest ? word + 1 : NULL);
	if (!has_rest) /* the only one that begins so, if there is one */
		near = guess_name(words->options, false, word);
	message_usage("there is no option -%s%s%s%s", word,
		near != NULL ? ", did you mean --" : "", near != NULL ? near : "",
		near != NULL ? "?" : "");
	return false;
}

/** How many words may stand behind an action's name. */
static size_t
most_operands(const char *operand)
{
	if (operand == NULL)
		return 0;
	if (strstr(operand, "...") != NULL)
		return SIZE_MAX;
	size_t count = 1;
	for (const char *c = operand; *c != '\0'; c++)
		count += *c == ' ';
	return count;
}

static bool
take_word(struct words *words, const char *word)
{
	if (words->options->action == ACTION_COUNT)
		return set_action(words->options, word);
	struct options *options = words->options;
	const struct action *action = &actions[options->action];
	if (options->operand_count < most_operands(action->operand)) {
		options->operands[options->operand_count++] = word;
		options->operand = options->operands[0];
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

/** The action may come behind the keys. */
static bool
check_job_keys(const struct words *words)
{
	const struct options *options = words->options;
	if (words->job_key == NULL || may_have_job(options) || options->help != HELP_NONE)
		return true;
	char takers[128] = "";
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		if (ACTION_BIT(i) & JOB_ACTIONS)
			append_word(takers, sizeof(takers), actions[i].name);
	}
	message_usage("--%.*s: is a key of workloads, for the actions %s; the action is '%s'",
		(int)strcspn(words->job_key, "="), words->job_key, takers,
		actions[options->action].name);
	return false;
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
	options->job_settings = calloc((size_t)argc + 1, sizeof(*options->job_settings));
	options->operands = calloc((size_t)argc + 1, sizeof(*options->operands));
	if (options->engine_options == NULL || options->job_settings == NULL ||
		options->operands == NULL) {
		message_error("out of memory");
		options_destroy(options);
		return false;
	}
	struct words words = {.next = argc > 0 ? argv + 1 : argv, .options = options};
	options->words = (const char *const *)words.next;
	options->word_count = argc > 0 ? (size_t)argc - 1 : 0;
	if (take_words(&words) && check_job_keys(&words) && options_check_unused(options))
		return true;
	options_destroy(options);
	return false;
}

void
options_destroy(struct options *options)
{
	free(options->engine_options);
	free(options->operands);
	options->engine_options = options->operands = NULL;
	for (size_t i = 0; i < options->job_setting_count; i++)
		free(options->job_settings[i]);
	free(options->job_settings);
	options->job_settings = NULL;
	options->job_setting_count = 0;
}

bool
options_were_given(const struct options *options, const char *name)
{
	const struct option_row *row = find_name(name, strlen(name), options->action);
	assert(row != NULL);
	size_t number = (size_t)(row - option_table);
	return (options->given[number / 64] >> number % 64 & 1) != 0;
}
