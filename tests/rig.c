/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/engine.h"
#include "scratch.h"
#include "unit.h"

enum { KEY_SIZE = 16, VALUE_SIZE = 100 };

static void
write_keys(const char *path, uint64_t count)
{
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t words[2] = {i, ~i};
		ck_assert_uint_eq(fwrite(words, KEY_SIZE, 1, file), 1);
	}
	ck_assert_int_eq(fclose(file), 0);
}

static void
undo(void *arg)
{
	rig_destroy(arg);
}

void
rig_destroy(struct rig *rig)
{
	unit_forget(undo, rig);
	nb_run_delete(rig->run);
	nftw(rig->dir, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
}

void
rig_create(struct rig *rig, uint32_t verb, uint64_t count)
{
	unit_defer(undo, rig);
	*rig = (struct rig){.dir = "/tmp/mininb-test.XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(rig->dir));
	snprintf(rig->keys, sizeof(rig->keys), "%s/keys", rig->dir);
	snprintf(rig->path, sizeof(rig->path), "%s/nb", rig->dir);
	write_keys(rig->keys, count);
	rig->workload = (struct nb_workload)NB_WORKLOAD_INIT;
	rig->workload.verb = verb;
	rig->workload.keys_path = rig->keys;
	rig->workload.count = count;
	rig->workload.key_size = KEY_SIZE;
	rig->workload.value_size = VALUE_SIZE;
	rig->options = (struct nb_run_options)NB_RUN_OPTIONS_INIT;
	rig->options.workload = &rig->workload;
	rig->options.driver = "memory";
	rig->options.path = rig->path;
	rig->options.clock = NB_CLOCK_MONOTONIC; /* needs no calibration */
	rig->options.verify_rate = 1;
}

uint64_t
rig_number(struct nb_slice key)
{
	uint64_t number;
	ck_assert_uint_eq(key.size, KEY_SIZE);
	memcpy(&number, key.data, sizeof(number));
	return number;
}

const struct nb_engine *
rig_right(void)
{
	return engine_builtin("memory");
}

void
rig_new(struct rig *rig, const struct nb_engine *engine)
{
	nb_run_delete(rig->run);
	rig->run = NULL;
	ck_assert_msg(nb_run_new(&rig->run, &rig->options) == NB_OK, "nb_run_new: %s",
		nb_error_text());
	if (engine != NULL)
		rig->run->engine->table = *engine;
}

int
rig_run(struct rig *rig, const struct nb_engine *engine)
{
	rig_new(rig, engine);
	return nb_run_execute(rig->run);
}

void
rig_assert_told(const char *part)
{
	const char *text = nb_error_text();
	ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in: %s", part, text);
	ck_assert_msg(strchr(text, '\n') == NULL, "more than one line: %s", text);
}

bool
rig_has(const struct rig *rig, const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	return access(path, F_OK) == 0;
}
