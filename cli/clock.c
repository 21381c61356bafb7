/* SPDX-License-Identifier: BSD-2-Clause */
#include "clock.h"

#include <inttypes.h>
#include <stdio.h>

void
clock_format_ns(char *text, size_t size, uint64_t ns, int digits)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns, limit = 9.5; /* printed with one digit below it */
	size_t unit = 0;
	for (; value >= 999.5 && unit < 3; unit++)
		value /= 1000;
	int decimals = unit == 0 ? 0 : digits - 1;
	for (int i = 0; i < decimals; i++)
		limit = 10 - (10 - limit) / 10;
	for (; decimals > 0 && value >= limit; decimals--)
		limit *= 10;
	snprintf(text, size, "%.*f%s", decimals, value, units[unit]);
}

void
clock_format_s(char *text, size_t size, uint64_t s)
{
	if (s < 3600)
		snprintf(text, size, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
	else
		snprintf(text, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600,
			s / 60 % 60, s % 60);
}
