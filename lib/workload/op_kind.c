/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/op_kind.h"

#include <stddef.h>

const struct op_kind op_kind_table[NB_OP_KINDS] = {
#define ROW(id, name, flags, counted, member, ...) \
	[NB_OP_##id] = {name, flags, counted, offsetof(struct nb_trace_counts, member)},
	OP_KINDS(ROW)
#undef ROW
};

const char *
nb_op_name(uint32_t kind)
{
	return kind < NB_OP_KINDS ? op_kind_table[kind].name : NULL;
}

void
op_count_traced(struct nb_trace_counts *counts, uint32_t kind)
{
	counts->ops++;
	if (op_is_traced(kind))
		++*(uint64_t *)(void *)((char *)counts + op_kind_table[kind].traced_offset);
}
