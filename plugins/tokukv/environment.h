/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOKUKV_ENVIRONMENT_H
#define TOKUKV_ENVIRONMENT_H
/**
 * An environment with its one dictionary: what the options make of it, opening,
 * closing, and whether the disk has room for more. tokukv.c reads and writes records.
 */
#include "../common/database.h"

#include <tokudb.h>

extern const struct nb_option environment_options[];

struct nb_db {
	const struct nb_host *host;
	DB_ENV *env;
	DB *base;
	int directory_fd;     /* of `path`, locked */
	int home_fd;          /* of the environment's directory in it */
	bool is_unnamed;      /* that is still data.new */
	uint32_t write_flags; /* of a transaction that writes */
	uint64_t cache_bytes;
	uint64_t written; /* bytes since it was opened, in steps; atomic */
	char path[PATH_MAX];
};

/** Fail with the library's text, and what its messages on this thread say of the cause. */
int
environment_failure(const struct nb_host *host, const char *call, int error);

/** Fail if the disk might not take what is still to be written. Any session. */
int
environment_check_room(struct nb_db *db);

#endif /* TOKUKV_ENVIRONMENT_H */
