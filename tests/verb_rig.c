/* SPDX-License-Identifier: BSD-2-Clause */
#include "verb_rig.h"

#include <string.h>

#include "unit.h"

struct rig rig;

void
unit_teardown(void)
{
	ck_assert_int_eq(toy.open, 0);
	ck_assert_int_eq(toy.sessions, 0);
}

struct nb_engine
rig_begin(uint32_t verb, uint32_t threads)
{
	unit_teardown();
	rig_create(&rig, verb, COUNT);
	rig.options.threads = threads;
	toy.is_logging = false;
	toy_reset();
	return toy_engine();
}

const struct measurement *
rig_measured(void)
{
	return &rig.run->measured;
}

void
rig_note_progress(void *arg, const struct nb_progress *progress)
{
	struct rig_told *told = arg;
	if (strstr(told->whats, progress->what) == NULL) {
		strcat(told->whats, progress->what);
		strcat(told->whats, "|");
		told->last = 0;
	}
	told->wrong += progress->size != sizeof(*progress);
	told->wrong += progress->total != 0 && progress->done > progress->total;
	told->wrong += progress->done < told->last;
	told->wrong += !pthread_equal(told->thread, pthread_self());
	told->last = progress->done;
}
