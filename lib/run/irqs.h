/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_IRQS_H
#define RUN_IRQS_H
/** nb_irqs_move() on a tree of files that may be made up. */
#include <sched.h>

#include <mininb/run.h>

/** As nb_irqs_move(), with the files of the system below `root`, "" for the real ones. */
NB_MUST_CHECK int
irqs_move(
	struct nb_irqs **out, const char *root, const char *interfaces, const cpu_set_t *busy);

/** The CPUs of nb_irqs_move()'s workers. */
NB_MUST_CHECK int
irqs_busy(cpu_set_t *busy, uint32_t threads, const char *cpus);

#endif /* RUN_IRQS_H */
