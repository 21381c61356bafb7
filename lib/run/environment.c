/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/environment.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run/environment_parts.h"
#include "run/fact.h"

/** RFC 3339, in the time of the place. */
static void
read_time(struct environment *environment)
{
	char text[24], zone[8];
	struct tm tm;
	time_t now = time(NULL);
	if (localtime_r(&now, &tm) == NULL || strftime(zone, sizeof(zone), "%z", &tm) != 5 ||
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return;
	snprintf(environment->begun, sizeof(environment->begun), "%s%.3s:%.2s", text, zone,
		zone + 3);
}

void
environment_read(struct environment *environment, const char *path, const char *root)
{
	*environment = (struct environment){0};
	read_time(environment);
	environment_read_machine(environment, root);
	environment_read_place(environment, path, root);
	environment_read_program(environment);
}

void
environment_create(struct environment *environment, const char *path)
{
	environment_read(environment, path, "");
}
