/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_PRINTS_H
#define CHECK_PRINTS_H
/** What an engine prints on standard output, which is for results. */
#include <stddef.h>

struct prints {
	int stdout_was; /* descriptor; -1: it is not caught */
};

/** From here on what is printed on standard output is kept, also that of child processes. */
void
prints_begin(struct prints *prints);

/** Until here. Its first bytes as text, quoted; "" if nothing was printed. */
void
prints_end(struct prints *prints, char *text, size_t size);

#endif /* CHECK_PRINTS_H */
