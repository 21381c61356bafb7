/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kept crash is read back as it was, whatever bytes it contains. Each changed member is
 * rejected, and so is a crash kept by another version or engine. A repeated check shows the
 * data that was read back.
 */
#include <jansson.h>

#include "crash_rig.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

enum { OLD_OPS = 25, OPS = 20 };

static struct crash_rig_chain chain;

/**
 * Bytes that are not UTF-8, a character that JSON must escape, and one that elsewhere stands
 * for such bytes.
 */
static const char odd[] = "a\xff \"b\"\n\xc3 \xee\xbe\x80";
/** The same text as printed on a terminal. */
static const char clean[] = "a? \"b\" ? \xee\xbe\x80";

/** Make a database of two rounds, with one operation in flight at the end of the second. */
void
unit_setup(void)
{
	crash_rig_fresh();
	crash_rig_load("keeper", "defect", "none");
	crash_rig_begin(&chain, "database");
	crash_rig_round(&chain, OLD_OPS);
	crash_rig_round(&chain, OPS);
	chain.moment.begun[0]++;
}

void
unit_teardown(void)
{
	crash_rig_end(&chain);
	crash_rig_unload();
}

/** Keep the crash as the finding of round 8, in found/. */
static int
keep(char **out, const char *files)
{
	static const char *const options[] = {"defect=none", odd, ""};
	struct nb_crash_args args = crash_rig_args(NB_DUR_PROCESS);
	args.driver = odd;
	args.engine_options = options;
	args.engine_option_count = 3;
	args.file_system = NB_CRASH_POSIX;
	args.seed = UINT64_MAX;
	args.keep = "found";
	struct crash_run run = {.args = &args, .subject = chain.subject};
	struct crash_report report = {.worst = NB_CRASH_TORN, .is_broken = 1};
	strcpy(report.text, odd);
	return crash_keep_write(out, &run, &report,
		&(struct crash_evidence){.round = 7,
			.when = odd,
			.files = files,
			.state = &chain.state,
			.moment = &chain.moment});
}

/**
 * Repeat the check of a kept crash. It must find nothing, or, if `part` is not NULL, a text
 * with `part`.
 */
static void
finds_again(struct nb_crash_tally *tally, const char *path, const char *part)
{
	struct nb_crash_args args = crash_rig_args(
		NB_DUR_NONE); /* ignored: the kept level is used */
	crash_rig_forget();
	ck_assert_msg(nb_crash_again(tally, &args, path) == NB_OK, "%s", nb_error_text());
	ck_assert_uint_eq(tally->crashes, 1);
	ck_assert_uint_eq(told.count, part != NULL);
	ck_assert_msg(part == NULL || strstr(told.text, part) != NULL, "%s", told.text);
}

TEST(kept_crash_is_read_back_unchanged)
{
	struct nb_crash_kept kept;
	struct nb_crash_tally tally;
	char *path;
	size_t size;
	uint8_t *log = file_get("database/log", &size);
	ck_assert_int_eq(keep(&path, "database"), NB_OK);
	ck_assert_str_eq(path, "found/keeper-process-8");
	ck_assert_int_eq(entries_of(path), 2);
	ck_assert_int_eq(access("database", F_OK), -1); /* the database was moved */
	file_is("found/keeper-process-8/database/log", log, size);
	free(log);

	ck_assert_int_eq(nb_crash_kept_read(&kept, path), NB_OK);
	ck_assert_str_eq(kept.driver, odd);
	ck_assert_uint_eq(kept.engine_option_count, 3);
	ck_assert_str_eq(kept.engine_options[0], "defect=none");
	ck_assert_str_eq(kept.engine_options[1], odd);
	ck_assert_str_eq(kept.engine_options[2], "");
	ck_assert_uint_eq(kept.durability, NB_DUR_PROCESS);
	ck_assert_uint_eq(kept.how, NB_CRASH_KILL);
	ck_assert_uint_eq(kept.file_system, NB_CRASH_POSIX);
	ck_assert_uint_eq(kept.round, 7);
	ck_assert_uint_eq(kept.seed, UINT64_MAX);
	nb_crash_kept_clear(&kept);

	finds_again(&tally, path, NULL);
	uint64_t acknowledged = crash_rig_writes(&chain.plan, OLD_OPS, OLD_OPS + OPS);
	ck_assert_uint_eq(tally.acknowledged, acknowledged);
	ck_assert_uint_eq(tally.survived, acknowledged);
	struct crash_op op;
	crash_op_make(&op, &chain.plan, 0, OLD_OPS + OPS);
	ck_assert_uint_eq(tally.in_flight, op.count);
	nb_crash_tally_clear(&tally);
	free(path);
}

/* A key that no operation of the last round writes. Only the kept state has its value. */
TEST(values_before_the_round_are_read_back)
{
	struct nb_crash_tally tally;
	unsigned char bytes[CRASH_KEY_MAX];
	char *path, part[64];
	uint32_t key = 0;
	uint64_t write = 0;
	for (; key < chain.plan.keys; key++) {
		write = crash_rig_last(&chain.plan, 1, key, OLD_OPS);
		if (write != 0 && write == crash_rig_last(&chain.plan, 1, key, OLD_OPS + OPS))
			break;
	}
	ck_assert_uint_lt(key, chain.plan.keys);
	struct nb_slice name = {.data = bytes};
	name.size = crash_key_make(bytes, &chain.plan, 1, key);
	crash_rig_tamper(&chain, name, NULL);
	ck_assert_int_eq(keep(&path, "database"), NB_OK);
	snprintf(part, sizeof(part), "is gone: before this round it was of operation %u,",
		(unsigned)crash_write_op(write));
	finds_again(&tally, path, part);
	ck_assert_str_eq(told.when, clean);
	ck_assert_uint_eq(tally.wrong[NB_CRASH_LOST], 1);
	ck_assert_uint_eq(tally.lost, 1);
	nb_crash_tally_clear(&tally);
	free(path);
}

TEST(repeated_round_is_kept_under_another_name)
{
	char *first, *second;
	ck_assert_int_eq(mkdir("other", 0700), 0);
	ck_assert_int_eq(keep(&first, "database"), NB_OK);
	ck_assert_int_eq(keep(&second, "other"), NB_OK);
	ck_assert_str_eq(second, "found/keeper-process-8-2");
	ck_assert_int_eq(access("found/keeper-process-8/database/log", F_OK), 0);
	free(first);
	free(second);
}

TEST(failed_keep_leaves_no_files)
{
	char *path;
	ck_assert_int_eq(keep(&path, "nowhere"), NB_FAIL); /* after writing crash.json */
	ck_assert_int_eq(entries_of("found"), 0);
	ck_assert_int_eq(rmdir("found"), 0);
	file_put("found", "", 0);
	ck_assert_int_eq(keep(&path, "database"), NB_FAIL);
	ck_assert_ptr_nonnull(
		strstr(nb_error_text(), "found: cannot create a directory in it"));
	ck_assert_int_eq(access("database/log", F_OK), 0);
}

/* ---- damage ---- */

static char *kept_path;
static json_t *whole; /* crash.json */

static void
begin_damage(void)
{
	char path[256];
	ck_assert_int_eq(keep(&kept_path, "database"), NB_OK);
	snprintf(path, sizeof(path), "%s/crash.json", kept_path);
	whole = json_load_file(path, 0, NULL);
	ck_assert_ptr_nonnull(whole);
}

static void
end_damage(void)
{
	json_decref(whole);
	free(kept_path);
}

static void
put_json(const json_t *json)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/crash.json", kept_path);
	ck_assert_int_eq(json_dump_file(json, path, 0), 0);
}

/**
 * Write crash.json with the member at `place`, "sessions.0.start", set to `value`. NULL:
 * without it.
 */
static void
put_damaged(const char *place, const char *value)
{
	char names[64], *rest = names;
	strcpy(names, place);
	json_t *damaged = json_deep_copy(whole), *at = damaged, *new = NULL;
	if (value != NULL)
		new = json_loads(value, JSON_DECODE_ANY, NULL);
	ck_assert_msg(value == NULL || new != NULL, "%s", value);
	for (char *name = strsep(&rest, "."); rest != NULL; name = strsep(&rest, "."))
		at = json_is_array(at) ? json_array_get(at, strtoul(name, NULL, 10))
				       : json_object_get(at, name);
	const char *last = strrchr(place, '.') != NULL ? strrchr(place, '.') + 1 : place;
	int rc;
	if (json_is_array(at))
		rc = new != NULL ? json_array_set_new(at, strtoul(last, NULL, 10), new)
				 : json_array_remove(at, strtoul(last, NULL, 10));
	else
		rc = new != NULL ? json_object_set_new(at, last, new)
				 : json_object_del(at, last);
	ck_assert_msg(rc == 0, "%s", place);
	put_json(damaged);
	json_decref(damaged);
}

/** Read the head; if that succeeds, repeat the check. */
static int
read_all(void)
{
	struct nb_crash_kept kept;
	struct nb_crash_tally tally;
	struct nb_crash_args args = crash_rig_args(NB_DUR_PROCESS);
	int rc = nb_crash_kept_read(&kept, kept_path);
	if (rc != NB_OK)
		return rc;
	nb_crash_kept_clear(&kept);
	rc = nb_crash_again(&tally, &args, kept_path);
	nb_crash_tally_clear(&tally);
	return rc;
}

static void
is_refused(const char *place, const char *value)
{
	put_damaged(place, value);
	ck_assert_msg(read_all() == NB_ERR_USAGE, "%s: %s", place,
		value != NULL ? value : "left out");
	ck_assert_str_eq(nb_error_text(),
		"found/keeper-process-8/crash.json is not the file of a kept crash, or was changed");
}

/* Invalid values of a member of each type. The first one, NULL, removes the member. */
enum { DAMAGES = 12 };

static const char *const no_texts[DAMAGES] = {NULL, "null", "5", "[]"};
static const char *const no_names[DAMAGES] = {NULL, "null", "1", "\"\"", "\"Process\""};
static const char *const no_numbers[DAMAGES] = {NULL, "null", "5", "\"\"", "\"-1\"", "\"+1\"",
	"\" 1\"", "\"1 \"", "\"0x10\"", "\"1.0\"", "\"18446744073709551616\""};
static const char *const no_counts[DAMAGES] = {
	NULL, "null", "\"1\"", "-1", "1.0", "true", "9223372036854775807"};
static const char *const no_streams[DAMAGES] = {NULL, "null", "\"1\"", "1.0"};
static const char *const no_bools[DAMAGES] = {NULL, "null", "1", "\"true\""};
static const char *const no_lists[DAMAGES] = {NULL, "null", "{}", "\"\"", "[7]"};
static const char *const no_objects[DAMAGES] = {NULL, "null", "{}", "[]", "7"};

TEST(each_changed_member_is_refused)
{
	static const struct {
		const char *place, *const *damages;
	} members[] = {
		{"mininb", no_objects},
		{"mininb.kind", no_names},
		{"mininb.version", no_texts},
		{"mininb.stream", no_streams},
		{"driver", no_texts},
		{"engine", no_texts},
		{"options", no_lists},
		{"options.1", no_texts + 1},
		{"durability", no_names},
		{"how", no_names},
		{"file_system", no_names},
		{"seed", no_numbers},
		{"round", no_counts},
		{"boots", no_counts},
		{"when", no_texts},
		{"is_made", no_bools},
		{"plan", no_objects},
		{"plan.seed", no_numbers},
		{"plan.sessions", no_counts},
		{"plan.keys", no_counts},
		{"plan.value_size_max", no_numbers},
		{"plan.key_size_max", no_counts},
		{"plan.has_batches", no_bools},
		{"plan.has_txns", no_bools},
		{"plan.has_execute", no_bools},
		{"plan.has_counters", no_bools},
		{"plan.is_atomic", no_bools},
		{"sessions", no_lists},
		{"sessions.1", no_objects},
		{"sessions.0.start", no_counts},
		{"sessions.0.acked", no_counts},
		{"sessions.1.begun", no_counts},
		{"sessions.1.last", no_lists},
		{"sessions.1.last.39", no_counts},
	};
	static const char *const whole_files[] = {"{}", "[]"};
	begin_damage();
	ck_assert_msg(read_all() == NB_OK, "%s", nb_error_text());
	for (size_t i = 0; i < UNIT_COUNT(whole_files); i++) {
		json_t *other = json_loads(whole_files[i], 0, NULL);
		put_json(other);
		json_decref(other);
		ck_assert_msg(read_all() == NB_ERR_USAGE, "%s", whole_files[i]);
	}
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		const char *const *damages = members[i].damages;
		is_refused(members[i].place, damages[0]);
		for (size_t k = 1; k < DAMAGES && damages[k] != NULL; k++)
			is_refused(members[i].place, damages[k]);
	}
	end_damage();
}

TEST(number_out_of_range_is_refused)
{
	static const struct {
		const char *place, *value;
	} numbers[] = {
		{"round", "4294967296"}, {"boots", "4294967296"}, {"plan.sessions", "0"},
		{"plan.sessions", "1"}, /* the plan has two */
		{"plan.sessions", "3"}, {"plan.sessions", "17"}, {"plan.keys", "0"},
		{"plan.keys", "39"}, /* the plan has 40 */
		{"plan.keys", "4097"}, {"plan.key_size_max", "3"}, {"plan.key_size_max", "257"},
		{"sessions.0.start", "46"}, /* 45 operations had returned */
		{"sessions.0.acked", "47"}, /* 46 operations had begun */
		{"sessions.1.begun", "44"}, {"sessions.1.begun", "100000001"},
		{"sessions.0.last.0", "201"}, /* the first write of operation 25 */
	};
	begin_damage();
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		is_refused(numbers[i].place, numbers[i].value);
	end_damage();
}

TEST(truncated_file_is_refused)
{
	char path[256];
	size_t size;
	begin_damage();
	snprintf(path, sizeof(path), "%s/crash.json", kept_path);
	uint8_t *bytes = file_get(path, &size);
	for (size_t left = 0; left < size - 2; left += 1 + left / 10) {
		file_put(path, bytes, left);
		ck_assert_int_eq(read_all(), NB_ERR_USAGE);
		ck_assert_ptr_nonnull(strstr(nb_error_text(), "/crash.json: line "));
	}
	file_put(path, bytes, size);
	ck_assert_int_eq(read_all(), NB_OK);
	free(bytes);
	end_damage();
}

TEST(missing_database_is_reported)
{
	char from[256];
	begin_damage();
	snprintf(from, sizeof(from), "%s/database", kept_path);
	ck_assert_int_eq(rename(from, "elsewhere"), 0);
	ck_assert_int_eq(read_all(), NB_FAIL);
	ck_assert_msg(strstr(nb_error_text(), from) != NULL, "%s", nb_error_text());
	end_damage();
}

/*
 * The members of another version may have other meanings, so the error names the version, not a
 * member.
 */
TEST(crash_kept_by_another_version_is_refused)
{
	begin_damage();
	json_object_del(whole, "plan");
	json_object_set_new(whole, "mininb",
		json_pack("{s:s, s:s, s:i}", "kind", "crash", "version", "77.1", "stream",
			CRASH_STREAM + 1));
	put_json(whole);
	ck_assert_int_eq(read_all(), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(),
		"found/keeper-process-8 was kept by mininb 77.1, but mininb "));
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "use version 77.1"));
	struct nb_crash_tally tally;
	struct nb_crash_args args = crash_rig_args(NB_DUR_PROCESS);
	ck_assert_int_eq(nb_crash_again(&tally, &args, kept_path), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "was kept by mininb 77.1"));
	nb_crash_tally_clear(&tally);
	end_damage();
}

/* "Not opened" would be a finding and blame the engine for a level that it does not offer. */
TEST(level_that_is_no_longer_offered_is_refused)
{
	struct nb_crash_tally tally;
	begin_damage();
	struct nb_engine other = *crash_rig_engine();
	struct nb_crash_args args = crash_rig_args(NB_DUR_COMMIT);
	args.engine = &other;
	other.durabilities = NB_DUR_BIT(NB_DUR_COMMIT);
	crash_rig_forget();
	ck_assert_int_eq(nb_crash_again(&tally, &args, kept_path), NB_UNSUPPORTED);
	ck_assert_str_eq(
		nb_error_text(), "durability process: keeper cannot give it; it gives: commit");
	nb_crash_tally_clear(&tally);
	other.name = "another";
	ck_assert_int_eq(nb_crash_again(&tally, &args, kept_path), NB_ERR_USAGE);
	ck_assert_str_eq(nb_error_text(),
		"found/keeper-process-8 was kept for the engine keeper, not for another");
	nb_crash_tally_clear(&tally);
	ck_assert_uint_eq(told.count, 0);
	end_damage();
}
