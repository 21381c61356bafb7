/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H
/** Options of engines as text, in addition to nb_options_parse(). */
#include <mininb/mininb.h>

/**
 * The allowed input: "bytes", "count", "yes|no", the choices. Writes into buf and returns it.
 */
const char *
option_type_text(const struct nb_option *option, char *buf, size_t size);

/** The value as a user would type it. Writes into buf and returns it. */
const char *
option_value_text(const struct nb_option *option, const struct nb_option_value *value,
	char *buf, size_t size);

/** "none", "flush", "compact": the name of NB_RUN_SETTLE_*; NULL: no such level. */
const char *
run_settle_name(uint32_t settle);

#endif /* RUN_OPTIONS_H */
