/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H
/** Progress reports of a long call, and its check for a stop. */
#include "base/clock.h"
#include "base/error.h"

struct progress {
	nb_progress_fn fn; /* NULL: no reports */
	void *arg;
	const char *what;
	uint64_t total; /* 0: unknown */
	uint64_t begin_ns;
};

static inline struct progress
progress_begin(nb_progress_fn fn, void *arg, const char *what, uint64_t total)
{
	return (struct progress){fn, arg, what, total, clock_monotonic()};
}

/** Report `done` of the total. error_interrupted() after nb_stop(). */
NB_MUST_CHECK static inline int
progress_report(const struct progress *progress, uint64_t done)
{
	struct nb_progress now = {.size = sizeof(now),
		.what = progress->what,
		.done = done,
		.total = progress->total,
		.elapsed_ns = clock_monotonic() - progress->begin_ns};
	if (progress->fn != NULL)
		progress->fn(progress->arg, &now);
	return stop_requested() ? error_interrupted() : NB_OK;
}

#endif /* BASE_PROGRESS_H */
