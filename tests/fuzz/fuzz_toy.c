/* SPDX-License-Identifier: BSD-2-Clause */
/* A target for the tests of replay.c: it aborts if the second byte is 'X'. */
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	require(size < 2 || data[1] != 'X', "the input has no X");
	return 0;
}
