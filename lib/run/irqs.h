/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_IRQS_H
#define RUN_IRQS_H
/** nb_irqs_move() with a replaceable tree of system files. */
#include <sched.h>

#include <mininb/run.h>

/** Like nb_irqs_move(), with the system's files below `root`; "" for the real ones. */
NB_MUST_CHECK int
irqs_move(
	struct nb_irqs **out, const char *root, const char *interfaces, const cpu_set_t *busy);

/** The CPUs of the workers of nb_irqs_move(). */
NB_MUST_CHECK int
irqs_busy(cpu_set_t *busy, uint32_t threads, const char *cpus);

#endif /* RUN_IRQS_H */
