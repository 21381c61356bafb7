/* SPDX-License-Identifier: BSD-2-Clause */
#include <mininb/mininb.h>

#include <string.h>

#include "unit.h"

static const char *const names[] = {
	"leveldb", "lmdb", "berkeleydb", "kyotocabinet", "null", "memory", "rocksdb", "sqlite"};
static const char *const actions[] = {
	"put", "get", "delete", "scan", "shuffle", "keys", "load", "run", "compare"};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *
nearest_name(const char *word)
{
	return nb_nearest(word, names, COUNT_OF(names));
}

static const char *
nearest_action(const char *word)
{
	return nb_nearest(word, actions, COUNT_OF(actions));
}

TEST(word_with_a_typing_error_is_found)
{
	ck_assert_pstr_eq(nearest_name("leveldb"), "leveldb");
	ck_assert_pstr_eq(nearest_name("levledb"), "leveldb"); /* swapped letters */
	ck_assert_pstr_eq(nearest_name("leveldbb"), "leveldb");
	ck_assert_pstr_eq(nearest_name("level"), "leveldb");
	ck_assert_pstr_eq(nearest_name("lvldb"), "leveldb");
	ck_assert_pstr_eq(nearest_name("lmbd"), "lmdb"); /* one swap, not two changes */
	ck_assert_pstr_eq(nearest_name("rocskdb"), "rocksdb");
	ck_assert_pstr_eq(nearest_name("kyoto-cabinet"), "kyotocabinet");
	ck_assert_pstr_eq(nearest_action("delte"), "delete");
	ck_assert_pstr_eq(nearest_action("gte"), "get");
	ck_assert_pstr_eq(nearest_action("shufle"), "shuffle");
}

TEST(case_does_not_matter)
{
	ck_assert_pstr_eq(nearest_name("LevelDB"), "leveldb");
	ck_assert_pstr_eq(nearest_name("LMDB"), "lmdb");
}

TEST(no_suggestion_without_a_near_word)
{
	ck_assert_ptr_null(nearest_name(""));
	ck_assert_ptr_null(nearest_name("x"));
	ck_assert_ptr_null(nearest_name("wiredtiger"));
	ck_assert_ptr_null(nearest_name("tdb"));
	ck_assert_ptr_null(nearest_action("xyz"));
	ck_assert_ptr_null(nb_nearest("put", NULL, 0));
}

TEST(first_of_equal_words_is_chosen)
{
	static const char *const words[] = {"bat", "cat", "rat"};
	ck_assert_ptr_eq(nb_nearest("hat", words, 3), words[0]);
	ck_assert_ptr_eq(nb_nearest("cats", words, 3), words[1]);
}

TEST(a_word_of_any_length_is_safe)
{
	char long_word[10000];
	memset(long_word, 'a', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = '\0';
	const char *const words[] = {long_word, "put"};
	ck_assert_ptr_null(nb_nearest(long_word, words, 2));
	ck_assert_pstr_eq(nb_nearest("putt", words, 2), "put");
	long_word[64] = '\0'; /* the longest word that is compared */
	ck_assert_ptr_eq(nb_nearest(long_word, words, 2), long_word);
}
