/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library for LD_PRELOAD: it opens WiredTiger once at program start, with an invalid path.
 * The first open in a process calibrates the CPU's clock, which takes 0.7 s of CPU time. The
 * suite checks promises in forked processes, which inherit the calibration.
 */
#include <wiredtiger.h>

static int
on_error(WT_EVENT_HANDLER *handler, WT_SESSION *session, int error, const char *message)
{
	(void)handler;
	(void)session;
	(void)error;
	(void)message;
	return 0;
}

__attribute__((constructor)) static void
open_once(void)
{
	WT_EVENT_HANDLER handler = {.handle_error = on_error};
	WT_CONNECTION *connection;

	(void)!wiredtiger_open("/no/such/directory", &handler, "", &connection);
}
