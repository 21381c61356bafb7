/* SPDX-License-Identifier: BSD-2-Clause */
/* For programs without a main() of their own. */
#include "unit.h"

int
main(void)
{
	return unit_run();
}
