/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_UINT128_H
#define BASE_UINT128_H
/** The 128-bit integer of gcc and clang; __extension__ avoids a warning of -Wpedantic. */

__extension__ typedef unsigned __int128 uint128;

#endif /* BASE_UINT128_H */
