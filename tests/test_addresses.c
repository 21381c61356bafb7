/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/addresses.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "unit.h"

TEST(every_form_of_an_address_is_read_in_order)
{
	static const char *const all[] = {"127.0.0.1:6379", "db-1.example.org:1", "[::1]:65535",
		"[fe80::1]:80", "unix:/run/x y.sock", "unix:relative"};
	struct addresses list = {0}, copy = {0};
	char text[256] = "";
	for (size_t i = 0; i < UNIT_COUNT(all); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			i > 0 ? "," : "", all[i]);
	ck_assert_int_eq(addresses_parse(&list, text), NB_OK);
	ck_assert_int_eq(addresses_copy(&copy, &list), NB_OK);
	addresses_destroy(&list);
	ck_assert_uint_eq(copy.count, UNIT_COUNT(all));
	for (size_t i = 0; i < UNIT_COUNT(all); i++)
		ck_assert_str_eq(copy.items[i], all[i]);
	addresses_destroy(&copy);
	ck_assert_ptr_null(copy.items);
}

TEST(invalid_address_is_refused_by_name)
{
	static const char *const cases[][2] = {{"", "empty address"}, {"a:1,", "empty address"},
		{"localhost", "'localhost' lacks its port"}, {":1", "no valid host name"},
		{"a b:1", "no valid host name"}, {"a:0", "port from 1 to 65535"},
		{"a:65536", "port from 1"}, {"a:", "port from 1"}, {"a:1x", "port from 1"},
		{"a:000001", "port from 1"}, {"::1:80", "needs brackets"},
		{"[::1]", "lacks its port"}, {"[::1:80", "between its brackets"},
		{"[::x]:80", "between its brackets"}, {"[]:80", "between its brackets"},
		{"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:1", "between its"},
		{"unix:", "lacks the path"}, {"a:1,b:1,a:1", "'a:1' is named twice"}};
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct addresses list = {0};
		ck_assert_int_eq(addresses_parse(&list, cases[i][0]), NB_ERR_USAGE);
		ck_assert_msg(strstr(nb_error_text(), cases[i][1]) != NULL, "%s: %s",
			cases[i][0], nb_error_text());
		addresses_destroy(&list);
	}
}

TEST(socket_path_that_does_not_fit_its_address_is_refused)
{
	char text[5 + ADDRESS_PATH_MAX + 2] = "unix:";
	struct addresses list = {0};
	memset(text + 5, 'p', ADDRESS_PATH_MAX);
	text[5 + ADDRESS_PATH_MAX] = '\0';
	ck_assert_int_eq(addresses_parse(&list, text), NB_OK);
	addresses_destroy(&list);
	strcat(text, "p");
	ck_assert_int_eq(addresses_parse(&list, text), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "at most 107 bytes, this one has 108"));
	addresses_destroy(&list);
}
