/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BROKEN_H
#define BROKEN_H
/** Engines with one known defect each, to show that the suite finds it. */
#include <stddef.h>

#include <mininb/engine.h>

size_t
broken_count(void);

/** What the engine does wrong, in a word: "del_does_nothing". */
const char *
broken_name(size_t defect);

/** The promise that it must be seen to break. */
const char *
broken_promise(size_t defect);

/**
 * `memory`, mostly fitted with what it lacks (fitted.h), with the defect. One at
 * a time: there is one table.
 */
const struct nb_engine *
broken_engine(const struct nb_engine *memory, size_t defect);

#endif /* BROKEN_H */
