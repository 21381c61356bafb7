/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_STDOUT_H
#define BASE_STDOUT_H
/** Standard output, apart from what engines print. */

/**
 * The name by which to open `path`. It is another one if the path names standard output
 * ("/dev/stdout") and nb_keep_stdout() has moved that.
 */
const char *
stdout_path(const char *path);

#endif /* BASE_STDOUT_H */
