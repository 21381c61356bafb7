/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/spec.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/ini.h"
#include "target/words.h"

enum { COUNT_MAX = 256 };

static int
check_text(const char *text, uint64_t *number)
{
	*number = 0;
	return text[0] != '\0' ? NB_OK : error_set(NB_ERR_USAGE, "must not be empty");
}

static int
check_command(const char *text, uint64_t *number)
{
	struct words words;
	*number = 0;
	int rc = words_split(&words, text);
	words_destroy(&words);
	return rc;
}

/** {durability} may be empty. */
static int
check_part(const char *text, uint64_t *number)
{
	return text[0] == '\0' ? NB_OK : check_command(text, number);
}

static int
check_flag(const char *text, uint64_t *number)
{
	*number = strcmp(text, "yes") == 0;
	return *number == 1 || strcmp(text, "no") == 0
		? NB_OK
		: error_set(NB_ERR_USAGE, "must be yes or no, not '%.60s'", text);
}

static int
check_count(const char *text, uint64_t *number)
{
	int rc = nb_parse_count(number, text);
	if (rc != NB_OK || (*number > 0 && *number <= COUNT_MAX))
		return rc;
	return error_set(NB_ERR_USAGE, "must be 1 to %d", COUNT_MAX);
}

static int
check_bytes(const char *text, uint64_t *number)
{
	return nb_parse_bytes(number, text);
}

static int
check_time(const char *text, uint64_t *number)
{
	return nb_parse_time(number, text);
}

static int
check_cpus(const char *text, uint64_t *number)
{
	cpu_set_t cpus;
	*number = 0;
	return words_cpus(&cpus, text);
}

static int
check_ready(const char *text, uint64_t *number)
{
	*number = 0;
	return strcmp(text, "connect") == 0 ||
			(strncmp(text, "output:", 7) == 0 && text[7] != '\0')
		? NB_OK
		: error_set(NB_ERR_USAGE, "must be connect or output:TEXT, not '%.60s'", text);
}

/** *number is the signal number, or 0 for a command line. */
static int
check_stop(const char *text, uint64_t *number)
{
	for (int signal = 1; signal < SIGRTMIN; signal++) {
		const char *name = sigabbrev_np(signal);
		*number = (uint64_t)signal;
		if (name != NULL && strcmp(name, text) == 0)
			return NB_OK;
	}
	return check_command(text, number);
}

static const struct {
	const char *name, *def;
	int (*check)(const char *text, uint64_t *number);
} keys[TARGET_KEYS] = {
	[TARGET_ADDRESS] = {"address", "", check_text},
	[TARGET_BUS] = {"bus", "no", check_flag},
	[TARGET_CACHE] = {"cache", "64MiB", check_bytes},
	[TARGET_COMMAND] = {"command", "", check_command},
	[TARGET_COUNT] = {"count", "1", check_count},
	[TARGET_CPUS] = {"cpus", "", check_cpus},
	[TARGET_DURABILITY + NB_DUR_NONE] = {"durability.none", "", check_part},
	[TARGET_DURABILITY + NB_DUR_PROCESS] = {"durability.process", "", check_part},
	[TARGET_DURABILITY + NB_DUR_PERIODIC] = {"durability.periodic", "", check_part},
	[TARGET_DURABILITY + NB_DUR_COMMIT] = {"durability.commit", "", check_part},
	[TARGET_FIXED] = {"fixed-durability", "no", check_flag},
	[TARGET_JOIN] = {"join", "", check_command},
	[TARGET_PACKAGE] = {"package", "", check_text},
	[TARGET_PATH] = {"path", "", check_text},
	[TARGET_PREPARE] = {"prepare", "", check_command},
	[TARGET_READY] = {"ready", "connect", check_ready},
	[TARGET_START_TIMEOUT] = {"start-timeout", "60s", check_time},
	[TARGET_STOP] = {"stop", "TERM", check_stop},
	[TARGET_STOP_TIMEOUT] = {"stop-timeout", "60s", check_time},
	[TARGET_USER] = {"user", "", check_text},
};

static int
refuse_key(const char *key)
{
	const char *names[TARGET_KEYS];
	for (size_t i = 0; i < TARGET_KEYS; i++)
		names[i] = keys[i].name;
	return error_unknown(key, names, TARGET_KEYS, "a target has no key '%.60s'", key);
}

/** The index of a key; TARGET_KEYS: unknown. */
static size_t
find(const char *key)
{
	size_t k = 0;
	while (k < TARGET_KEYS && strcmp(keys[k].name, key) != 0)
		k++;
	return k;
}

bool
target_spec_has(const struct target_spec *spec, const char *key)
{
	size_t k = find(key);
	return k < TARGET_KEYS && spec->texts[k] != NULL;
}

int
target_spec_set(struct target_spec *spec, const char *key, const char *text)
{
	size_t k = find(key);
	uint64_t number;
	if (k == TARGET_KEYS)
		return refuse_key(key);
	int rc = keys[k].check(text, &number);
	char *copy = rc == NB_OK ? strdup(text) : NULL;
	if (copy == NULL)
		return rc != NB_OK ? error_prefix(rc, "%s", key) : error_memory();
	free(spec->texts[k]);
	spec->texts[k] = copy;
	return NB_OK;
}

static int
take_line(void *arg, const struct ini_line *line)
{
	if (line->key == NULL)
		return error_set(NB_ERR_USAGE, "sections are not allowed here");
	return target_spec_set(arg, line->key, line->value);
}

int
target_spec_read(struct target_spec *spec, const char *text, const char *origin)
{
	char *copy = strdup(text);
	if (copy == NULL)
		return error_memory();
	int rc = ini_parse(origin, copy, strlen(copy), take_line, spec);
	free(copy);
	return rc;
}

bool
target_spec_is_address(const struct target_spec *spec)
{
	return spec->texts[TARGET_ADDRESS] != NULL && spec->texts[TARGET_COMMAND] == NULL;
}

void
target_spec_destroy(struct target_spec *spec)
{
	for (size_t i = 0; i < TARGET_KEYS; i++)
		free(spec->texts[i]);
	*spec = (struct target_spec){0};
}

const char *
target_spec_text(const struct target_spec *spec, enum target_key key)
{
	return spec->texts[key] != NULL ? spec->texts[key] : keys[key].def;
}

uint64_t
target_spec_number(const struct target_spec *spec, enum target_key key)
{
	uint64_t number = 0;
	int rc = keys[key].check(target_spec_text(spec, key), &number);
	return rc == NB_OK ? number : 0; /* the text was checked by target_spec_set() */
}
