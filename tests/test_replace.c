/* SPDX-License-Identifier: BSD-2-Clause */
/* Which files may be replaced. report_results tests the files that writers make. */
#include <mininb/files.h>

#include <sys/xattr.h>

#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static void
is_allowed(const char *path, uint64_t seed)
{
	ck_assert_msg(nb_file_may_replace(path, seed) == NB_OK, "%s", nb_error_text());
}

static void
is_refused(const char *path, uint64_t seed)
{
	ck_assert_msg(nb_file_may_replace(path, seed) == NB_FAIL, "%s: may be replaced", path);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), path));
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "was not written by mininb"));
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "--force"));
}

TEST(foreign_file_is_not_replaced)
{
	static const char *const texts[] = {"x", "root:x:0:0:root:/root:/bin/bash\n", "\n",
		"# Notes\n", "<!DOCTYPE html>\n<title>mine</title>", "{\"format\": \"other\"}",
		"{\"experiments\": {}, \"data\": {}}", "#[Histogram log format version 1.3]\n",
		"result,title\n", "# mininb\n\nmininb measures\n", "# mininb notes\n",
		"# mininb\n\n| engine", "| engine "};
	scratch_fresh("others");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		file_put("f", texts[i], strlen(texts[i]));
		is_refused("f", 1);
		file_is("f", texts[i], strlen(texts[i]));
	}
	is_refused("/etc/passwd", 1);
	is_refused("/proc/self/exe", 1);
}

TEST(own_file_is_recognised_by_its_first_bytes_and_replaced)
{
	static const char *const texts[] = {"{\"format\": \"mininb-result\", ",
		"{\n  \"format\":\"mininb-result\"}", "{\"format\": \"mininb-crash\", "};
	scratch_fresh("ours");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		file_put("f", texts[i], strlen(texts[i]));
		is_allowed("f", 1);
	}
}

TEST(empty_file_is_replaced)
{
	scratch_fresh("nothing");
	file_put("empty", "", 0);
	ck_assert_int_eq(mkfifo("pipe", 0600), 0);
	is_allowed("empty", 1);
	is_allowed("missing", 1);
	is_allowed("no/directory", 1); /* the writer reports it */
	is_allowed("pipe", 1);
	is_allowed("/dev/null", 1);
}

/** Remove the attribute, if it exists. */
static void
make_keys(uint64_t key_size, uint64_t count, uint64_t seed)
{
	ck_assert_int_eq(nb_keys_make("keys", key_size, count, seed, NULL, NULL), NB_OK);
	removexattr("keys", "user.mininb");
}

TEST(keys_are_known_by_their_bytes)
{
	static const uint64_t sizes[] = {16, 17, 24, 100, 1024};
	scratch_fresh("keys");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (uint64_t seed = 0; seed < 3; seed++)
			for (uint64_t count = 1; count < 1000; count *= 10) {
				make_keys(sizes[i], count, seed);
				is_allowed("keys", 77); /* with any seed */
				ck_assert_int_eq(
					nb_keys_shuffle("keys", sizes[i], count, 5, NULL, NULL),
					NB_OK);
				removexattr("keys", "user.mininb");
				is_allowed("keys", 77);
			}
}

TEST(short_keys_are_known_with_their_seed)
{
	scratch_fresh("short");
	for (uint64_t key_size = 3; key_size < 16; key_size++) {
		make_keys(key_size, 100, 7);
		is_allowed("keys", 7);
		is_refused("keys", 8);
	}
	make_keys(1, 256, 7); /* any bytes could be such keys */
	is_refused("keys", 7);
}

TEST(arbitrary_bytes_are_not_a_key_file)
{
	uint8_t bytes[4096];
	uint64_t state = 4711;
	scratch_fresh("bytes");
	for (int i = 0; i < 300; i++) {
		size_t size = 1 + (size_t)i * 13;
		for (size_t k = 0; k < size; k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			bytes[k] = i % 3 == 0 ? 0 : i % 3 == 1 ? (uint8_t)k : state >> 56;
		}
		file_put("f", bytes, size);
		is_refused("f", (uint64_t)i);
	}
}

TEST(written_file_is_recognised_until_it_changes)
{
	scratch_fresh("signed");
	ck_assert_int_eq(nb_file_write("f", "some text", 9), NB_OK);
	file_is("f", "some text", 9);
	if (getxattr("f", "user.mininb", NULL, 0) < 0)
		return; /* this file system has no attributes */
	is_allowed("f", 1);
	FILE *file = fopen("f", "a");
	fputs("and mine", file);
	fclose(file);
	is_refused("f", 1);
}

TEST(pipe_is_written_directly)
{
	char got[8] = "";
	scratch_fresh("pipe");
	ck_assert_int_eq(mkfifo("pipe", 0600), 0);
	int fd = open("pipe", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(nb_file_write("pipe", "text", 4), NB_OK);
	ck_assert_int_eq(read(fd, got, sizeof(got)), 4);
	ck_assert_str_eq(got, "text");
	close(fd);
	ck_assert_int_eq(nb_file_write("/dev/null", "text", 4), NB_OK);
	ck_assert_int_eq(entries_of("."), 1);
}
