/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The servers of a run. Private servers start before open, and stop after the writes were read
 * back. So one start serves all phases. Their output goes to
 * <path>/logs/server/<time>/<engine>.log. The link `latest` points to the last <time>. The
 * report of the client goes to logs/client in the same way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "run/run.h"

int
run_find_servers(struct nb_run *run)
{
	return engine_servers(&run->servers, &run->target_spec, &run->engine->table,
		run->options.servers, run->job);
}

const struct addresses *
run_addresses(const struct nb_run *run)
{
	return run->target != NULL ? target_addresses(run->target) : &run->servers;
}

int
run_check_target(struct nb_run *run)
{
	struct tm now;
	time_t seconds = time(NULL);
	if (run->target_spec.texts[TARGET_COMMAND] == NULL)
		return NB_OK;
	int rc = engine_placeholders(&run->placeholders, &run->engine->table, run->values);
	if (rc != NB_OK)
		return rc;
	strftime(run->stamp, sizeof(run->stamp), "%Y%m%d-%H%M%S", localtime_r(&seconds, &now));
	if (asprintf(&run->logs, "%s/logs/server/%s", run->options.path, run->stamp) < 0) {
		run->logs = NULL;
		return error_memory();
	}
	const struct target_place place = {.name = run->engine->table.name,
		.directory = run->path,
		.logs = run->logs,
		.cache_bytes = run->options.cache_bytes,
		.sessions = run->options.threads * run->options.procs,
		.durability = run->durability,
		.placeholders = run->placeholders};
	return target_new(&run->target, &run->target_spec, &place);
}

/** Create the link `latest` next to the directory, pointing to it. */
static int
link_latest(const char *directory)
{
	char *link, *temporary = NULL;
	const char *name = strrchr(directory, '/') + 1;
	int rc = error_memory();
	if (asprintf(&link, "%.*slatest", (int)(name - directory), directory) < 0)
		return rc;
	if (asprintf(&temporary, "%s.%ld", link, (long)getpid()) >= 0)
		rc = symlink(name, temporary) == 0 && rename(temporary, link) == 0
			? NB_OK
			: error_system("%s", link);
	free(temporary);
	free(link);
	return rc;
}

/** Create a directory and the link to it. */
static int
make_logs(const char *directory)
{
	int rc = nb_tree_make(directory);
	return rc == NB_OK ? link_latest(directory) : rc;
}

/** Create the directory for the client's report, with the same time in its name. */
static int
make_client_log(struct nb_run *run)
{
	char *directory;
	if (asprintf(&directory, "%s/logs/client/%s", run->options.path, run->stamp) < 0)
		return error_memory();
	int rc = make_logs(directory);
	if (rc == NB_OK &&
		asprintf(&run->client_log, "%s/%s.log", directory, run->engine->table.name) <
			0) {
		run->client_log = NULL;
		rc = error_memory();
	}
	free(directory);
	return rc;
}

const char *
nb_run_client_log(const struct nb_run *run)
{
	return run->client_log;
}

int
run_start_target(struct nb_run *run)
{
	if (run->target == NULL)
		return NB_OK;
	run_begin_phase(run, "start server");
	run_tell(run, 0, 0);
	int rc = make_logs(run->logs);
	if (rc == NB_OK)
		rc = make_client_log(run);
	return rc == NB_OK ? target_start(run->target) : rc;
}

/**
 * Add the end of a server, which explains the engine's failure. It may be noticed a little
 * later.
 */
static int
explain(struct nb_run *run, int rc)
{
	enum { LOOKS = 50, PAUSE_US = 2000 };
	char text[WORKER_TEXT];
	snprintf(text, sizeof(text), "%s", nb_error_text());
	for (int i = 0; i < LOOKS; i++) {
		if (target_look(run->target) != NB_OK)
			return error_prefix(NB_FAIL, "%s", text);
		usleep(PAUSE_US);
	}
	return error_set(rc, "%s", text);
}

int
run_stop_target(struct nb_run *run, int rc)
{
	char text[WORKER_TEXT];
	if (run->target == NULL)
		return rc;
	if (rc == NB_OK)
		rc = target_look(run->target);
	else if (rc != NB_ERR_INTERRUPTED)
		rc = explain(run, rc);
	snprintf(text, sizeof(text), "%s", nb_error_text());
	run_begin_phase(run, "stop server");
	run_tell(run, 0, 0);
	if (target_stop(run->target) != NB_OK)
		log_message(NB_LOG_WARNING, "%s", nb_error_text());
	return rc == NB_OK ? NB_OK : error_set(rc, "%s", text);
}
