/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "report/notebook.h"
#include "unit.h"

/** notebook_end() finds the end right after the text `before`. NULL: it finds none. */
static void
assert_end(const char *text, const char *name, const char *before)
{
	struct notebook notebook = {.text = (char *)(uintptr_t)text, .size = strlen(text)};
	const char *end = notebook_end(&notebook, name);
	if (before == NULL) {
		ck_assert_ptr_null(end);
		return;
	}
	ck_assert_ptr_nonnull(end);
	ck_assert_uint_eq((size_t)(end - text), strlen(before));
	ck_assert_int_eq(strncmp(text, before, strlen(before)), 0);
}

TEST(end_is_behind_the_last_member)
{
	assert_end("{\"data\":{}}", "data", "{\"data\":{");
	assert_end(" {\"data\" : { \n } }", "data", " {\"data\" : {");
	assert_end("{\"data\":{\"a\":1 \n}}", "data", "{\"data\":{\"a\":1");
	assert_end("{\"a\":[1,{\"data\":{}}], \"data\":{\"b\":{}}}", "data",
		"{\"a\":[1,{\"data\":{}}], \"data\":{\"b\":{}");
}

TEST(texts_in_the_notebook_are_not_mistaken_for_structure)
{
	assert_end("{\"a\":\"\\\"data\\\":{\",\"data\":{\"}\":\"\\\\\"}}", "data",
		"{\"a\":\"\\\"data\\\":{\",\"data\":{\"}\":\"\\\\\"");
	assert_end("{\"a\":-1.5e3,\"b\":null,\"data\":{}}", "data",
		"{\"a\":-1.5e3,\"b\":null,\"data\":{");
}

TEST(only_the_whole_name_matches)
{
	assert_end("{\"data2\":{},\"dat\":{}}", "data", NULL);
	assert_end("{}", "data", NULL);
}
