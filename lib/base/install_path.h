/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_INSTALL_PATH_H
#define BASE_INSTALL_PATH_H
/** The location of the program, where its files are searched. */
#include <stdbool.h>

/** Whether the program runs from the directory in which the library was built. */
bool
install_path_is_build_tree(void);

/**
 * The directory of the library, or of the program that contains it; NULL if unknown. Yours to
 * free().
 */
char *
install_path_of_library(void);

#endif /* BASE_INSTALL_PATH_H */
