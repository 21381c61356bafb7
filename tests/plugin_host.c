/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugin_host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Thread_local char host_failure[1024];
char host_logged[1024];
int host_logs;

static int NB_PRINTF(2, 3) keep_failure(int code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(host_failure, sizeof(host_failure), fmt, args);
	va_end(args);
	return code;
}

static void NB_PRINTF(2, 3) keep_log(uint32_t level, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(host_logged, sizeof(host_logged), fmt, args);
	va_end(args);
	if (level != NB_LOG_WARNING)
		abort(); /* the tested engines log nothing else */
	host_logs++;
}

const struct nb_host plugin_host = {.size = sizeof(plugin_host),
	.abi = NB_ENGINE_ABI,
	.fail = keep_failure,
	.log = keep_log};
