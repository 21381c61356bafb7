/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loading of an engine: open the shared object and copy its table, or report the exact reason
 * why not.
 *
 * The ABI number must be equal. The size may differ: the host copies the bytes that both know
 * into a zeroed table. So an older plugin has NULL for later verbs. A newer one loses only the
 * parts that this host could not use: later fields, and bits of capabilities and levels. A size
 * that ends before the last mandatory verb, or that no table will ever have, belongs to another
 * structure and is refused.
 *
 * RTLD_LOCAL separates engines that export the same names (forks of one library, DBM clones).
 * RTLD_NOW reports a missing symbol here and not in the first get. A plugin is never unloaded,
 * because its engine may have left threads.
 */
#include "run/engine.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "run/fault.h"

enum { TABLE_SIZE_MAX = 4096, OPTIONS_MAX = 256 };

/* Bits that this host knows. Those of a newer header are removed, like later fields. */
#define KNOWN_CAPS (2 * NB_CAP_COPIES - 1)
#define KNOWN_DURABILITIES (NB_DUR_BIT(NB_DUR_COMMIT + 1) - 1)

#define TABLE_SIZE_MIN (offsetof(struct nb_engine, del) + sizeof(void *))

const struct nb_engine *
null_engine_plugin(void);
const struct nb_engine *
memory_engine_plugin(void);

/* Messages since engine_forget_messages(). An engine's own threads log, too. */
enum { MESSAGES_MAX = 32 };
static pthread_mutex_t messages_lock = PTHREAD_MUTEX_INITIALIZER;
static struct message {
	char text[ENGINE_WARNING_SIZE];
	uint32_t level;
	uint64_t times; /* since the last report to the user */
} messages[MESSAGES_MAX];
static size_t message_count;
static uint64_t messages_left_out; /* since the last report to the user */

/** Whether the text is new. If not, it is only counted. */
static bool
keep_message(uint32_t level, const char *text)
{
	size_t at = 0;
	pthread_mutex_lock(&messages_lock);
	while (at < message_count && strcmp(messages[at].text, text) != 0)
		at++;
	bool is_new = at == message_count && at < MESSAGES_MAX;
	if (is_new) {
		messages[message_count++] = (struct message){.level = level};
		strcpy(messages[at].text, text);
	} else if (at < message_count) {
		messages[at].times++;
	} else {
		messages_left_out++;
	}
	pthread_mutex_unlock(&messages_lock);
	return is_new;
}

void
engine_warnings(struct engine_warnings *out)
{
	out->count = 0;
	pthread_mutex_lock(&messages_lock);
	for (size_t i = 0; i < message_count && out->count < ENGINE_WARNINGS_MAX; i++) {
		if (messages[i].level == NB_LOG_WARNING)
			strcpy(out->texts[out->count++], messages[i].text);
	}
	pthread_mutex_unlock(&messages_lock);
}

/** The text after "ADDRESS: " or "ADDRESS and others: ". NULL: about another server. */
static const char *
after_address(const char *text, const char *address)
{
	static const char others[] = " and others";
	size_t size = strlen(address);
	if (strncmp(text, address, size) != 0)
		return NULL;
	text += size;
	if (strncmp(text, others, strlen(others)) == 0)
		text += strlen(others);
	return strncmp(text, ": ", 2) == 0 ? text + 2 : NULL;
}

int
engine_told_of_servers(struct addresses *out, const struct addresses *servers)
{
	int rc = NB_OK;
	pthread_mutex_lock(&messages_lock);
	for (size_t i = 0; i < message_count; i++) {
		const char *told = NULL;
		for (size_t s = 0; s < servers->count && told == NULL; s++)
			told = after_address(messages[i].text, servers->items[s]);
		bool is_known = told == NULL || messages[i].level != NB_LOG_INFO;
		for (size_t o = 0; o < out->count && !is_known; o++)
			is_known = strcmp(out->items[o], told) == 0;
		if (!is_known && rc == NB_OK)
			rc = addresses_add(out, told);
	}
	pthread_mutex_unlock(&messages_lock);
	return rc;
}

void
engine_forget_messages(void)
{
	pthread_mutex_lock(&messages_lock);
	message_count = 0;
	messages_left_out = 0;
	pthread_mutex_unlock(&messages_lock);
}

void
engine_count_messages(void)
{
	pthread_mutex_lock(&messages_lock);
	for (size_t i = 0; i < message_count; i++) {
		if (messages[i].times > 0)
			log_message(messages[i].level, "repeated %llu times: %s",
				(unsigned long long)messages[i].times, messages[i].text);
		messages[i].times = 0;
	}
	if (messages_left_out > 0)
		log_message(NB_LOG_WARNING,
			"the engine logged more than %d different messages; mininb left %llu out",
			MESSAGES_MAX, (unsigned long long)messages_left_out);
	messages_left_out = 0;
	pthread_mutex_unlock(&messages_lock);
}

static void
host_log(uint32_t level, const char *fmt, ...)
{
	char text[ENGINE_WARNING_SIZE];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (keep_message(level, text))
		log_message(level, "%s", text);
}

const struct nb_host *
nb_engine_host(void)
{
	static const struct nb_host host = {
		.size = sizeof(host), .abi = NB_ENGINE_ABI, .fail = error_set, .log = host_log};
	return &host;
}

const struct nb_engine *
engine_builtin(const char *name)
{
	if (strcmp(name, "null") == 0)
		return null_engine_plugin();
	if (strcmp(name, "memory") == 0)
		return memory_engine_plugin();
	return NULL;
}

/** Fields of the table that must not be NULL. */
struct field {
	const char *name;
	size_t offset;
};

#define FIELD(member) \
	{ \
#member, offsetof(struct nb_engine, member) \
	}

static const struct field mandatory[] = {FIELD(name), FIELD(summary), FIELD(licence),
	FIELD(home), FIELD(build), FIELD(version), FIELD(open), FIELD(close),
	FIELD(session_open), FIELD(session_close), FIELD(get), FIELD(put), FIELD(del)};

/** Verbs that need each other: the first one requires the second. */
static const struct field pairs[][2] = {
	{FIELD(scan_open), FIELD(scan_next)},
	{FIELD(scan_open), FIELD(scan_close)},
	{FIELD(begin), FIELD(commit)},
	{FIELD(begin), FIELD(abort)},
	{FIELD(submit), FIELD(reap)},
};

static bool
is_null(const struct nb_engine *table, const struct field *field)
{
	const void *pointer;
	memcpy(&pointer, (const char *)table + field->offset, sizeof(pointer));
	return pointer == NULL;
}

bool
engine_is_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
	return name[0] >= 'a' && name[0] <= 'z' && length <= ENGINE_NAME_MAX &&
		name[length] == '\0';
}

static int
check_header(const struct nb_engine *table)
{
	if (table->abi != NB_ENGINE_ABI)
		return error_set(NB_FAIL,
			"its table has abi %u, this mininb has abi %u; compile it against this mininb's engine.h",
			table->abi, NB_ENGINE_ABI);
	if (table->size < TABLE_SIZE_MIN)
		return error_set(NB_FAIL,
			"its table is too short: size is %u bytes, the mandatory verbs end at %zu",
			table->size, TABLE_SIZE_MIN);
	if (table->size > TABLE_SIZE_MAX || table->size % sizeof(void *) != 0)
		return error_set(NB_FAIL,
			"its table is too long or torn: size is %u bytes, not a multiple of %zu up to %d",
			table->size, sizeof(void *), TABLE_SIZE_MAX);
	return NB_OK;
}

static int
check_fields(const struct nb_engine *table)
{
	for (size_t i = 0; i < sizeof(mandatory) / sizeof(*mandatory); i++)
		if (is_null(table, &mandatory[i]))
			return error_set(
				NB_FAIL, "'%s' is NULL in its table", mandatory[i].name);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (!is_null(table, &pairs[i][0]) && is_null(table, &pairs[i][1]))
			return error_set(NB_FAIL, "its table has '%s' and '%s' is NULL",
				pairs[i][0].name, pairs[i][1].name);
	if (!engine_is_name(table->name))
		return error_set(NB_FAIL, "'%s' is not a name of an engine: " ENGINE_NAME_RULE,
			table->name, ENGINE_NAME_MAX);
	if (table->durabilities == 0)
		return error_set(NB_FAIL, "durabilities names no level that this mininb knows");
	if (table->auto_durability > NB_DUR_COMMIT ||
		(table->durabilities & NB_DUR_BIT(table->auto_durability)) == 0)
		return error_set(NB_FAIL,
			"auto_durability is %u, which durabilities 0x%x does not offer",
			table->auto_durability, table->durabilities);
	return NB_OK;
}

/** Reject options whose name is empty or contains '=', because nobody could type them. */
static int
check_option_names(const struct nb_engine *table)
{
	const struct nb_option *option = table->options;
	for (; option != NULL && option->name != NULL; option++) {
		if (option - table->options == OPTIONS_MAX)
			return error_set(NB_FAIL,
				"its option table has more than %d rows; the last row must have a NULL name",
				OPTIONS_MAX);
		if (option->name[0] == '\0' || strchr(option->name, '=') != NULL)
			return error_set(NB_FAIL,
				"an option is called '%s', which cannot be typed as name=value",
				option->name);
	}
	return NB_OK;
}

uint32_t
engine_auto_durability(const struct nb_engine *engine, const char *path)
{
	uint32_t level = engine->auto_durability_at == NULL ? engine->auto_durability
							    : engine->auto_durability_at(path);

	/* An invalid level is replaced by the one in the table. */
	return level <= NB_DUR_COMMIT && (engine->durabilities & NB_DUR_BIT(level)) != 0
		? level
		: engine->auto_durability;
}

/** engine_import() without the file name in the text of a refusal. */
static int
import(struct nb_engine *out, const struct nb_engine *table)
{
	int rc = check_header(table);
	if (rc != NB_OK)
		return rc;
	memset(out, 0, sizeof(*out));
	memcpy(out, table, table->size < sizeof(*out) ? table->size : sizeof(*out));
	out->caps &= KNOWN_CAPS;
	out->durabilities &= KNOWN_DURABILITIES;
	rc = check_fields(out);
	if (rc == NB_OK)
		rc = check_option_names(out);
	if (rc == NB_OK && out->version() == NULL)
		rc = error_set(NB_FAIL, "its 'version' returns NULL");
	/* the contract requires defaults that can be parsed */
	struct nb_option_value *defaults;
	if (rc == NB_OK && (rc = nb_options_parse(&defaults, out, NULL, 0)) == NB_OK)
		nb_options_delete(defaults, out);
	return rc;
}

int
engine_import(struct nb_engine *out, const struct nb_engine *table, const char *origin)
{
	return import(out, table) == NB_OK ? NB_OK
					   : error_prefix(NB_FAIL, "%s: refused", origin);
}

/** Report the message of dlopen(), and the remedy. */
static int
refuse_object(const char *path)
{
	const char *cause = dlerror();
	if (cause == NULL)
		cause = "unknown cause";
	if (strstr(cause, "ELF") != NULL || strstr(cause, "file too short") != NULL)
		return error_set(NB_FAIL, "%s: refused: not a shared object (%s)", path, cause);
	if (strstr(cause, "Is a directory") != NULL)
		return error_set(NB_FAIL, "%s: refused: is a directory", path);
	if (strstr(cause, "No such file") != NULL && strstr(cause, path) != NULL)
		return error_set(NB_FAIL, "%s: no such file", path);
	return error_set(NB_FAIL,
		"%s: refused: cannot be loaded (%s); 'ldd -r %s' shows which libraries and symbols are missing",
		path, cause, path);
}

static const char *own_step;
static const char **step = &own_step;

void
engine_set_step(const char **to)
{
	step = to;
}

static int
take_object(struct nb_engine_ref *ref, const char *path, const char *name)
{
	int rc = engine_check_trust(path);
	if (rc != NB_OK)
		return rc;
	*step = "while it was loaded";
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (object == NULL)
		return refuse_object(path);
	const struct nb_engine *(*entry)(void);
	*(void **)&entry = dlsym(object, "nb_engine_plugin");
	const struct nb_engine *table;
	*step = "in its nb_engine_plugin()";
	if (entry == NULL)
		rc = error_set(NB_FAIL,
			"%s: refused: it exports no nb_engine_plugin(); is it a mininb engine?",
			path);
	else if ((table = entry()) == NULL)
		rc = error_set(NB_FAIL, "%s: refused: nb_engine_plugin() returns NULL", path);
	else {
		*step = "while its table was read";
		rc = engine_import(&ref->table, table, path);
	}
	if (rc == NB_OK && name != NULL && strcmp(ref->table.name, name) != 0)
		rc = error_set(NB_FAIL,
			"%s: refused: its name is '%s', its file's is '%s'; the two must be equal",
			path, ref->table.name, name);
	if (rc != NB_OK)
		dlclose(object);
	return rc;
}

/** Load the object. If it crashes, the message names the file. */
static int
load_object(struct nb_engine_ref *ref, const char *path, const char *name)
{
	struct heartbeat heartbeat = {.worker = HEARTBEAT_DATABASE};
	heartbeat_enter(&heartbeat, path);
	fault_set_heartbeat(&heartbeat);
	int rc = take_object(ref, path, name);
	fault_set_heartbeat(NULL);
	return rc;
}

static int
refuse_name(const struct engine_sites *sites, const char *name)
{
	char list[512] = "";
	const char *names[64];
	size_t count = 0;
	for (size_t i = 0; i < sites->count && count < sizeof(names) / sizeof(*names); i++) {
		names[count++] = sites->items[i].name;
		if (strlen(list) + strlen(names[i]) + 3 < sizeof(list)) {
			strcat(list, i > 0 ? ", " : "");
			strcat(list, names[i]);
		}
	}
	const char *nearest = nb_nearest(name, names, count);
	struct engine_missing missing;
	for (const char *at = engines_missing;
		(at = engine_missing_next(at, &missing)) != NULL;)
		if (strcmp(missing.name, name) == 0)
			return error_set(NB_ERR_USAGE, "driver '%s' was not built: %s", name,
				missing.reason);
	size_t length = strlen(name);
	if (length > 3 && strcmp(name + length - 3, ".so") == 0 && access(name, F_OK) == 0)
		return error_set(NB_ERR_USAGE,
			"driver '%s': no such engine; if the file is meant: ./%s", name, name);
	if (nearest != NULL)
		return error_set(NB_ERR_USAGE,
			"driver '%s': no such engine; did you mean '%s'? There are: %s", name,
			nearest, list);
	return error_set(
		NB_ERR_USAGE, "driver '%s': no such engine; there are: %s", name, list);
}

static int
load_by_name(struct nb_engine_ref *ref, const char *name)
{
	struct engine_sites sites;
	int rc = engine_sites_create(&sites);
	if (rc != NB_OK)
		return rc;
	const struct engine_site *site = NULL;
	for (size_t i = 0; i < sites.count && site == NULL; i++)
		if (strcmp(sites.items[i].name, name) == 0)
			site = &sites.items[i];
	if (site == NULL) {
		rc = refuse_name(&sites, name);
	} else if (site->path == NULL) {
		ref->path = strdup("built in");
		rc = engine_import(&ref->table, engine_builtin(name), name);
	} else {
		ref->path = strdup(site->path);
		rc = load_object(ref, site->path, name);
	}
	engine_sites_destroy(&sites);
	return rc;
}

/**
 * Warn once per file if its name and the engine's differ. An engine may be loaded several
 * times.
 */
static void
warn_of_name(const char *path, const char *name)
{
	static char told[512];
	const char *slash = strrchr(path, '/');
	size_t length = strcspn(slash + 1, ".");
	bool is_equal = strlen(name) == length && strncmp(slash + 1, name, length) == 0;
	bool is_builtin = engine_builtin(name) != NULL;
	if ((is_equal && !is_builtin) || strcmp(told, path) == 0)
		return;
	snprintf(told, sizeof(told), "%s", path);
	log_message(NB_LOG_WARNING,
		"%s: the engine in this file is called '%s'%s; its database and its results have that name",
		path, name, is_builtin ? ", like one that is linked in" : "");
}

int
nb_engine_load(struct nb_engine_ref **out, const char *name)
{
	struct nb_engine_ref *ref = calloc(1, sizeof(*ref));
	if (ref == NULL)
		return error_set(NB_FAIL, "driver '%s': out of memory", name);
	int rc;
	process_note_directory();
	if (strchr(name, '/') != NULL) {
		ref->path = strdup(name);
		rc = load_object(ref, name, NULL);
		if (rc == NB_OK)
			warn_of_name(name, ref->table.name);
	} else {
		rc = load_by_name(ref, name);
	}
	process_return_to_directory();
	if (rc == NB_OK && ref->path == NULL)
		rc = error_set(NB_FAIL, "driver '%s': out of memory", name);
	if (rc != NB_OK) {
		nb_engine_unload(ref);
		return rc;
	}
	*out = ref;
	return NB_OK;
}

/** Take over `variant`, which the plugin's own table, ref->table, returned for some options. */
static int
take_variant(struct nb_engine_ref *ref, const struct nb_engine *variant)
{
	struct nb_engine table;
	int rc = engine_import(&table, variant, ref->path);
	if (rc != NB_OK)
		return error_prefix(NB_FAIL, "the variant for these options");
	if (strcmp(table.name, ref->table.name) != 0)
		return error_set(NB_FAIL,
			"%s: refused: the name of its variant for these options is '%s', not '%s'",
			ref->path, table.name, ref->table.name);
	if (table.options != ref->table.options)
		return error_set(NB_FAIL,
			"%s: refused: its variant for these options has other options",
			ref->path);
	ref->table = table;
	return NB_OK;
}

int
nb_engine_configure(struct nb_option_value **out, struct nb_engine_ref *ref,
	const char *const *texts, size_t count)
{
	struct nb_option_value *values;
	int rc = nb_options_parse(&values, &ref->table, texts, count);
	if (rc != NB_OK)
		return rc;
	process_note_directory();
	const struct nb_engine *variant = ref->table.variant == NULL
		? NULL
		: ref->table.variant(values);
	if (variant != NULL)
		rc = take_variant(ref, variant);
	process_return_to_directory();
	if (rc != NB_OK) {
		nb_options_delete(values, &ref->table);
		return rc;
	}
	*out = values;
	return NB_OK;
}

void
nb_engine_unload(struct nb_engine_ref *ref)
{
	if (ref == NULL)
		return;
	free((char *)ref->path);
	free(ref);
}

const struct nb_engine *
nb_engine_table(const struct nb_engine_ref *ref)
{
	return &ref->table;
}

const char *
nb_engine_path(const struct nb_engine_ref *ref)
{
	return ref->path;
}

int
engine_refuse_size(const char *call, size_t size)
{
	return error_set(NB_FAIL,
		"%s lent %zu bytes, which is not a size (the limit is %td); as a signed number it is %zd",
		call, size, PTRDIFF_MAX, (ssize_t)size);
}

static void
list_durabilities(char *buf, size_t size, uint32_t levels)
{
	size_t used = 0;
	buf[0] = '\0';
	for (uint32_t level = NB_DUR_NONE; level <= NB_DUR_COMMIT; level++)
		if ((levels & NB_DUR_BIT(level)) != 0 && used < size)
			used += (size_t)snprintf(buf + used, size - used, "%s%s",
				used > 0 ? ", " : "", nb_durability_name(level));
}

int
engine_check_durability(const struct nb_engine *engine, uint32_t level)
{
	if (level <= NB_DUR_COMMIT && (engine->durabilities & NB_DUR_BIT(level)) != 0)
		return NB_OK;
	const char *name = nb_durability_name(level);
	char levels[64];
	list_durabilities(levels, sizeof(levels), engine->durabilities);
	return error_set(NB_UNSUPPORTED, "durability %s: %s cannot give it; it gives: %s",
		name != NULL ? name : "?", engine->name, levels);
}
