/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host interface that the suite gives to an engine. For each thread it keeps the last
 * text given to fail(), so that a check can test whether a failure had a text. It also
 * records calls that engine.h does not allow: fail() with an answer that is not a failure,
 * or with an empty text. Such a misuse breaks the promise being checked, because it would
 * garble the error message of a real run.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "check/suite.h"

static _Thread_local char told[SUITE_TEXT_SIZE];

static pthread_mutex_t misuse_lock = PTHREAD_MUTEX_INITIALIZER;
static char misuse[SUITE_TEXT_SIZE];

static const struct nb_host *log_to;

static void
note_misuse(const char *what, int code)
{
	pthread_mutex_lock(&misuse_lock);
	if (misuse[0] == '\0')
		snprintf(misuse, sizeof(misuse), what, code);
	pthread_mutex_unlock(&misuse_lock);
}

static int
fail(int code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(told, sizeof(told), fmt, args);
	va_end(args);
	if (code >= 0)
		note_misuse("host->fail() was called with %d, which is not a failure", code);
	if (told[0] == '\0')
		note_misuse("host->fail() was called with %d and an empty text", code);
	return code;
}

static void
log_text(uint32_t level, const char *fmt, ...)
{
	char buf[SUITE_TEXT_SIZE];
	va_list args;
	va_start(args, fmt);
	vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	if (level != NB_LOG_INFO && level != NB_LOG_WARNING)
		note_misuse("host->log() was called with the unknown level %d", (int)level);
	/*
	 * Leave out information: the suite opens a hundred times, and an engine may log at
	 * each open.
	 */
	if (level != NB_LOG_INFO && log_to != NULL && log_to->log != NULL)
		log_to->log(level, "%s", buf);
}

const struct nb_host suite_host = {
	.size = sizeof(suite_host),
	.abi = NB_ENGINE_ABI,
	.fail = fail,
	.log = log_text,
};

void
host_forget(void)
{
	told[0] = '\0';
}

const char *
host_text(void)
{
	return told;
}

void
host_reset(const struct nb_host *to)
{
	host_forget();
	misuse[0] = '\0';
	log_to = to;
}

const char *
host_misuse(void)
{
	return misuse[0] == '\0' ? NULL : misuse;
}
