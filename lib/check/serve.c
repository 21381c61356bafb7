/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private servers shared by all promises that do not need their own: one start instead of
 * one for each promise. Each database of a promise is emptied when it is first opened.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/process.h"
#include "base/tree.h"
#include "check/suite.h"
#include "run/engine.h"

struct nb_check_servers {
	struct target_spec spec;
	struct placeholder *placeholders;
	struct target *target;
	char *scratch, *restarts, *list;
};

void
nb_check_serve_end(struct nb_check_servers *servers)
{
	if (servers == NULL)
		return;
	target_delete(servers->target);
	engine_forget_placeholders(servers->placeholders);
	target_spec_destroy(&servers->spec);
	if (servers->scratch != NULL)
		tree_drop(servers->scratch);
	free(servers->scratch);
	free(servers->restarts);
	free(servers->list);
	free(servers);
}

static int
start(struct nb_check_servers *servers, const struct nb_check_args *args)
{
	const struct nb_engine *engine = args->engine;
	int rc = process_make_scratch(&servers->scratch, args->scratch, "mininb-check");
	if (rc == NB_OK && asprintf(&servers->restarts, "%s/restarts", servers->scratch) < 0) {
		servers->restarts = NULL;
		rc = error_memory();
	}
	if (rc == NB_OK &&
		(chmod(servers->scratch, SUITE_PASSABLE) != 0 ||
			mkdir(servers->restarts, 0700) != 0 ||
			chmod(servers->restarts, SUITE_PASSABLE) != 0))
		rc = error_system("%s", servers->scratch);
	if (rc != NB_OK)
		return rc;
	rc = engine_placeholders(&servers->placeholders, engine, args->options);
	const struct target_place place = {.name = engine->name,
		.directory = servers->scratch,
		.logs = servers->scratch,
		.sessions = SUITE_SESSIONS,
		.durability = engine->auto_durability_at != NULL
			? engine->auto_durability_at(args->scratch)
			: engine->auto_durability,
		.placeholders = servers->placeholders};
	if (rc == NB_OK)
		rc = target_new(&servers->target, &servers->spec, &place);
	return rc == NB_OK ? target_start(servers->target) : rc;
}

static int
list_addresses(struct nb_check_servers *servers)
{
	const struct addresses *addresses = target_addresses(servers->target);
	size_t size;
	FILE *to = open_memstream(&servers->list, &size);
	if (to == NULL)
		return error_memory();
	for (size_t i = 0; i < addresses->count; i++)
		fprintf(to, "%s%s", i > 0 ? "," : "", addresses->items[i]);
	return fclose(to) == 0 ? NB_OK : error_memory();
}

int
nb_check_serve(struct nb_check_servers **out, struct nb_check_args *args)
{
	struct nb_check_servers *servers = calloc(1, sizeof(*servers));
	struct addresses named = {0};
	*out = NULL;
	if (servers == NULL)
		return error_memory();
	int rc = engine_servers(&named, &servers->spec, args->engine, args->servers, NULL);
	addresses_destroy(&named);
	bool is_private = rc == NB_OK && servers->spec.texts[TARGET_COMMAND] != NULL;
	if (is_private)
		rc = start(servers, args);
	if (is_private && rc == NB_OK)
		rc = list_addresses(servers);
	if (!is_private || rc != NB_OK) {
		nb_check_serve_end(servers);
		return rc;
	}
	args->servers = servers->list;
	args->are_private = 1;
	args->restarts = servers->restarts;
	*out = servers;
	return NB_OK;
}
