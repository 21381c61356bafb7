/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The servers of a client engine. The user's list takes precedence. Then follow the [target]
 * sections of the job, first the one for this engine, then the one for any engine. The engine's
 * own text comes last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/engine.h"
#include "run/options.h"
#include "workload/job.h"

/** Read the sections of a job that apply to the engine. */
static int
read_sections(
	struct target_spec *spec, const struct nb_engine *engine, const struct nb_job *job)
{
	const char *const names[] = {"", engine->name};
	int rc = NB_OK;
	for (size_t i = 0; job != NULL && i < 2 && rc == NB_OK; i++) {
		const struct nb_target *target = job_target_find(job, names[i]);
		if (target != NULL)
			rc = target_spec_read(spec, target->text, "target");
	}
	return rc;
}

static int
parse(struct addresses *out, const char *what, const char *list)
{
	int rc = addresses_parse(out, list);
	return rc == NB_OK ? rc : error_prefix(rc, "%s", what);
}

static int
refuse_server(const struct nb_engine *engine, const char *list, const struct target_spec *asked)
{
	for (size_t i = 0; i < TARGET_KEYS && list == NULL; i++)
		if (asked->texts[i] != NULL)
			list = "";
	return list == NULL
		? NB_OK
		: error_set(NB_ERR_USAGE,
			  "servers: %s runs within mininb and connects to no server; omit %s",
			  engine->name, list[0] != '\0' ? "--servers" : "[target]");
}

int
engine_servers(struct addresses *out, struct target_spec *spec, const struct nb_engine *engine,
	const char *list, const struct nb_job *job)
{
	bool is_remote = (engine->caps & NB_CAP_REMOTE) != 0;
	struct target_spec asked = {0};
	int rc = read_sections(&asked, engine, job);
	if (rc == NB_OK && !is_remote)
		rc = refuse_server(engine, list, &asked);
	else if (rc == NB_OK && list != NULL)
		rc = parse(out, "servers", list);
	else if (rc == NB_OK && target_spec_is_address(&asked))
		rc = parse(out, "target: address", asked.texts[TARGET_ADDRESS]);
	else if (rc == NB_OK && asked.texts[TARGET_COMMAND] == NULL && engine->server == NULL)
		rc = error_set(NB_ERR_USAGE,
			"servers: %s needs a server; name it, or several, with --servers=HOST:PORT,...",
			engine->name);
	else if (rc == NB_OK) {
		if (engine->server != NULL)
			rc = target_spec_read(spec, engine->server, "server");
		if (rc == NB_OK)
			rc = read_sections(spec, engine, job);
	}
	target_spec_destroy(&asked);
	return rc;
}

void
engine_forget_placeholders(struct placeholder *placeholders)
{
	for (struct placeholder *it = placeholders; it != NULL && it->name != NULL; it++) {
		free((char *)it->name);
		free((char *)it->text);
	}
	free(placeholders);
}

int
engine_placeholders(struct placeholder **out, const struct nb_engine *engine,
	const struct nb_option_value *values)
{
	const struct nb_option *option = engine->options;
	size_t count = 0;
	while (option != NULL && option[count].name != NULL)
		count++;
	struct placeholder *all = *out = calloc(count + 1, sizeof(*all));
	for (size_t i = 0; all != NULL && i < count; i++) {
		char value[4096] = "", *name;
		if (values[i].is_set != 0)
			option_value_text(&option[i], &values[i], value, sizeof(value));
		if (asprintf(&name, "option:%s", option[i].name) < 0)
			return error_memory();
		all[i] = (struct placeholder){name, strdup(value)};
		if (all[i].text == NULL)
			return error_memory();
	}
	return all != NULL ? NB_OK : error_memory();
}
