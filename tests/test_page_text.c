/* SPDX-License-Identifier: BSD-2-Clause */
/* Foreign text stays text in HTML, whatever bytes it contains. */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define BAD "\xEF\xBF\xBD" /* U+FFFD */

static char *
written(const char *text)
{
	char *to = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&to, &size);
	page_text(out, text);
	fclose(out);
	return to;
}

static void
assert_written(const char *text, const char *wanted)
{
	char *is = written(text);
	ck_assert_str_eq(is, wanted);
	free(is);
}

TEST(text_cannot_end_an_element_or_attribute)
{
	assert_written("<script>alert('a' & \"b\")</script>",
		"&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;");
	assert_written("", "");
	assert_written("&lt;", "&amp;lt;");
}

/* The first examples come from the Unicode standard, table 3-8, and from RFC 3629. */
TEST(invalid_bytes_are_replaced)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{"a\xE2\x82\xAC\xF0\x9F\x98\x80z", "a\xE2\x82\xAC\xF0\x9F\x98\x80z"},
		{"a\xFF"
		 "b",
			"a" BAD "b"},
		{"\x80", BAD}, {"\xC3", BAD}, {"\xE2\x82", BAD BAD},
		{"\xE2\x28\xA1", BAD "(" BAD}, {"\xC0\xAF", BAD BAD}, /* '/', overlong */
		{"\xF5\x80\x80\x80", BAD BAD BAD BAD},                /* above U+10FFFF */
		{"\xE2\x80\xAE"
		 "evil",
			BAD "evil"}, /* RIGHT-TO-LEFT OVERRIDE */
		{"a\x01\x1B[31mb", "a" BAD BAD "[31mb"}, {"a\tb\nc", "a\tb\nc"},
		{"\xC2\x85", BAD},     /* a control character, NEXT LINE */
		{"\xEF\xBF\xBE", BAD}, /* U+FFFE is not a character */
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_written(cases[i].text, cases[i].wanted);
}

TEST(surrogate_is_not_a_character)
{
	char *text = written("\xED\xA0\x80");
	ck_assert_ptr_nonnull(strstr(text, BAD));
	ck_assert_ptr_null(strstr(text, "\xED"));
	free(text);
}

int
main(void)
{
	return unit_run();
}
