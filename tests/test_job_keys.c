/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/job.h"

#include <string.h>

#include "unit.h"

TEST(what_is_told_of_keys_is_complete_and_fits_a_line_of_help)
{
	const struct nb_job_key *keys = nb_job_keys();
	size_t count = 0;
	for (; keys[count].name != NULL; count++) {
		const struct nb_job_key *key = &keys[count];
		ck_assert_ptr_nonnull(key->arg);
		ck_assert_ptr_nonnull(key->help);
		ck_assert_uint_lt(strlen(key->help), 200);
		ck_assert_str_eq(key->name, job_keys[count].said.name);
		ck_assert_uint_le(key->is_global, 1);
	}
	ck_assert_uint_ge(count, 40);
	ck_assert_ptr_null(job_keys[count].said.name);
	ck_assert_ptr_eq(nb_job_keys(), keys);
}

TEST(keys_are_found_by_their_whole_name_and_stand_once)
{
	for (const struct job_key *key = job_keys; key->said.name != NULL; key++)
		ck_assert_ptr_eq(job_keys_find(key->said.name), key);
	ck_assert_ptr_null(job_keys_find("record"));
	ck_assert_ptr_null(job_keys_find(""));
	ck_assert_ptr_null(job_keys_find("Records"));
}
