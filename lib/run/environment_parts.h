/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ENVIRONMENT_PARTS_H
#define RUN_ENVIRONMENT_PARTS_H
/** What environment_read() is made of; each fills in its own fields. */
#include "run/environment.h"

/** The system, the processors and the memory (environment_machine.c). */
void
environment_read_machine(struct environment *environment, const char *root);

/** The file system and the device below it (environment_place.c). */
void
environment_read_place(struct environment *environment, const char *path, const char *root);

/** mininb itself, and what it stands on in its process (environment_program.c). */
void
environment_read_program(struct environment *environment);

#endif /* RUN_ENVIRONMENT_PARTS_H */
