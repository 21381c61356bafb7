/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLAIN_H
#define PLAIN_H
/**
 * Definitions that test engines share. With PLAIN_SESSIONS, the database serves as the session,
 * and the engine need not define session_open and session_close.
 */
#include <mininb/engine.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* of verbs that do little */

#ifndef PLAIN_VERSION
#define PLAIN_VERSION "1.0"
#endif

__attribute__((unused)) static const char *
version(void)
{
	return PLAIN_VERSION;
}

#ifdef PLAIN_SESSIONS
__attribute__((unused)) static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	*out = (void *)db;
	return NB_OK;
}

__attribute__((unused)) static int
session_close(struct nb_session *session)
{
	return NB_OK;
}
#endif

/**
 * The fields that all test engines fill in alike. For a table named `engine` whose verbs have
 * the names of its fields.
 */
#define PLAIN_ENGINE \
	.abi = NB_ENGINE_ABI, .size = sizeof(struct nb_engine), .licence = "BSD-2-Clause", \
	.home = "part of mininb", .build = NB_ENGINE_BUILD, .version = version, \
	.open = db_open, .close = db_close, .session_open = session_open, \
	.session_close = session_close, .get = get, .put = put, .del = del

#endif /* PLAIN_H */
