/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of others stay texts, in HTML and in JSON, whatever bytes they are of. */
#include "report/html_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define BAD "\xEF\xBF\xBD" /* U+FFFD */

static char *
written(void (*write)(FILE *out, const char *text), const char *text)
{
	char *to = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&to, &size);
	write(out, text);
	fclose(out);
	return to;
}

static void
assert_written(void (*write)(FILE *out, const char *text), const char *text, const char *wanted)
{
	char *is = written(write, text);
	ck_assert_str_eq(is, wanted);
	free(is);
}

START_TEST(text_ends_no_element_and_no_attribute)
{
	assert_written(html_text, "<script>alert('a' & \"b\")</script>",
		"&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;");
	assert_written(html_text, "", "");
	assert_written(html_text, "&lt;", "&amp;lt;");
}
END_TEST

/* The first are the examples of the Unicode standard, table 3-8, and of RFC 3629. */
START_TEST(bytes_that_are_no_characters_are_replaced)
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
		{"\xEF\xBF\xBE", BAD}, /* U+FFFE is no character */
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_written(html_text, cases[i].text, cases[i].wanted);
}
END_TEST

START_TEST(a_surrogate_is_no_character)
{
	char *text = written(html_text, "\xED\xA0\x80");
	ck_assert_ptr_nonnull(strstr(text, BAD));
	ck_assert_ptr_null(strstr(text, "\xED"));
	free(text);
}
END_TEST

START_TEST(json_ends_no_script)
{
	assert_written(
		html_json_text, "</script><!--&", "\"\\u003C/script\\u003E\\u003C!--\\u0026\"");
	assert_written(html_json_text, "\xE2\x80\xA8\xE2\x80\xA9", "\"\\u2028\\u2029\"");
	assert_written(html_json_text, "a\"b\\c\nd", "\"a\\\"b\\\\c\\u000Ad\"");
	assert_written(html_json_text, "\xC3(", "\"" BAD "(\"");
}
END_TEST

/** Every pair of bytes: what comes out is JSON by another's reader, and plain UTF-8. */
START_TEST(any_bytes_make_json)
{
	for (unsigned first = 1; first < 256; first++) {
		for (unsigned second = 1; second < 256; second++) {
			char text[] = {(char)first, (char)second, '\0'};
			char *json = written(html_json_text, text);
			json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
			ck_assert_msg(
				json_is_string(value), "%02x %02x: %s", first, second, json);
			ck_assert_ptr_null(strpbrk(json, "<>&"));
			json_decref(value);
			free(json);
		}
	}
}
END_TEST

START_TEST(what_is_said_is_escaped_whole)
{
	char *text = NULL;
	size_t size = 0;
	char *name = malloc(5001);
	memset(name, '<', 5000);
	name[5000] = '\0';
	FILE *out = open_memstream(&text, &size);
	html_say(out, "%s %d", name, 7);
	fclose(out);
	ck_assert_uint_eq(size, 5000 * strlen("&lt;") + 2);
	ck_assert_str_eq(text + size - 6, "&lt; 7");
	free(text);
	free(name);
}
END_TEST

START_TEST(numbers_are_json_or_null)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {{0, "0"}, {0.5, "0.5"}, {-2, "-2"}, {12345.6, "12346"},
		{99999999, "99999999"}, {123456789, "1.235e8"}, {0.00012345, "0.0001234"},
		{1234.5, "1234"}, {2.5e15, "2.5e15"}, {1e-7, "1e-07"}, {NAN, "null"},
		{INFINITY, "null"}, {-INFINITY, "null"}};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);
		html_json_number(out, cases[i].value, 4);
		fclose(out);
		ck_assert_str_eq(text, cases[i].text);
		json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
		ck_assert_ptr_nonnull(value);
		json_decref(value);
		free(text);
	}
}
END_TEST

int
main(void)
{
	return UNIT_RUN("html_text", text_ends_no_element_and_no_attribute,
		bytes_that_are_no_characters_are_replaced, a_surrogate_is_no_character,
		json_ends_no_script, any_bytes_make_json, what_is_said_is_escaped_whole,
		numbers_are_json_or_null);
}
