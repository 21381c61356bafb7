/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H
/** Options of engines as text: what is needed beside nb_options_parse(). */
#include <mininb/mininb.h>

/** "bytes", "count", "yes|no", the choices: what may be typed. Into buf, which is returned. */
const char *
option_type_text(const struct nb_option *option, char *buf, size_t size);

/** The value as one could type it. Into buf, which is returned. */
const char *
option_value_text(const struct nb_option *option, const struct nb_option_value *value,
	char *buf, size_t size);

/** "none", "flush", "compact": NB_RUN_SETTLE_*; NULL: there is no such level. */
const char *
run_settle_name(uint32_t settle);

#endif /* RUN_OPTIONS_H */
