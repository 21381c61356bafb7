/* SPDX-License-Identifier: BSD-2-Clause */
/* The main() of unit test programs that do not define their own. */
#include "unit.h"

int
main(void)
{
	return unit_run();
}
