/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H
/** Failures, messages and the request to stop, used by every part of the library. */
#include <stdarg.h>
#include <stdbool.h>

#include <mininb/mininb.h>

/** Store the text as this thread's error and return `code` (negative). */
int
error_set(int code, const char *fmt, ...) NB_PRINTF(2, 3);

/** error_set(NB_FAIL, "out of memory"). */
int
error_memory(void);

int
error_setv(int code, const char *fmt, va_list args) NB_PRINTF(2, 0);

/** Same as error_set(NB_FAIL, ...), with ": " and the text of errno appended. */
int
error_system(const char *fmt, ...) NB_PRINTF(1, 2);

/** Same as error_system(), for a thread "<fmt>" that could not be started. Names the limit. */
int
error_thread(const char *fmt, ...) NB_PRINTF(1, 2);

/** Put "<fmt>: " before this thread's error text; returns `code`. */
int
error_prefix(int code, const char *fmt, ...) NB_PRINTF(2, 3);

/**
 * NB_ERR_USAGE: "<fmt>, did you mean 'NEAREST'? Allowed: a, b", where NEAREST is the word
 * nearest to `word`, if any. A very long list is left out.
 */
int
error_unknown(const char *word, const char *const *words, size_t count, const char *fmt, ...)
	NB_PRINTF(4, 5);

/** Pass a message to the function set by nb_set_log(), if any. */
void
log_message(uint32_t level, const char *fmt, ...) NB_PRINTF(2, 3);

/** Bits of the atomic stop_flag, set by nb_stop() and nb_stop_waiting(). */
enum { STOP_WORK = 1, STOP_WAITING = 2 };
extern int stop_flag;

/** Whether nb_stop() is in force. One relaxed load, cheap enough for each operation. */
static inline bool
stop_requested(void)
{
	return __atomic_load_n(&stop_flag, __ATOMIC_RELAXED) != 0;
}

/** Whether nb_stop_waiting() is in force. */
static inline bool
stop_waiting_requested(void)
{
	return (__atomic_load_n(&stop_flag, __ATOMIC_RELAXED) & STOP_WAITING) != 0;
}

/**
 * The failure of a long call that stops: NB_ERR_INTERRUPTED, or NB_FAIL if the reason is a
 * truncated mapped file.
 */
int
error_interrupted(void);

#endif /* BASE_ERROR_H */
