/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_STDOUT_H
#define BASE_STDOUT_H
/** Standard output, separated from output of engines. */

/**
 * The path to open for `path`. It differs from `path` if that names standard output
 * ("/dev/stdout") and nb_keep_stdout() has moved it.
 */
const char *
stdout_path(const char *path);

#endif /* BASE_STDOUT_H */
