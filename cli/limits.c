/* SPDX-License-Identifier: BSD-2-Clause */
#include "limits.h"

#include <stdio.h>
#include <string.h>

#include <mininb/mininb.h>

bool
limits_parse_latency(struct latency_limit *limit, const char *text)
{
	const char *sign = strchr(text, '<');
	char name[16];
	if (sign == NULL || (size_t)(sign - text) >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(sign - text), text);
	snprintf(limit->text, sizeof(limit->text), "%s", text);
	limit->percent = 100;
	if (strcmp(name, "max") != 0 &&
		(name[0] != 'p' || nb_parse_real(&limit->percent, name + 1) < 0))
		return false;
	return limit->percent > 0 && limit->percent <= 100 &&
		nb_parse_time(&limit->ns, sign + 1) == 0 && limit->ns > 0;
}

bool
limits_parse_share(double *share, const char *text)
{
	char number[32];
	double percent;
	size_t length = strlen(text);
	if (length < 2 || length >= sizeof(number) || text[length - 1] != '%')
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)length - 1, text);
	if (nb_parse_real(&percent, number) < 0 || percent <= 0 || percent > 100)
		return false;
	*share = percent / 100;
	return true;
}
