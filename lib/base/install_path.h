/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_INSTALL_PATH_H
#define BASE_INSTALL_PATH_H
/** Where the program is installed, and so where its files are searched. */
#include <stdbool.h>

/** Whether the program runs from the tree that the library was built in. */
bool
install_path_is_build_tree(void);

/**
 * The directory of the library, or of the program that it is linked into; NULL if it is
 * unknown. Yours to free().
 */
char *
install_path_of_library(void);

#endif /* BASE_INSTALL_PATH_H */
