/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * new-engine: makes a plugin from the template, three files, under another name.
 *
 * The template's own name is 'example', so it can be built and tested in the repository. Before
 * '_' the name is part of a C identifier, and '-' in the new name becomes '_'; elsewhere it is
 * the driver, the .so and the project.
 *
 * An existing directory is not changed. After a failure everything that was made is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "options.h"
#include "template.h"

enum { NAME_SIZE_MAX = 64, WORDS = 3 };

/** A word of the template and its replacement. The first word that matches counts. */
struct word {
	const char *from;
	char to[NAME_SIZE_MAX + 8];
};

/* ---- the name ---- */

/** Targets of Meson itself: a plugin of that name could not be built. */
static const char *const taken[] = {"all", "benchmark", "clean", "coverage", "dist",
	"distcheck", "install", "phony", "reconfigure", "scan-build", "test", "uninstall"};

static bool
is_name(const char *name)
{
	size_t length = strlen(name);
	return name[0] >= 'a' && name[0] <= 'z' && length <= NAME_SIZE_MAX &&
		strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

static bool
is_taken(const char *name)
{
	bool is_found = strncmp(name, "meson-", strlen("meson-")) == 0;
	for (size_t i = 0; !is_found && i < sizeof(taken) / sizeof(taken[0]); i++)
		is_found = strcmp(taken[i], name) == 0;
	return is_found;
}

static void
make_words(struct word words[WORDS], const char *name)
{
	words[0].from = "engine.c";
	snprintf(words[0].to, sizeof(words[0].to), "%s.c", name);
	words[1].from = "example_";
	snprintf(words[1].to, sizeof(words[1].to), "%s_", name);
	for (char *c = words[1].to; *c != '\0'; c++)
		*c = (char)(*c == '-' ? '_' : *c);
	words[2].from = "example";
	snprintf(words[2].to, sizeof(words[2].to), "%s", name);
}

/* ---- the files ---- */

/** The word at `text`, or NULL. */
static const struct word *
find_word(const struct word words[WORDS], const char *text, size_t size)
{
	for (size_t i = 0; i < WORDS; i++) {
		size_t length = strlen(words[i].from);
		if (length <= size && memcmp(words[i].from, text, length) == 0)
			return &words[i];
	}
	return NULL;
}

static void
put_text(FILE *out, const struct word words[WORDS], const char *text, size_t size)
{
	for (size_t i = 0; i < size;) {
		const struct word *word = find_word(words, text + i, size - i);
		if (word != NULL)
			fputs(word->to, out);
		else
			fputc(text[i], out);
		i += word != NULL ? strlen(word->from) : 1;
	}
}

/** The name of the file, which may contain the engine's name. */
static const char *
file_name(const struct word words[WORDS], const struct template_file *file)
{
	return strcmp(file->name, words[0].from) == 0 ? words[0].to : file->name;
}

/** Returns 0 or errno. Removes a file that could not be written. */
static int
write_file(int dir, const struct word words[WORDS], const struct template_file *file)
{
	const char *name = file_name(words, file);
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno;
	FILE *out = fdopen(fd, "w");
	int error = out == NULL ? errno : 0;
	if (out == NULL) {
		close(fd);
	} else {
		errno = 0;
		put_text(out, words, file->text, file->size);
		bool is_written = fflush(out) == 0 && !ferror(out);
		bool is_closed = fclose(out) == 0; /* some file systems report a failure only
						      here */
		if (!is_written || !is_closed)
			error = errno != 0 ? errno : EIO;
	}
	if (error != 0)
		unlinkat(dir, name, 0);
	return error;
}

/** Writes all files or none. `wrong` is the file that failed; returns 0 or its errno. */
static int
write_files(int dir, const struct word words[WORDS], const char **wrong)
{
	const struct template_file *file = template_files;
	int error = 0;
	for (; error == 0 && file->name != NULL; file++) {
		*wrong = file_name(words, file);
		error = write_file(dir, words, file);
	}
	if (error == 0)
		return 0;
	for (file--; file != template_files; file--) /* the failed file is removed already */
		unlinkat(dir, file_name(words, file - 1), 0);
	return error;
}

static int
make_directory(const char *name, const struct word words[WORDS])
{
	if (mkdir(name, 0777) != 0) {
		if (errno == EEXIST)
			message_error("%s already exists; mininb did not change it", name);
		else
			message_error("cannot make %s: %s", name, strerror(errno));
		return STATUS_FAILED;
	}
	const char *wrong = ".";
	int dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = dir < 0 ? errno : write_files(dir, words, &wrong);
	if (dir >= 0)
		close(dir);
	if (error == 0)
		return STATUS_DONE;
	rmdir(name);
	message_error(
		"cannot write %s/%s: %s; mininb made nothing", name, wrong, strerror(error));
	return STATUS_FAILED;
}

/* ---- next steps ---- */

/** Whether pkg-config searches the directory, by default or by PKG_CONFIG_PATH. */
static bool
is_searched(const char *dir)
{
	const char *path = getenv("PKG_CONFIG_PATH");
	return strcmp(dir, "/usr/lib/pkgconfig") == 0 ||
		strcmp(dir, "/usr/local/lib/pkgconfig") == 0 ||
		(path != NULL && strstr(path, dir) != NULL);
}

static void
print_result(const char *name, const struct word words[WORDS])
{
	fprintf(nb_stdout(), "Action: new-engine\nDirectory: %s\n", name);
	for (const struct template_file *file = template_files; file->name != NULL; file++)
		fprintf(nb_stdout(), "File: %s/%s\n", name, file_name(words, file));
	fprintf(nb_stdout(), "\nNext:\n");
	if (access(PKG_CONFIG_DIR "/mininb-engine.pc", F_OK) != 0)
		fprintf(nb_stdout(), "    meson install -C %s\n", BUILD_ROOT);
	if (!is_searched(PKG_CONFIG_DIR))
		fprintf(nb_stdout(), "    export PKG_CONFIG_PATH=%s\n", PKG_CONFIG_DIR);
	fprintf(nb_stdout(),
		"    cd %s\n"
		"    meson setup build\n"
		"    ninja -C build\n"
		"    mininb check --driver=./build/%s.so\n",
		name, name);
}

/** Warns if an engine of that name exists. */
static void
warn_of_namesake(const char *name)
{
	struct nb_engine_ref *ref = NULL;
	if (nb_engine_load(&ref, name) != 0)
		return;
	message_warning(
		"an engine '%s' already exists (%s): mininb loads the first that it finds, and both use the same database directory",
		name, nb_engine_path(ref));
	nb_engine_unload(ref);
}

static int
do_new_engine(const struct options *options)
{
	const char *name = options->operand;
	if (!is_name(name))
		return message_usage(
			"new-engine: '%s' is not a valid engine name: use a letter a-z, then a-z, 0-9, _ and -, %d characters at most",
			name, NAME_SIZE_MAX);
	if (is_taken(name))
		return message_usage(
			"new-engine: '%s' is reserved by Meson, which could not build the plugin; use another name",
			name);
	struct word words[WORDS];
	make_words(words, name);
	int status = make_directory(name, words);
	if (status != STATUS_DONE)
		return status;
	warn_of_namesake(name);
	print_result(name, words);
	return STATUS_DONE;
}

const struct cmd cmd_new_engine = {
	.name = "new-engine",
	.run = do_new_engine,
	.operand = "NAME",
	.help = "begin a plugin of your own in the new directory NAME",
	.detail = "Writes NAME.c, meson.build and README.md: a small working engine that you "
		  "replace piece by piece. It needs only the installed header of mininb.",
};
