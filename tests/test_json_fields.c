/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Structures described by tables: each type of member is read back unchanged and never beyond
 * its size.
 */
#include <stdlib.h>
#include <string.h>

#include "report/json_fields.h"
#include "unit.h"

struct part {
	size_t size;
	uint64_t number;
};

struct whole {
	uint64_t wide;
	uint32_t word;
	size_t size;
	bool flag;
	uint32_t flag_word;
	double real;
	uint64_t hash;
	char chars[8];
	char *text, *filled;
	const char *borrowed;
	uint32_t name;
	uint32_t bits;
	uint64_t counts[3];
	uint32_t small_counts[3];
	struct part part;
	struct part *parts;
	uint32_t part_count;
	struct part within[2];
	uint64_t within_count;
	char lines[2][4];
	size_t line_count;
	uint32_t *numbers;
	size_t number_count;
	char **texts;
	size_t text_count;
};

static const struct json_names names = {(const char *const[]){"one", "two", "three"}, 3, false};

static const struct json_field part_fields[] = {
	FIELD_NUMBER(part, "number", number, KEEP, ""),
	{.name = NULL},
};

static const struct json_field fields[] = {
	FIELD_NUMBER(whole, "wide", wide, KEEP, ""),
	FIELD_NUMBER(whole, "word", word, KEEP, ""),
	FIELD_NUMBER(whole, "size", size, KEEP, ""),
	FIELD_FLAG(whole, "flag", flag, KEEP, ""),
	FIELD_FLAG(whole, "flag_word", flag_word, KEEP, ""),
	FIELD_REAL(whole, "real", real, KEEP, ""),
	FIELD_HASH(whole, "hash", hash, KEEP, ""),
	FIELD_CHARS(whole, "chars", chars, KEEP, ""),
	FIELD_TEXT(whole, "text", text, KEEP, ""),
	FIELD_FILLED_TEXT(whole, "filled", filled, KEEP, ""),
	FIELD_BORROWED(whole, "borrowed", borrowed, KEEP, ""),
	FIELD_NAME(whole, "name", name, names, KEEP, ""),
	FIELD_BITS(whole, "bits", bits, names, KEEP, ""),
	FIELD_COUNTS(whole, "counts", counts, names, KEEP, ""),
	FIELD_COUNTS(whole, "small_counts", small_counts, names, KEEP, ""),
	FIELD_OBJECT(whole, "part", part, part_fields, KEEP, "",
		.flags = FIELD_SIZED | FIELD_SPARSE),
	FIELD_LIST(whole, "parts", parts, part_count, part_fields, 3, KEEP, "",
		.flags = FIELD_SIZED),
	FIELD_LIST(whole, "within", within, within_count, part_fields, 2, KEEP, "",
		.flags = FIELD_WITHIN),
	FIELD_LIST(whole, "lines", lines, line_count, NULL, 2, KEEP, "", .flags = FIELD_WITHIN),
	FIELD_NUMBERS(whole, "numbers", numbers, number_count, 4, KEEP, ""),
	FIELD_TEXTS(whole, "texts", texts, text_count, 4, KEEP, ""),
	{.name = NULL},
};

static struct json_reader reader;
static char **texts;
static size_t text_count;

static json_t *
written(const struct whole *from)
{
	struct json_writer writer = {.verb = NULL};
	json_t *object = json_object();
	json_write_fields(&writer, object, fields, from);
	ck_assert(!writer.has_failed);
	return object;
}

static int
read_whole(const json_t *object, struct whole *into)
{
	memset(into, 0, sizeof(*into));
	reader = (struct json_reader){
		.file = "a.json", .texts = &texts, .text_count = &text_count};
	json_read_fields(&reader, object, fields, into);
	ck_assert_ptr_null(reader.place);
	return reader.rc;
}

static void
destroy(struct whole *whole)
{
	free(whole->text);
	free(whole->filled);
	free(whole->parts);
	free(whole->numbers);
	for (size_t i = 0; i < whole->text_count; i++)
		free(whole->texts[i]);
	free(whole->texts);
	for (size_t i = 0; i < text_count; i++)
		free(texts[i]);
	free(texts);
	texts = NULL;
	text_count = 0;
}

/** A structure that owns no memory. */
static struct whole
full(void)
{
	static struct part parts[2] = {{sizeof(*parts), 5}, {sizeof(*parts), UINT64_MAX}};
	static uint32_t numbers[4] = {0, 1, UINT32_MAX, 7};
	static char first[] = "a", second[] = "\xff", *words[2] = {first, second};
	return (struct whole){.wide = UINT64_MAX,
		.word = UINT32_MAX,
		.size = 77,
		.flag = true,
		.flag_word = 1,
		.real = -0.1,
		.hash = 0xfedc,
		.chars = "1234567",
		.text = first,
		.filled = second,
		.borrowed = "lent",
		.name = 2,
		.bits = 1 << 1 | 1u << 31,
		.counts = {0, UINT64_MAX, 1},
		.small_counts = {UINT32_MAX, 0, 0},
		.part = {sizeof(struct part), 0},
		.parts = parts,
		.part_count = 2,
		.within = {{0, 1}, {0, 2}},
		.within_count = 2,
		.lines = {"abc", ""},
		.line_count = 2,
		.numbers = numbers,
		.number_count = 4,
		.texts = words,
		.text_count = 2};
}

TEST(each_type_is_written_by_its_name)
{
	struct whole whole = full();
	json_t *object = written(&whole);
	char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
	ck_assert_str_eq(text,
		"{\"wide\":\"18446744073709551615\",\"word\":4294967295,\"size\":77,"
		"\"flag\":true,\"flag_word\":true,\"real\":-0.10000000000000001,"
		"\"hash\":\"000000000000fedc\",\"chars\":\"1234567\",\"text\":\"a\","
		"\"filled\":\"\\uEFFF\",\"borrowed\":\"lent\",\"name\":\"three\","
		"\"bits\":[\"two\",\"bit31\"],"
		"\"counts\":{\"two\":\"18446744073709551615\",\"three\":1},"
		"\"small_counts\":{\"one\":4294967295},\"part\":{},"
		"\"parts\":[{\"number\":5},{\"number\":\"18446744073709551615\"}],"
		"\"within\":[{\"number\":1},{\"number\":2}],\"lines\":[\"abc\",\"\"],"
		"\"numbers\":[0,1,4294967295,7],\"texts\":[\"a\",\"\\uEFFF\"]}");
	free(text);
	json_decref(object);
}

TEST(each_type_is_read_back_unchanged)
{
	struct whole whole = full(), read;
	json_t *object = written(&whole);
	ck_assert_msg(read_whole(object, &read) == NB_OK, "%s", nb_error_text());
	json_t *again = written(&read);
	ck_assert(json_equal(object, again));
	ck_assert_uint_eq(read.part.size, sizeof(struct part));
	ck_assert_uint_eq(read.parts[1].size, sizeof(struct part));
	ck_assert_uint_eq(read.within[1].size, 0);
	json_decref(object);
	json_decref(again);
	destroy(&read);
}

TEST(missing_members_are_0_or_empty)
{
	struct whole read;
	json_t *object = json_pack("{s:n, s:n, s:i}", "wide", "parts", "unknown", 7);
	ck_assert_int_eq(read_whole(object, &read), NB_OK);
	ck_assert_uint_eq(read.wide, 0);
	ck_assert_ptr_null(read.parts);
	ck_assert_ptr_null(read.text);
	ck_assert_str_eq(read.filled, "");
	ck_assert_str_eq(read.borrowed, "");
	json_decref(object);
	destroy(&read);
}

/** The error text of a value of this member. */
static const char *
said_of(const char *name, const char *value)
{
	struct whole read;
	json_t *object = json_object(), *json = json_loads(value, JSON_DECODE_ANY, NULL);
	ck_assert_ptr_nonnull(json);
	json_object_set_new(object, name, json);
	int rc = read_whole(object, &read);
	json_decref(object);
	destroy(&read);
	return rc == NB_ERR_DATA ? nb_error_text() : "";
}

TEST(values_do_not_exceed_their_buffers)
{
	static const struct {
		const char *name, *value, *said;
	} bad[] = {{"word", "4294967296", "a.json: word: must be at most 4294967295"},
		{"word", "\"99999999999\"", "a.json: word: must be at most 4294967295"},
		{"flag_word", "2", "a.json: flag_word: must be true or false"},
		{"chars", "\"12345678\"", "a.json: chars: is a text of more than 7 bytes"},
		{"name", "\"four\"", "a.json: name: must be one of one, two, three"},
		{"name", "7", "a.json: name: must be a text"},
		{"bits", "[\"one\", \"bit32\"]",
			"a.json: bits[1]: is not a name that is allowed here"},
		{"bits", "[7]", "a.json: bits[0]: is not a name that is allowed here"},
		{"bits", "\"one\"", "a.json: bits: must be an array"},
		{"counts", "[1]", "a.json: counts: must be an object of numbers"},
		{"small_counts", "{\"two\": 4294967296}",
			"a.json: small_counts.two: must be at most 4294967295"},
		{"part", "7", "a.json: part: must be an object"},
		{"parts", "[{}, {}, {}, {}]", "a.json: parts: has more than 3 elements"},
		{"parts", "[{}, {\"number\": []}]",
			"a.json: parts[1].number: must be a number"},
		{"within", "[{}, {}, {}]", "a.json: within: has more than 2 elements"},
		{"lines", "[\"abc\", \"abcd\"]",
			"a.json: lines[1]: is a text of more than 3 bytes"},
		{"numbers", "[1, 2, 3, 4, 5]", "a.json: numbers: has more than 4 elements"},
		{"numbers", "[1, 4294967296]",
			"a.json: numbers[1]: must be at most 4294967295"},
		{"texts", "{}", "a.json: texts: must be an array"},
		{"texts", "[\"\", 7]", "a.json: texts[1]: must be a text"},
		{"hash", "\"fedc\"", "a.json: hash: must be a text of 16 hexadecimal digits"}};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_str_eq(said_of(bad[i].name, bad[i].value), bad[i].said);
}

TEST(first_kind_of_a_classic_action_is_its_verb)
{
	const struct json_names kinds = {names.names, 3, true};
	json_t *put = json_string("put"), *one = json_string("one");
	reader = (struct json_reader){.file = "a.json", .verb = "put"};
	ck_assert_str_eq(json_name(&kinds, "put", NULL, 0), "put");
	ck_assert_str_eq(json_name(&kinds, NULL, NULL, 0), "one");
	ck_assert_str_eq(json_name(&names, "put", NULL, 0), "one");
	ck_assert_ptr_null(json_name(&kinds, "put", NULL, 3));
	ck_assert_uint_eq(json_to_name(&reader, put, &kinds), 0);
	ck_assert_int_eq(reader.rc, NB_OK);
	ck_assert_uint_eq(json_to_name(&reader, one, &kinds), 0);
	ck_assert_int_eq(reader.rc, NB_ERR_DATA);
	json_decref(put);
	json_decref(one);
}
