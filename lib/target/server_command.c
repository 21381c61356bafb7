/* SPDX-License-Identifier: BSD-2-Clause */
/* The command lines of a server: its placeholders, and where its program is. */
#include "target/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

const char *
target_level(uint32_t durability)
{
	static const char *const names[] = {"none", "process", "periodic", "commit"};
	return names[durability];
}

/** Replace {durability} or {addresses}, which stand for several words of the command line. */
static int
insert_words(char **out, const struct server_common *common, const char *line)
{
	uint32_t level = common->place->durability;
	const char *mark = "{durability}", *at = strstr(line, mark);
	const char *text = common->spec->texts[TARGET_DURABILITY + level];
	if (at == NULL) {
		mark = "{addresses}";
		at = strstr(line, mark);
		text = common->addresses;
	}
	if (at == NULL)
		return (*out = strdup(line)) != NULL ? NB_OK : error_memory();
	if (text == NULL)
		return error_set(NB_UNSUPPORTED,
			"no key durability.%s says how to start a %s server at that level",
			target_level(level), common->place->name);
	if (asprintf(out, "%.*s%s%s", (int)(at - line), line, text, at + strlen(mark)) < 0)
		return error_memory();
	return NB_OK;
}

/** The path of the running program, for a server that is mininb itself. */
static const char *
own_program(void)
{
	static char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	return path;
}

/** An array of all placeholders; yours to free(). */
static struct placeholder *
list_placeholders(const struct server *server)
{
	const struct server_common *common = server->common;
	const struct placeholder own[] = {{"dir", server->directory},
		{"socket", server->socket}, {"socket_dir", server->socket_dir},
		{"port", server->port}, {"cache", common->cache},
		{"cache_mib", common->cache_mib}, {"sessions", common->sessions},
		{"connections", common->connections}, {"user", common->user_name},
		{"number", server->number}, {"mininb", own_program()},
		{"address", server->address}, {"addresses", common->addresses}};
	const struct placeholder *more = common->place->placeholders;
	size_t count = sizeof(own) / sizeof(*own), more_count = 0;
	while (more != NULL && more[more_count].name != NULL)
		more_count++;
	struct placeholder *all = calloc(count + more_count + 1, sizeof(*all));
	if (all == NULL)
		return NULL;
	memcpy(all, own, sizeof(own));
	if (more_count > 0)
		memcpy(all + count, more, more_count * sizeof(*more));
	return all;
}

int
server_expand(
	struct words *words, char **text, const struct server *server, enum target_key key)
{
	const struct server_common *common = server->common;
	char *line = NULL;
	struct placeholder *placeholders = list_placeholders(server);
	int rc = placeholders != NULL
		? insert_words(&line, common, target_spec_text(common->spec, key))
		: error_memory();
	if (rc == NB_OK && text != NULL)
		rc = words_expand(text, line, placeholders);
	else if (rc == NB_OK)
		rc = words_command(words, line, placeholders);
	free(line);
	free(placeholders);
	return rc;
}

int
server_find_command(
	struct words *words, char **program, const struct server *server, enum target_key key)
{
	const struct target_spec *spec = server->common->spec;
	const char *package = target_spec_text(spec, TARGET_PACKAGE);
	*program = NULL;
	*words = (struct words){0};
	int rc = server_expand(words, NULL, server, key);
	if (rc == NB_OK)
		*program = words_find_program(
			words->items[0], target_spec_text(spec, TARGET_PATH));
	if (rc == NB_OK && *program == NULL)
		rc = error_set(NB_FAIL, "%s: the program is not in $PATH%s%s%s",
			words->items[0],
			package[0] != '\0' ? "; install it: apt-get install " : "; install it",
			package, ", or name a running server with --servers");
	if (rc != NB_OK)
		words_destroy(words);
	return rc;
}

int
server_check(const struct server *server)
{
	static const enum target_key commands[] = {TARGET_PREPARE, TARGET_COMMAND, TARGET_JOIN};
	struct server known = *server;
	struct server_common common = *server->common;
	known.common = &common;
	known.address = common.addresses = (char *)""; /* unknown before the start */
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		struct words words;
		char *program;
		if (common.spec->texts[commands[i]] == NULL)
			continue;
		int rc = server_find_command(&words, &program, &known, commands[i]);
		if (rc != NB_OK)
			return rc;
		words_destroy(&words);
		free(program);
	}
	return NB_OK;
}
