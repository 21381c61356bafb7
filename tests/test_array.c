/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/array.h"

#include <stdlib.h>

#include <mininb/mininb.h>

#include "unit.h"

TEST(elements_are_appended_as_zeros_and_stay)
{
	uint64_t *items = NULL;
	size_t count = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t *item = array_append(&items, &count, sizeof(*items));
		ck_assert_ptr_eq(item, &items[i]);
		ck_assert_uint_eq(*item, 0);
		*item = i + 1;
	}
	ck_assert_uint_eq(count, 1000);
	for (uint64_t i = 0; i < count; i++)
		ck_assert_uint_eq(items[i], i + 1);
	free(items);
}

TEST(list_is_unchanged_if_memory_is_exhausted)
{
	char *items = NULL;
	size_t count = 0;
	ck_assert_ptr_nonnull(array_append(&items, &count, 1));
	/* the product exceeds SIZE_MAX, so the allocator is not called */
	ck_assert_ptr_null(array_append(&items, &count, SIZE_MAX));
	ck_assert_str_eq(nb_error_text(), "out of memory");
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(items[0], 0);
	free(items);
}
