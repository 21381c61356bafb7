/* SPDX-License-Identifier: BSD-2-Clause */
#include "crash_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/engine.h"
#include "unit.h"

struct crash_rig_told told;

static struct nb_engine_ref *ref;
static struct nb_option_value *values;

void
crash_rig_forget(void)
{
	memset(&told, 0, sizeof(told));
}

static void
take(void *to, const struct nb_crash_finding *finding)
{
	(void)to;
	if (told.count++ > 0)
		return;
	told.wrong = finding->wrong;
	told.is_broken = finding->is_broken;
	snprintf(told.text, sizeof(told.text), "%s", finding->text);
	snprintf(told.when, sizeof(told.when), "%s", finding->when);
	snprintf(
		told.kept, sizeof(told.kept), "%s", finding->kept != NULL ? finding->kept : "");
}

void
crash_rig_load(const char *plugin, const char *name, const char *value)
{
	char driver[512], option[64];
	const char *options[] = {option};
	snprintf(driver, sizeof(driver), "%s/%s.so", getenv("MININB_TEST_PLUGINS"), plugin);
	snprintf(option, sizeof(option), "%s=%s", name, value);
	ck_assert_int_eq(nb_engine_load(&ref, driver), 0);
	ck_assert_int_eq(nb_engine_configure(&values, ref, options, 1), 0);
}

void
crash_rig_unload(void)
{
	nb_options_delete(values, nb_engine_table(ref));
	nb_engine_unload(ref);
}

const struct nb_engine *
crash_rig_engine(void)
{
	return nb_engine_table(ref);
}

const struct nb_option_value *
crash_rig_values(void)
{
	return values;
}

struct nb_crash_args
crash_rig_args(uint32_t durability)
{
	struct nb_crash_args args = NB_CRASH_ARGS_INIT;
	args.engine = crash_rig_engine();
	args.options = values;
	args.driver = args.engine->name;
	args.durability = durability;
	args.scratch = ".";
	args.report = take;
	return args;
}
