/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H
/** Processes that try an engine, and directories that they work in. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mininb/mininb.h>

/** In a child, right after fork(): reset the signal handlers, which would report a crash in
 * their own way or go on. Handlers of a sanitizer and ignored signals stay. */
void
process_take_signals_back(void);

/**
 * Remember the working directory, which a plugin may change, and go back to it. Any number of
 * times; of the process, so by one run at a time. Where it cannot be remembered it stays.
 */
void
process_note_directory(void);
void
process_return_to_directory(void);

/** How the wait for a child ended. */
enum { PROCESS_ENDED, PROCESS_LATE, PROCESS_STOPPED /* nb_stop() was called */ };

/** Wait for its end, looking for a stop each 20 ms. It is not ended by this. */
int
process_await(pid_t pid, int *status, uint64_t timeout_ns);

/** Kill it, and wait until it is gone. */
void
process_kill(pid_t pid, int *status);

enum { PROCESS_SIGNAL_SIZE = 24 };

/** Into `text`, and returned: "SIGSEGV", or "signal 40" for a signal without a name. */
const char *
process_signal_name(int signal, char text[PROCESS_SIGNAL_SIZE]);

/** How it ended, if not well: "it hangs: ..."; else "". `how` is PROCESS_ENDED or _LATE. */
void
process_describe_end(char *text, size_t size, int how, int status, uint64_t timeout_ns);

/**
 * Make a new directory <in>/<name>-XXXXXX. *out is its absolute path, since an engine may change
 * the working directory; yours.
 */
NB_MUST_CHECK int
process_make_scratch(char **out, const char *in, const char *name);

/**
 * Copy a directory with its files, subdirectories and symbolic links to `to`, which must not
 * exist. Holes of files stay holes; other kinds of files are left out.
 */
NB_MUST_CHECK int
process_copy_tree(const char *to, const char *from);

#endif /* BASE_PROCESS_H */
