/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLAIN_H
#define PLAIN_H
/**
 * What engines of tests have in common. One that sets PLAIN_SESSIONS has a database for its
 * session, and need not define their verbs.
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

/** The fields that all fill in alike, for a table called `engine` whose verbs have their names. */
#define PLAIN_ENGINE \
	.abi = NB_ENGINE_ABI, .size = sizeof(struct nb_engine), .licence = "BSD-2-Clause", \
	.home = "part of mininb", .build = NB_ENGINE_BUILD, .version = version, \
	.open = db_open, .close = db_close, .session_open = session_open, \
	.session_close = session_close, .get = get, .put = put, .del = del

#endif /* PLAIN_H */
