/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_C_LOCALE_H
#define BASE_C_LOCALE_H
/**
 * Numbers that other programs read have a point and not a comma, whatever the locale of the
 * program that the library is part of. For the calling thread alone:
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

/** `before` is what c_locale_enter() returned: 0 if memory did not reach, and all is as it was. */
static inline void
c_locale_leave(locale_t before)
{
	if (before != (locale_t)0)
		freelocale(uselocale(before));
}

#endif /* BASE_C_LOCALE_H */
