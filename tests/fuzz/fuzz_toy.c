/* SPDX-License-Identifier: BSD-2-Clause */
/* No target of ours: it dies of an 'X' in its second place. By it the replay is tried. */
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	require(size < 2 || data[1] != 'X', "there is no X");
	return 0;
}
