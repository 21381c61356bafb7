/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Defects of put, get and del: a lost write, bytes handled as a C string, a truncated length.
 */
#include <stdbool.h>
#include <string.h>

#include "broken.h"

PUT(put_most)
{
	if (__atomic_add_fetch(&broken_calls, 1, __ATOMIC_RELAXED) % 100 == 0)
		return NB_OK;
	return broken_right->put(session, key, value);
}

PUT(put_new_only)
{
	int rc = broken_right->insert(session, key, value);
	return rc == NB_EXISTS ? NB_OK : rc;
}

GET(get_always)
{
	int rc = broken_right->get(session, key, value);
	if (rc != NB_NOT_FOUND)
		return rc;
	*value = (struct nb_slice){0};
	return NB_OK;
}

GET(get_no_size)
{
	int rc = broken_right->get(session, key, value);
	if (rc == NB_OK)
		*value = (struct nb_slice){NULL, (size_t)-1};
	return rc;
}

static void
release_any(struct nb_session *session)
{
	if (broken_right->release != NULL)
		broken_right->release(session);
}

PUT(put_16_bits)
{
	value.size = value.size < UINT16_MAX ? value.size : UINT16_MAX;
	return broken_right->put(session, key, value);
}

PUT(put_no_empty)
{
	if (value.size == 0)
		return broken_right->del(session, key) < 0 ? NB_FAIL : NB_OK;
	return broken_right->put(session, key, value);
}

/* The key up to its first NUL byte. If that is the first byte, the key is the NUL byte. */
static struct nb_slice
c_string(struct nb_slice key)
{
	const char *nul = memchr(key.data, 0, key.size);
	if (nul != NULL)
		key.size = (size_t)(nul - (const char *)key.data);
	key.size += key.size == 0;
	return key;
}

PUT(put_c_string)
{
	return broken_right->put(session, c_string(key), value);
}

GET(get_c_string)
{
	return broken_right->get(session, c_string(key), value);
}

DEL(del_c_string)
{
	return broken_right->del(session, c_string(key));
}

PUT(put_c_value)
{
	value.size = value.size == 0 ? 0 : strnlen(value.data, value.size);
	return broken_right->put(session, key, value);
}

DEL(del_nothing)
{
	return NB_OK;
}

PUT(put_nothing)
{
	return NB_OK;
}

DEL(del_or_fail)
{
	int rc = broken_right->del(session, key);
	return rc == NB_NOT_FOUND ? NB_FAIL : rc;
}

/* A tombstone that also hides later puts. */
static _Thread_local bool was_deleted;

PUT(put_once_deleted)
{
	return was_deleted ? NB_OK : broken_right->put(session, key, value);
}

DEL(del_for_good)
{
	was_deleted = true;
	return broken_right->del(session, key);
}

PUT(put_text)
{
	bool is_binary = value.size == 1 && (*(const unsigned char *)value.data & 0x80) != 0;
	return broken_right->put(session, key, is_binary ? (struct nb_slice){"?", 1} : value);
}

PUT(put_shorter)
{
	value.size -= value.size == broken_right->value_size_max;
	return broken_right->put(session, key, value);
}

/* Compares only the first 1024 bytes of keys. */
static struct nb_slice
first_kilobyte(struct nb_slice key)
{
	key.size = key.size < 1024 ? key.size : 1024;
	return key;
}

PUT(put_short_key)
{
	return broken_right->put(session, first_kilobyte(key), value);
}

GET(get_short_key)
{
	return broken_right->get(session, first_kilobyte(key), value);
}

PUT(put_or_drop)
{
	int rc = broken_right->put(session, key, value);
	return rc == NB_UNSUPPORTED ? NB_OK : rc;
}

/* Loses the last byte of values of 10000 to 60000 bytes. */
PUT(put_middle_cut)
{
	value.size -= value.size >= 10000 && value.size <= 60000;
	return broken_right->put(session, key, value);
}

/* Truncates keys of 100 to 200 bytes to 99 bytes. */
static struct nb_slice
middle_key(struct nb_slice key)
{
	key.size = key.size >= 100 && key.size <= 200 ? 99 : key.size;
	return key;
}

PUT(put_middle_key)
{
	return broken_right->put(session, middle_key(key), value);
}

GET(get_middle_key)
{
	if (key.size >= 100 && key.size <= 200)
		return NB_NOT_FOUND;
	return broken_right->get(session, key, value);
}

DEL(del_long_keys)
{
	return key.size == 1 ? NB_OK : broken_right->del(session, key);
}

/* Stores only the first 2048 puts and reports success for all. */
PUT(put_in_small_room)
{
	if (__atomic_add_fetch(&broken_calls, 1, __ATOMIC_RELAXED) > 2048)
		return NB_OK;
	return broken_right->put(session, key, value);
}

const struct defect broken_records[] = {
	{"put_loses_each_hundredth", "many_records_are_kept",
		{VERB(open, broken_open_counted), VERB(put, put_most)}},
	{"random_use_of_del", "random_puts_gets_deletes_answer_as_the_oracle",
		{VERB(del, del_nothing)}},
	{"put_does_not_overwrite", "overwrite_replaces_the_value", {VERB(put, put_new_only)}},
	{"get_finds_what_is_missing", "missing_key_is_not_found",
		{VERB(get, get_always), VERB(release, release_any)}},
	{"get_lends_no_size", "put_is_found", {VERB(get, get_no_size)}},
	{"get_lends_no_size_to_racers", "racing_writers_leave_a_whole_value",
		{VERB(get, get_no_size)}},
	{"put_cuts_at_65535", "values_of_64_kib_are_kept", {VERB(put, put_16_bits)}},
	{"put_takes_empty_for_none", "empty_value_is_a_value", {VERB(put, put_no_empty)}},
	{"keys_are_c_strings", "keys_are_told_apart_byte_for_byte",
		{VERB(put, put_c_string), VERB(get, get_c_string), VERB(del, del_c_string)}},
	{"values_are_c_strings", "values_are_kept_byte_for_byte", {VERB(put, put_c_value)}},
	{"del_does_nothing", "deleted_key_is_not_found", {VERB(del, del_nothing)}},
	{"del_of_missing_fails", "delete_of_a_missing_key_is_no_failure",
		{VERB(del, del_or_fail)}},
	{"put_is_hidden_by_an_old_delete", "put_after_delete_is_found",
		{VERB(put, put_once_deleted), VERB(del, del_for_good)}},
	{"put_does_nothing", "put_is_found", {VERB(put, put_nothing)}},
	{"values_are_7_bits", "one_byte_values_are_kept", {VERB(put, put_text)}},
	{"longest_value_is_cut", "value_of_the_greatest_size_is_kept",
		{VERB(put, put_shorter)}},
	{"long_keys_are_cut", "key_of_the_greatest_size_is_kept",
		{VERB(put, put_short_key), VERB(get, get_short_key)}},
	{"too_long_keys_are_dropped", "key_that_is_too_long_is_kept_or_refused_with_text",
		{VERB(put, put_or_drop)}},
	{"values_of_10000_are_cut", "values_of_every_size_are_kept",
		{VERB(put, put_middle_cut)}},
	{"keys_of_100_are_cut", "keys_of_every_size_are_kept",
		{VERB(put, put_middle_key), VERB(get, get_middle_key)}},
	{"del_leaves_short_keys", "other_records_outlive_a_delete", {VERB(del, del_long_keys)}},
	{"room_is_for_2048_records", "many_records_are_kept",
		{VERB(open, broken_open_counted), VERB(put, put_in_small_room)}},
	{.name = NULL},
};
