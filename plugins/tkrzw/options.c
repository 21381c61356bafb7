/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options, and the parameter string with which Tkrzw opens a database.
 *
 * Tkrzw silently ignores parameters that the class does not have or that differ from an
 * existing database. The plugin rejects both. The expected number of records and the cache
 * size become parameters, too.
 */
#include "tkrzw.h"

#define IN_FILES (1u << HASH | 1u << TREE | 1u << SKIP)
#define ON_HASH (1u << HASH | 1u << TREE) /* the pages of a tree are records of a hash */

/* Values of FILE_CLASS, UPDATE_MODE and RESTORE_MODE. */
enum { MMAP_PARA, MMAP_ATOM, POS_PARA, POS_ATOM };
enum { IN_PLACE, APPENDING };
enum { RESTORE_DEFAULT };

/*
 * How Tkrzw gets an option: OTHER: see options_write(); PARAM: as a parameter; KEPT: as a
 * parameter that a database keeps.
 */
enum { OTHER, PARAM, KEPT };

/*
 * Only the type has a default here: Tkrzw gets only the given options. An option that the
 * type does not have is rejected. Tkrzw would silently change values outside min and max.
 */
#define OPTIONS(X) \
	X(TYPE, ~0u, OTHER, CHOICE, "type", "hash", \
		"hash|tree|skip|tiny|baby|cache|stdhash|stdtree", \
		"class of database; hash, tree and skip are in a file") \
	X(FILE_CLASS, IN_FILES, PARAM, CHOICE, "file", NULL, \
		"mmap-para|mmap-atom|pos-para|pos-atom", \
		"class of file: mapped (mmap-para if not given) or pread and pwrite") \
	X(BLOCK_SIZE, IN_FILES, PARAM, BYTES, "block_size", NULL, 1, 1 << 20, \
		"with file=pos-*: unit of the file's size, and of direct I/O") \
	X(DIRECT_IO, IN_FILES, OTHER, BOOL, "direct_io", NULL, \
		"with file=pos-*: O_DIRECT; wants block_size, align_pow and padding") \
	X(PADDING, IN_FILES, OTHER, BOOL, "padding", NULL, \
		"with file=pos-*: keep the file's size a multiple of block_size") \
	X(PAGE_CACHE, IN_FILES, OTHER, BOOL, "page_cache", NULL, \
		"with file=pos-*: Tkrzw's own page cache; durability is none") \
	X(UPDATE_MODE, ON_HASH, KEPT, CHOICE, "update_mode", NULL, "in_place|appending", \
		"of hash, tree; if not given in_place, or appending for commit") \
	X(RECORD_CRC, ON_HASH, KEPT, CHOICE, "record_crc_mode", NULL, \
		"none|crc-8|crc-16|crc-32", \
		"of hash, tree: checksum of each record or page (none)") \
	X(RECORD_COMP, ON_HASH, KEPT, CHOICE, "record_comp_mode", NULL, \
		"none|zlib|zstd|lz4|lzma", \
		"of hash, tree: compress each value or page (none)") \
	X(OFFSET_WIDTH, IN_FILES, KEPT, U64, "offset_width", NULL, "bytes", 3, 6, \
		"of hash, tree, skip: width of an offset in the file (4)") \
	X(ALIGN_POW, ON_HASH, KEPT, U64, "align_pow", NULL, "bits", 0, 16, \
		"of hash (3), tree (10): records begin at multiples of 2^align_pow") \
	X(NUM_BUCKETS, ON_HASH | 1u << TINY | 1u << STDHASH, KEPT, U64, "num_buckets", NULL, \
		"buckets", 1, 1099511627689, \
		"of hash, tree, tiny, stdhash; the next prime is taken") \
	X(RESTORE_MODE, ON_HASH, PARAM, CHOICE, "restore_mode", NULL, "default|sync|noop", \
		"of hash, tree: after a crash; without default durability is none") \
	X(FBP_CAPACITY, ON_HASH, PARAM, U64, "fbp_capacity", NULL, "blocks", 1, INT_MAX, \
		"of hash, tree: free blocks kept in mind for in_place (2048)") \
	X(MIN_READ_SIZE, ON_HASH, PARAM, BYTES, "min_read_size", NULL, 48, 1 << 20, \
		"of hash, tree: read at once for a record (48 or more)") \
	X(CACHE_BUCKETS, ON_HASH, PARAM, BOOL, "cache_buckets", NULL, \
		"of hash, tree, with file=pos-*: keep the buckets in memory") \
	X(MAX_PAGE_SIZE, 1u << TREE, KEPT, BYTES, "max_page_size", NULL, 1, (1 << 24) - 1, \
		"of tree: size at which a page is divided (8130)") \
	X(MAX_BRANCHES, 1u << TREE, KEPT, U64, "max_branches", NULL, "branches", 2, \
		(1 << 24) - 1, "of tree: of an inner node (256)") \
	X(PAGE_UPDATE_MODE, 1u << TREE, PARAM, CHOICE, "page_update_mode", NULL, "none|write", \
		"of tree: write each page to the file when it changes (none)") \
	X(STEP_UNIT, 1u << SKIP, KEPT, U64, "step_unit", NULL, "records", 2, 64, \
		"of skip: records that one link of the next level spans (4)") \
	X(MAX_LEVEL, 1u << SKIP, KEPT, U64, "max_level", NULL, "levels", 1, 32, \
		"of skip: levels of links (14)") \
	X(SORT_MEM_SIZE, 1u << SKIP, PARAM, BYTES, "sort_mem_size", NULL, 1 << 10, 8ull << 30, \
		"of skip: memory for writes that wait to be sorted (256MiB)") \
	X(MAX_CACHED_RECORDS, 1u << SKIP, PARAM, U64, "max_cached_records", NULL, "records", \
		1, 1 << 24, "of skip: keys kept in memory for searches (65536)") \
	X(CAP_REC_NUM, 1u << CACHE, PARAM, U64, "cap_rec_num", NULL, "records", 1, INT_MAX, \
		"of cache: beyond it the least recently used are dropped")

#define OPTION_TUNING(id, types, how, ...) {types, how},
#define OPTION_OF(id, types, how, kind, ...) NB_OPTION_##kind(__VA_ARGS__),
enum { OPTIONS(OPTION_ID) OPTION_COUNT };

static const struct {
	uint32_t types; /* types that have the option */
	int how;        /* OTHER, ... */
} tunings[] = {OPTIONS(OPTION_TUNING)};

const struct nb_option options_table[] = {OPTIONS(OPTION_OF) NB_OPTION_END};

/* --- the requested options and their check --- */

static bool
is_on(const struct nb_option_value *value)
{
	return value->is_set != 0 && value->u64 != 0;
}

enum type
options_type(const struct nb_option_value *value)
{
	return (enum type)value[TYPE].u64;
}

bool
options_are_positional(const struct nb_option_value *value)
{
	return value[FILE_CLASS].is_set != 0 && value[FILE_CLASS].u64 >= POS_PARA;
}

static bool
is_other_than(const struct nb_option_value *value, uint64_t choice)
{
	return value->is_set != 0 && value->u64 != choice;
}

bool
options_are_strong(const struct nb_option_value *value)
{
	return !is_other_than(&value[UPDATE_MODE], APPENDING) &&
		!is_other_than(&value[RESTORE_MODE], RESTORE_DEFAULT) &&
		!options_are_positional(value);
}

int
options_check(const struct nb_open_args *args)
{
	static const int positional[] = {
		BLOCK_SIZE, DIRECT_IO, PADDING, PAGE_CACHE, CACHE_BUCKETS};
	const struct nb_option_value *value = args->options;
	enum type type = options_type(value);
	for (int i = 0; i < OPTION_COUNT; i++)
		if (value[i].is_set != 0 && (tunings[i].types & 1u << type) == 0)
			return args->host->fail(NB_UNSUPPORTED, "type=%s has no option %s",
				database_types[type].name, options_table[i].name);
	for (size_t i = 0; i < COUNT_OF(positional); i++)
		if (is_on(&value[positional[i]]) && !options_are_positional(value))
			return args->host->fail(NB_UNSUPPORTED,
				"%s is only for file=pos-para and file=pos-atom",
				options_table[positional[i]].name);
	return NB_OK;
}

/* --- the parameter string --- */

struct params {
	char *text;
	size_t size;
};

static void NB_PRINTF(2, 3) add(struct params *params, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	params->size += (size_t)vsnprintf(
		params->text + params->size, PARAMS_SIZE - params->size, fmt, args);
	va_end(args);
}

/* Copy the word of a choice to `word`. */
static const char *
choice(char word[32], const char *choices, uint64_t index)
{
	while (index-- > 0)
		choices = strchr(choices, '|') + 1;
	snprintf(word, 32, "%.*s", (int)strcspn(choices, "|"), choices);
	return word;
}

static const char *
typed(char word[32], const struct nb_option *option, const struct nb_option_value *value)
{
	if (option->type == NB_OPT_CHOICE)
		return choice(word, option->choices, value->u64);
	snprintf(word, 32, "%llu", (unsigned long long)value->u64);
	return word;
}

/* Pass the expected number of records if Tkrzw's default is too small for it. */
static void
add_size_hint(struct params *params, const struct nb_open_args *args, enum type type)
{
	const struct nb_option_value *value = args->options;
	const uint64_t buckets_default = 1048583, records_default = 1 << 20;
	bool has_buckets = (tunings[NUM_BUCKETS].types & 1u << type) != 0 && type != TREE;
	if (has_buckets && value[NUM_BUCKETS].is_set == 0 && args->records > buckets_default)
		add(params, ",num_buckets=%llu", (unsigned long long)args->records);
	/* 32 parts share the capacity unevenly, so add an eighth. */
	if (type == CACHE && value[CAP_REC_NUM].is_set == 0 &&
		args->records > records_default / 8 * 7)
		add(params, ",cap_rec_num=%llu",
			(unsigned long long)(args->records + args->records / 8));
}

/* Pass the amount of memory that the engine may use for caching. */
static void
add_cache(struct params *params, const struct nb_open_args *args, enum type type)
{
	const struct nb_option_value *value = args->options;
	uint64_t page = value[MAX_PAGE_SIZE].is_set != 0 ? value[MAX_PAGE_SIZE].u64 : 8130;
	if (args->cache_bytes == 0)
		return;
	if (type == TREE) {
		uint64_t pages = args->cache_bytes / page;
		add(params, ",max_cached_pages=%llu",
			(unsigned long long)(pages < 1    ? 1
					: pages > INT_MAX ? INT_MAX
							  : pages));
	} else if (type == CACHE)
		add(params, ",cap_mem_size=%llu", (unsigned long long)args->cache_bytes);
	else
		args->host->log(NB_LOG_WARNING,
			"tkrzw: type=%s has no cache; the cache size is ignored",
			database_types[type].name);
}

void
options_write(char text[PARAMS_SIZE], const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	enum type type = options_type(value);
	struct params params = {.text = text};
	bool is_commit = args->durability == NB_DUR_COMMIT;
	char word[32];
	add(&params, "dbm=%s", database_types[type].class);
	for (int i = 0; i < OPTION_COUNT; i++)
		if (value[i].is_set != 0 && tunings[i].how != OTHER &&
			(options_table[i].type != NB_OPT_BOOL || is_on(&value[i])))
			add(&params, ",%s=%s", options_table[i].name,
				typed(word, &options_table[i], &value[i]));
	if (is_on(&value[DIRECT_IO]) || is_on(&value[PADDING]) || is_on(&value[PAGE_CACHE]))
		add(&params, ",access_options=none%s%s%s",
			is_on(&value[DIRECT_IO]) ? ":direct" : "",
			is_on(&value[PADDING]) ? ":padding" : "",
			is_on(&value[PAGE_CACHE]) ? ":pagecache" : "");
	add_size_hint(&params, args, type);
	add_cache(&params, args, type);
	if (is_commit && value[UPDATE_MODE].is_set == 0)
		add(&params, ",update_mode=appending");
	if (database_types[type].file != NULL)
		add(&params, ",no_wait=true,no_create=%s,sync_hard=%s",
			(args->flags & NB_OPEN_CREATE) != 0 ? "false" : "true",
			is_commit ? "true" : "false");
}

/* --- an existing database --- */

struct wanted {
	const struct nb_open_args *args;
	const char *name; /* the option with another value in the database */
	char value[32];   /* that value */
};

/* Tkrzw returns "in-place" for "in_place". */
static bool
is_same_word(const char *a, const char *b)
{
	for (; *a != '\0' && (*a == *b || (*a == '-' && *b == '_')); a++, b++)
		;
	return *a == *b;
}

/* Whether an existing database keeps this property with another value than the given one. */
static bool
is_otherwise(void *to, const char *name, const char *value)
{
	struct wanted *wanted = to;
	const struct nb_option_value *all = wanted->args->options;
	char word[32];
	/* A tree that Tkrzw has restored after a crash has the default number. */
	if (strcmp(name, "num_buckets") == 0 && options_type(all) == TREE)
		return false;
	snprintf(wanted->value, sizeof(wanted->value), "%s", value);
	if (strcmp(name, "update_mode") == 0 && wanted->args->durability == NB_DUR_COMMIT) {
		wanted->name = "update_mode";
		return strcmp(value, "appending") != 0;
	}
	for (int i = 0; i < OPTION_COUNT; i++) {
		if (all[i].is_set == 0 || tunings[i].how != KEPT ||
			strcmp(options_table[i].name, name) != 0)
			continue;
		wanted->name = name = options_table[i].name;
		if (i != NUM_BUCKETS)
			return !is_same_word(value, typed(word, &options_table[i], &all[i]));
		/* Rounded up to a prime: gaps between primes below 2^40 are below 1000. */
		uint64_t buckets = strtoull(value, NULL, 10);
		return buckets < all[i].u64 || buckets - all[i].u64 >= 1000;
	}
	return false;
}

int
options_check_existing(TkrzwDBM *base, const struct nb_open_args *args)
{
	struct wanted wanted = {.args = args};
	if (!database_inspect(base, is_otherwise, &wanted))
		return NB_OK;
	return args->host->fail(NB_UNSUPPORTED,
		"the database has %s=%s, which is decided when it is made%s", wanted.name,
		wanted.value,
		args->durability == NB_DUR_COMMIT && strcmp(wanted.name, "update_mode") == 0
			? ", and durability=commit needs appending"
			: "");
}
