/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_C_LOCALE_H
#define BASE_C_LOCALE_H
/**
 * Numbers for other programs have a decimal point, not a comma, in any locale of the calling
 * program. These functions affect only the calling thread:
 *
 *     locale_t before = c_locale_enter();
 *     ...
 *     c_locale_leave(before);
 */
#include <locale.h>

static inline locale_t
c_locale_enter(void)
{
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	return c_locale != (locale_t)0 ? uselocale(c_locale) : (locale_t)0;
}

/**
 * `before` is the result of c_locale_enter(): 0 if it ran out of memory and changed nothing.
 */
static inline void
c_locale_leave(locale_t before)
{
	if (before != (locale_t)0)
		freelocale(uselocale(before));
}

#endif /* BASE_C_LOCALE_H */
