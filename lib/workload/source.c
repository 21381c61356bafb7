/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/source.h"

const struct source *
source_of(uint32_t source)
{
#define TABLE(id, name, table) [NB_SOURCE_##id] = &table,
	static const struct source *const sources[NB_SOURCES] = {EACH_SOURCE(TABLE)};
#undef TABLE
	return sources[source];
}
