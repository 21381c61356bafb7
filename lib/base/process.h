/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H
/** Child processes that test an engine, and their directories. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mininb/mininb.h>

/**
 * In a child, directly after fork(): reset the signal handlers, which would report a crash in
 * their own way or continue. Handlers of a sanitizer and ignored signals stay.
 */
void
process_take_signals_back(void);

/**
 * Remember the working directory, which a plugin may change, and return to it. Any number of
 * times. It is a property of the process, so only one run at a time may use it. If the
 * directory cannot be opened, the working directory stays as it is.
 */
void
process_note_directory(void);
void
process_return_to_directory(void);

/** How the wait for a child ended. */
enum { PROCESS_ENDED, PROCESS_LATE, PROCESS_STOPPED /* nb_stop() was called */ };

/** Wait for its end, and check for a stop every 20 ms. Does not kill it. */
int
process_await(pid_t pid, int *status, uint64_t timeout_ns);

/** Kill it, and wait until it has ended. */
void
process_kill(pid_t pid, int *status);

enum { PROCESS_SIGNAL_SIZE = 24 };

/** Write to `text` and return "SIGSEGV", or "signal 40" for a signal without a name. */
const char *
process_signal_name(int signal, char text[PROCESS_SIGNAL_SIZE]);

/** Describe an abnormal end: "it hangs: ..."; else "". `how` is PROCESS_ENDED or _LATE. */
void
process_describe_end(char *text, size_t size, int how, int status, uint64_t timeout_ns);

/**
 * Make a new directory <in>/<name>-XXXXXX. *out is its absolute path, because an engine may
 * change the working directory; yours to free().
 */
NB_MUST_CHECK int
process_make_scratch(char **out, const char *in, const char *name);

/**
 * Copy a directory with its files, subdirectories and symbolic links to `to`, which must not
 * exist. Holes of files stay holes; other file types are skipped. A symbolic link that leads
 * out of the directory is a failure.
 */
NB_MUST_CHECK int
process_copy_tree(const char *to, const char *from);

#endif /* BASE_PROCESS_H */
