/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_UINT128_H
#define BASE_UINT128_H
/** gcc's and clang's 128-bit integer, which -Wpedantic would else warn of. */

__extension__ typedef unsigned __int128 uint128;

#endif /* BASE_UINT128_H */
