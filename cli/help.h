/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_HELP_H
#define CLI_HELP_H
/** What is printed from the tables of actions and options. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct option_row;

/** HELP_TEXT or any other of them, to stdout. */
void
help_print(uint64_t help);

/** The short one, for who gave no action. */
void
help_print_usage(FILE *out);

/** Whether a row before it has its name, which is then another option of other actions. */
bool
help_shares_name(const struct option_row *row);

/** The same of its letter, if it has one. */
bool
help_shares_letter(const struct option_row *row);

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
