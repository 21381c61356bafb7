/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into the program: an open of WiredTiger that fails. The first open of a process
 * measures the processor's clock, which takes 0.7 s of a processor. The promises are checked in
 * processes that are forked from this one, and so find it measured.
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
