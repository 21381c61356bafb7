/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOKUKV_ENVIRONMENT_H
#define TOKUKV_ENVIRONMENT_H
/**
 * An environment with its only dictionary: options, opening, closing, and checks of the free
 * disk space. tokukv.c reads and writes records.
 */
#include "../common/database.h"

#include <tokudb.h>

extern const struct nb_option environment_options[];

struct nb_db {
	const struct nb_host *host;
	DB_ENV *env;
	DB *base;
	int directory_fd;     /* of `path`, locked */
	int home_fd;          /* of the environment's directory in `path` */
	bool is_unnamed;      /* that directory is still called data.new */
	uint32_t write_flags; /* of a writing transaction */
	uint64_t cache_bytes;
	uint64_t written; /* bytes since the open, updated in steps; atomic */
	char path[PATH_MAX];
};

/** Fail with the library's text, and with the cause from its messages on this thread. */
int
environment_failure(const struct nb_host *host, const char *call, int error);

/** Fail if the disk may lack room for unwritten data. Any session. */
int
environment_check_room(struct nb_db *db);

#endif /* TOKUKV_ENVIRONMENT_H */
