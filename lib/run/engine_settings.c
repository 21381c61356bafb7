/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings of an engine that influence a run, as text: see nb_engine_settings(). */
#include <mininb/matrix.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

/** Write the full value: a rounded one would make two different settings equal. */
static void
write_option(FILE *text, const struct nb_option *option, const struct nb_option_value *value)
{
	fprintf(text, "engine-option %s=", option->name);
	if (!value->is_set)
		fprintf(text, "(default)\n");
	else if (option->type == NB_OPT_TEXT)
		fprintf(text, "%s\n", value->text);
	else if (option->type == NB_OPT_REAL)
		fprintf(text, "%.17g\n", value->real);
	else
		fprintf(text, "%" PRIu64 "\n", value->u64);
}

static int
write_settings(
	char **out, const struct nb_engine_ref *ref, const struct nb_option_value *values)
{
	const struct nb_engine *engine = nb_engine_table(ref);
	size_t size;
	FILE *text = open_memstream(out, &size);
	if (text == NULL)
		return error_memory();
	fprintf(text, "engine %s\nengine-version %s\nengine-file %s\n", engine->name,
		engine->version(), nb_engine_path(ref));
	for (size_t i = 0; engine->options != NULL && engine->options[i].name != NULL; i++)
		write_option(text, &engine->options[i], &values[i]);
	if (fclose(text) == 0)
		return NB_OK;
	free(*out);
	return error_memory();
}

int
nb_engine_settings(char **out, const char *driver, const char *const *options, size_t count)
{
	struct nb_engine_ref *ref;
	struct nb_option_value *values;
	int rc = nb_engine_load(&ref, driver);
	if (rc != NB_OK)
		return rc;
	rc = nb_engine_configure(&values, ref, options, count);
	if (rc == NB_OK) {
		rc = write_settings(out, ref, values);
		nb_options_delete(values, nb_engine_table(ref));
	}
	nb_engine_unload(ref);
	return rc;
}
