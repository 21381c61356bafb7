/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_OPTIONS_UNUSED_H
#define CLI_OPTIONS_UNUSED_H
#include <stdbool.h>

struct options;

/**
 * Refuse an option that was typed, that the action does not look at and that would change
 * what is measured if it did; warn of the others that the action does not look at, because
 * scripts give every action the same options. False if one was refused, which has been said.
 */
bool
options_check_unused(const struct options *options);

#endif /* CLI_OPTIONS_UNUSED_H */
