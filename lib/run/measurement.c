/* SPDX-License-Identifier: BSD-2-Clause */
/** Copies of a measurement share its owned members. The last copy frees them. */
#include "run/measurement.h"

#include <stdlib.h>

struct measurement
measurement_share(const struct measurement *of)
{
	++*of->owners;
	return *of;
}

void
measurement_destroy(struct measurement *measured)
{
	if (measured->owners == NULL || --*measured->owners == 0) {
		counters_destroy(&measured->counters);
		nb_histogram_delete(measured->service);
		nb_histogram_delete(measured->hiccups);
		nb_histogram_delete(measured->batch);
		nb_histogram_delete(measured->checkpoints);
		free(measured->threads);
		series_destroy(&measured->series);
		free(measured->owners);
	}
	*measured = (struct measurement){0};
}
