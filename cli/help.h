/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_HELP_H
#define CLI_HELP_H
/** What is printed from the tables of actions and options. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** HELP_TEXT, of one action unless it is ACTION_COUNT, or any other of them; to stdout. */
void
help_print(uint64_t help, size_t action);

/** The short one, for who gave no action. */
void
help_print_usage(FILE *out);

/** A text, wrapped, each line indented so far. */
void
help_print_text(FILE *out, const char *text, int indent);

/** A page of extra/man as scdoc takes it, "mininb.1.scd", with its tables. */
void
help_print_page(FILE *out, const char *name);

/** A script that bash sources. */
void
help_print_bash(FILE *out);

/** The function _mininb of zsh, as a file for its fpath. */
void
help_print_zsh(FILE *out);

#endif /* CLI_HELP_H */
