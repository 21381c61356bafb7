/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the command line.
 *
 * It does not use getopt_long(), which accepts any unique beginning of a name, so a new option
 * can break a script; and it cannot suggest the nearest name. Forms: --name=value, --name
 * value, -kVALUE, -k VALUE, and "--" before words that begin with '-'. The last of several
 * values counts, but two actions are an error. A word after an action with operands is an
 * operand, even if it is the name of an action.
 *
 * Keys of workloads are options too, also for one group (--readers.threads=4). mininb keeps
 * them in the order of the command line; the library checks their values. If a row has the name
 * of a key, the row parses it, and the setting is kept as well. If two rows have the same name
 * or letter, the row that the action uses counts, if the action came before. A key is an error
 * with an action that has no workload: --read=95 could only be a mistake.
 *
 * Defaults are texts in the rows, parsed by the same code.
 */
#include "options.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "kept.h"
#include "message.h"

enum {
	NAMES_MAX = 256,   /* of options and keys of workloads together */
	JOB_NAME_MAX = 128 /* a group and a key */
};

/**
 * Find a row by its name or, if `name` is NULL, by its letter. If two rows match, return the row
 * that the action uses; if it uses neither, the first row.
 */
static const struct option_row *
find_row(const char *name, size_t length, char letter, const struct cmd *action)
{
	const struct option_row *found = NULL;
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		bool is_it = name == NULL
			? row->letter == letter
			: strlen(row->name) == length && memcmp(row->name, name, length) == 0;
		bool is_better = action != NULL && option_is_of(row, action) && found != NULL &&
			!option_is_of(found, action);
		if (is_it && (found == NULL || is_better))
			found = row;
	}
	return found;
}

const struct option_row *
option_find(const char *name, size_t length, const struct cmd *action)
{
	return find_row(name, length, 0, action);
}

const struct cmd *
cmd_find(const char *name)
{
	const struct cmd *const *cmd = cmds;
	while (*cmd != NULL && strcmp((*cmd)->name, name) != 0)
		cmd++;
	return *cmd;
}

/* ---- keys of workloads ---- */

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
	while (key->name != NULL && option_find(key->name, strlen(key->name), NULL) != NULL)
		key++;
	return key->name != NULL ? key : NULL;
}

/** Length of "readers." before the key; 0 without a group. */
static size_t
group_length(const char *name, size_t length)
{
	while (length > 0 && name[length - 1] != '.')
		length--;
	return length;
}

/** Whether keys of workloads may still be options, as far as the words were parsed. */
static bool
may_have_job(const struct options *options)
{
	return options->action == NULL || options->action->has_workload;
}

static int
add_setting(struct options *options, const char *name, size_t length, const char *value)
{
	options->job_settings[options->job_setting_count++] = kept_text(
		"%.*s=%s", (int)length, name, value);
	return STATUS_DONE;
}

/* ---- suggestions ---- */

/** Collects the candidates for a suggestion; returns their number. */
static size_t
list_names(const struct options *options, bool has_group, const char **names)
{
	size_t count = 0;
	for (const struct option_row *row = option_table(); !has_group && row->name != NULL;
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

/** The only name that begins with `name`, else the nearest; NULL: none is near. */
static const char *
guess(const char *name, const char *const *names, size_t count)
{
	const char *begins = NULL;
	size_t begin_count = 0, length = strlen(name);
	for (size_t i = 0; i < count; i++) {
		if (length > 0 && strncmp(names[i], name, length) == 0) {
			begins = names[i];
			begin_count++;
		}
	}
	return begin_count == 1 ? begins : nb_nearest(name, names, count);
}

static const char *
guess_name(const struct options *options, bool has_group, const char *name)
{
	const char *names[NAMES_MAX];
	return guess(name, names, list_names(options, has_group, names));
}

/* ---- values ---- */

/** Splits "a|b|c" in place; returns the number of words. */
static size_t
split_choices(char *text, const char **words, size_t room)
{
	size_t count = 0;
	char *rest = text;
	for (char *word; count < room && (word = strsep(&rest, "|")) != NULL;)
		words[count++] = word;
	return count;
}

void
options_add_word(char *list, size_t size, const char *before, const char *word)
{
	size_t length = strlen(list);
	snprintf(list + length, size - length, "%s%s%s", length == 0 ? "" : ", ", before, word);
}

static int
set_choice(const struct option_row *row, const char *value, uint64_t *field)
{
	char text[128], allowed[128] = "";
	const char *words[16];
	snprintf(text, sizeof(text), "%s", row->choices);
	size_t count = split_choices(text, words, 16);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(words[i], value) == 0) {
			*field = i;
			return STATUS_DONE;
		}
		options_add_word(allowed, sizeof(allowed), "", words[i]);
	}
	const char *near = nb_nearest(value, words, count);
	return message_usage("--%s: '%s' is not known%s%s%s", row->name, value,
		message_guess(near), near != NULL ? " Allowed: " : "; allowed: ", allowed);
}

static int
set_number(const struct option_row *row, const char *value, uint64_t *field)
{
	bool is_bytes = row->type == OPTION_BYTES;
	uint64_t number = 0;
	const char *wrong = NULL;
	bool is_threads = strcmp(row->name, "threads") == 0;
	int rc = is_bytes    ? nb_parse_bytes(&number, value)
		: is_threads ? nb_parse_threads(&number, value)
			     : nb_parse_count(&number, value);
	if (rc < 0)
		wrong = nb_error_text();
	else if (number < row->min)
		wrong = "too small";
	else if (number > row->max)
		wrong = "too large";
	if (wrong != NULL)
		return message_usage("--%s: %s%s%s; allowed: %" PRIu64 " to %" PRIu64 "%s",
			row->name, rc < 0 ? "" : value, rc < 0 ? "" : " is ", wrong, row->min,
			row->max, is_bytes ? " bytes" : "");
	*field = number;
	return STATUS_DONE;
}

static int
set_speed(const struct option_row *row, const char *value, double *field)
{
	char text[64];
	size_t length = strlen(value);
	if (length > 0 && value[length - 1] == 'x')
		length--;
	snprintf(text, sizeof(text), "%.*s", (int)length, value);
	if (nb_parse_real(field, text) == 0 && *field > 0)
		return STATUS_DONE;
	return message_usage(
		"--%s: '%s' is not a factor like 1x, 2x or 0.5x", row->name, value);
}

static int
set_real(const struct option_row *row, const char *value, double *field)
{
	double number = 0;
	int rc = nb_parse_real(&number, value);
	if (rc == 0 && number >= (double)row->min && number <= (double)row->max) {
		*field = number;
		return STATUS_DONE;
	}
	return message_usage("--%s: %s%s; allowed: %" PRIu64 " to %" PRIu64, row->name,
		rc < 0 ? nb_error_text() : value, rc < 0 ? "" : " is out of range", row->min,
		row->max);
}

static int
refuse_action(const char *name)
{
	const char *names[NAMES_MAX];
	char all[256] = "";
	size_t count = 0;
	for (; cmds[count] != NULL && count < NAMES_MAX; count++) {
		names[count] = cmds[count]->name;
		options_add_word(all, sizeof(all), "", names[count]);
	}
	/* "mininb help" is an option of the same name */
	const struct option_row *row = option_find(name, strlen(name), NULL);
	const char *near = row != NULL ? row->name : guess(name, names, count);
	return message_usage("unknown action '%s'%s%s%s%s%s", name,
		near != NULL ? ", did you mean '" : "", row != NULL ? "--" : "",
		near != NULL ? near : "", near != NULL ? "'? Actions: " : "; actions: ", all);
}

/** The action is an option or a word; if it is given twice, both must be the same. */
static int
set_action(struct options *options, const char *name)
{
	const struct cmd *action = cmd_find(name);
	if (action == NULL)
		return refuse_action(name);
	if (options->action != NULL && options->action != action)
		return message_usage("only one action is allowed, got '%s' and '%s'",
			options->action->name, name);
	options->action = action;
	return STATUS_DONE;
}

/** `value` is NULL if it is missing: only for a flag and --help. */
static int
set_option(struct options *options, const struct option_row *row, const char *value)
{
	void *field = option_field(options, row);
	switch (row->type) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return STATUS_DONE;
	case OPTION_TEXT:
		if (value[0] == '\0')
			return message_usage("--%s: %s must not be empty", row->name, row->arg);
		*(const char **)field = value;
		return STATUS_DONE;
	case OPTION_COUNT:
	case OPTION_BYTES:
		return set_number(row, value, field);
	case OPTION_TIME:
		if (nb_parse_time(field, value) != 0)
			return message_usage("--%s: %s", row->name, nb_error_text());
		return STATUS_DONE;
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
		return STATUS_DONE;
	case OPTION_SET: {
		size_t length = strcspn(value, "=");
		if (value[length] != '\0')
			return add_setting(options, value, length, value + length + 1);
		return message_usage("--set: '%s' is not [GROUP.]KEY=VALUE", value);
	}
	case OPTION_HELP: {
		uint64_t choice = 0;
		int status = value != NULL ? set_choice(row, value, &choice) : STATUS_DONE;
		options->help = value != NULL ? HELP_SCDOC + choice : HELP_TEXT;
		return status;
	}
	}
	return STATUS_FAILED;
}

/* ---- words ---- */

struct words {
	char **next; /* ends with NULL */
	struct options *options;
	const char *job_key; /* the first key without a row; NULL: none */
};

/** The value of --name: `value` or, if that is NULL, the next word; NULL: none. */
static const char *
take_value(struct words *words, const char *name, const char *arg, const char *value)
{
	if (value != NULL)
		return value;
	/*
	 * The next word may be a negative number, which is rejected later; "--" begins an
	 * option.
	 */
	if (*words->next != NULL && strncmp(*words->next, "--", 2) != 0)
		return *words->next++;
	message_usage("--%s: a value is missing (--%s=%s)", name, name, arg);
	return NULL;
}

/** `value` is the text after its name or letter, or NULL. */
static int
take_option(struct words *words, const struct option_row *row, const char *value)
{
	if (row->type == OPTION_FLAG && value != NULL)
		return message_usage("--%s: takes no value", row->name);
	if (row->arg != NULL && (value = take_value(words, row->name, row->arg, value)) == NULL)
		return STATUS_USAGE;
	words->options->given[row - option_table()] = true;
	int status = set_option(words->options, row, value);
	if (status == STATUS_DONE && row->job_key != NULL)
		add_setting(words->options, row->job_key, strlen(row->job_key), value);
	return status;
}

/** `word` is [GROUP.]KEY of that length, or [GROUP.]KEY=VALUE. */
static int
take_job_key(struct words *words, const struct nb_job_key *key, const char *word, size_t length)
{
	char name[JOB_NAME_MAX];
	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	const char *value = take_value(
		words, name, key->arg, word[length] == '=' ? word + length + 1 : NULL);
	if (value == NULL)
		return STATUS_USAGE;
	if (words->job_key == NULL)
		words->job_key = word;
	return add_setting(words->options, word, length, value);
}

static int
take_long(struct words *words, const char *word)
{
	size_t length = strcspn(word, "="), group = group_length(word, length);
	const struct option_row *row = option_find(word, length, words->options->action);
	if (row != NULL)
		return take_option(words, row, word[length] == '=' ? word + length + 1 : NULL);
	const struct nb_job_key *key = find_job_key(word + group, length - group);
	if (key != NULL && group != 1)
		return take_job_key(words, key, word, length);
	char name[JOB_NAME_MAX];
	snprintf(name, sizeof(name), "%.*s", (int)(length - group), word + group);
	const char *near = guess_name(words->options, group > 0, name);
	return message_usage("unknown option --%.*s%s%.*s%s%s", (int)length, word,
		near != NULL ? ", did you mean --" : "", near != NULL ? (int)group : 0, word,
		near != NULL ? near : "", near != NULL ? "?" : "");
}

/** The option that the user meant by "-threads", or NULL. */
static const char *
long_name_of(const struct words *words, const char *word)
{
	size_t length = strcspn(word, "=");
	const struct option_row *row = option_find(word, length, words->options->action);
	const struct nb_job_key *key = may_have_job(words->options) ? find_job_key(word, length)
								    : NULL;
	return row != NULL ? row->name : key != NULL ? key->name : NULL;
}

static int
take_short(struct words *words, const char *word)
{
	const struct option_row *row = find_row(NULL, 0, word[0], words->options->action);
	/* "-threads" means --threads, not -t with a value. */
	bool has_rest = word[1] != '\0';
	const char *near = has_rest ? long_name_of(words, word) : NULL;
	if (row != NULL && near == NULL && (row->arg != NULL || !has_rest))
		return take_option(words, row, has_rest ? word + 1 : NULL);
	if (!has_rest) /* the only name with this beginning, if any */
		near = guess_name(words->options, false, word);
	return message_usage("unknown option -%s%s%s%s", word,
		near != NULL ? ", did you mean --" : "", near != NULL ? near : "",
		near != NULL ? "?" : "");
}

/** The highest number of words after an action's name. */
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

static int
take_word(struct words *words, const char *word)
{
	struct options *options = words->options;
	const struct cmd *action = options->action;
	if (action != NULL && options->operand_count < most_operands(action->operand)) {
		options->operands[options->operand_count++] = word;
		options->operand = options->operands[0];
		return STATUS_DONE;
	}
	if (action == NULL || cmd_find(word) != NULL)
		return set_action(options, word);
	return message_usage(
		"unexpected argument '%s'; the action is '%s'", word, action->name);
}

static int
take_words(struct words *words)
{
	bool are_options_over = false;
	int status = STATUS_DONE;
	struct options *options = words->options;
	char **first = words->next;
	while (*words->next != NULL && status == STATUS_DONE) {
		bool had_action = options->action != NULL;
		options->action_from = had_action ? options->action_from
						  : (size_t)(words->next - first);
		const char *word = *words->next++;
		if (are_options_over || word[0] != '-' || word[1] == '\0')
			status = take_word(words, word);
		else if (strcmp(word, "--") == 0)
			are_options_over = true;
		else if (word[1] == '-')
			status = take_long(words, word + 2);
		else
			status = take_short(words, word + 1);
		if (!had_action)
			options->action_to = (size_t)(words->next - first);
	}
	return status;
}

/* ---- options that the action does not use ---- */

/** Called at the end, because the action may come after the keys. */
static int
check_job_keys(const struct words *words)
{
	const struct options *options = words->options;
	if (words->job_key == NULL || may_have_job(options) || options->help != HELP_NONE)
		return STATUS_DONE;
	char takers[TAKERS_SIZE];
	return message_usage(
		"--%.*s: keys of workloads are for the actions %s; the action is '%s'",
		(int)strcspn(words->job_key, "="), words->job_key, option_takers(takers, NULL),
		options->action->name);
}

/** Whether the action uses an option of that name: several rows may have it. */
static bool
uses(const struct cmd *cmd, const char *name)
{
	return option_is_of(option_find(name, strlen(name), cmd), cmd);
}

/**
 * Rejects a given option that the action does not use, if it would affect the measurement.
 * Warns about the other options, because scripts pass the same options to every action.
 */
static int
check_unused(const struct options *options)
{
	char ignored[512] = "", takers[512] = "";
	/* rerun passes them on to the action that it repeats, which checks them. */
	if (options->action == NULL || options->action == &cmd_rerun ||
		options->help != HELP_NONE)
		return STATUS_DONE;
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		if (!options->given[row - option_table()] || uses(options->action, row->name))
			continue;
		if (!option_is_rejected(row, options->action)) {
			options_add_word(ignored, sizeof(ignored), "--", row->name);
			continue;
		}
		for (size_t i = 0; cmds[i] != NULL; i++) {
			if (uses(cmds[i], row->name))
				options_add_word(takers, sizeof(takers), "", cmds[i]->name);
		}
		return message_usage("--%s: the action '%s' does not use it; it is for: %s",
			row->name, options->action->name, takers);
	}
	if (ignored[0] != '\0')
		message_warning("the action '%s' ignores %s", options->action->name, ignored);
	return STATUS_DONE;
}

/** Clears the value of an earlier command line. */
static void
clear_field(const struct option_row *row)
{
	memset(row->into, 0,
		row->type == OPTION_FLAG           ? sizeof(bool)
			: row->type == OPTION_TEXT ? sizeof(char *)
						   : sizeof(uint64_t));
}

static void
set_defaults(struct options *options)
{
	*options = (struct options){.action = NULL};
	for (const struct option_row *row = option_table(); row->name != NULL; row++) {
		assert(row - option_table() < OPTIONS_MAX);
		if (row->into != NULL)
			clear_field(row);
		int status = row->def == NULL ? STATUS_DONE
					      : set_option(options, row, row->def);
		assert(status == STATUS_DONE);
		(void)status;
	}
}

int
options_parse(struct options *options, int argc, char **argv)
{
	set_defaults(options);
	options->engine_options = kept_array((size_t)argc, sizeof(*options->engine_options));
	options->job_settings = kept_array((size_t)argc, sizeof(*options->job_settings));
	options->operands = kept_array((size_t)argc, sizeof(*options->operands));
	struct words words = {.next = argc > 0 ? argv + 1 : argv, .options = options};
	options->words = (const char *const *)words.next;
	options->word_count = argc > 0 ? (size_t)argc - 1 : 0;
	int status = take_words(&words);
	if (status == STATUS_DONE)
		status = check_job_keys(&words);
	return status == STATUS_DONE ? check_unused(options) : status;
}

bool
options_were_given(const struct options *options, const char *name)
{
	const struct option_row *row = option_find(name, strlen(name), options->action);
	assert(row != NULL);
	return options->given[row - option_table()];
}
