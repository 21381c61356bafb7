/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * new-engine: makes a plugin under another name from the template's three files.
 *
 * The template's own name is 'example', so it can be built and tested in the repository. Before
 * '_' the name is part of a C identifier, and '-' in the new name becomes '_'. Elsewhere it is
 * the driver, the .so and the project.
 *
 * An existing directory is not changed. After a failure all new files are removed.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "kept.h"
#include "message.h"
#include "options.h"

enum { NAME_SIZE_MAX = 64 };

/* ---- the name ---- */

static bool
is_name(const char *name)
{
	size_t length = strlen(name);
	return name[0] >= 'a' && name[0] <= 'z' && length <= NAME_SIZE_MAX &&
		strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

/** Names of Meson's own targets: a plugin with such a name cannot be built. */
static bool
is_taken(const char *name)
{
	return strncmp(name, "meson-", strlen("meson-")) == 0 ||
		options_has_word("all benchmark clean coverage dist distcheck install phony "
				 "reconfigure scan-build test uninstall",
			name);
}

/* ---- the files ---- */

/** The path of the file in the new directory. */
static const char *
path_of(const char *name, const struct template_file *file)
{
	return strcmp(file->name, "engine.c") == 0 ? kept_text("%s/%s.c", name, name)
						   : kept_text("%s/%s", name, file->name);
}

/** Returns 0 or errno. */
static int
write_file(const char *name, const struct template_file *file)
{
	char *identifier = kept_text("%s_", name);
	for (char *c = identifier; *c != '\0'; c++)
		*c = (char)(*c == '-' ? '_' : *c);
	const struct help_mark words[] = {
		{.text = "engine.c", .to = kept_text("%s.c", name)},
		{.text = "example_", .to = identifier},
		{.text = "example", .to = name},
		{.text = NULL},
	};
	FILE *out = fopen(path_of(name, file), "wxe");
	if (out == NULL)
		return errno;
	errno = 0;
	help_print_marked(out, file, words);
	bool is_written = fflush(out) == 0 && !ferror(out);
	bool is_closed = fclose(out) == 0; /* some file systems report a failure only here */
	return is_written && is_closed ? 0 : errno != 0 ? errno : EIO;
}

/** Makes the directory with all files, or nothing. */
static int
make_directory(const char *name)
{
	if (mkdir(name, 0777) != 0)
		return errno == EEXIST
			? message_failed("%s already exists; mininb did not change it", name)
			: message_failed("cannot make %s: %s", name, strerror(errno));
	for (const struct template_file *file = template_files; file->name != NULL; file++) {
		int error = write_file(name, file);
		if (error == 0)
			continue;
		if (nb_tree_remove(name) != 0)
			message_warning("%s", nb_error_text());
		return message_failed("cannot write %s: %s; mininb made nothing",
			path_of(name, file), strerror(error));
	}
	return STATUS_DONE;
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
print_result(const char *name)
{
	fprintf(nb_stdout(), "Action: new-engine\nDirectory: %s\n", name);
	for (const struct template_file *file = template_files; file->name != NULL; file++)
		fprintf(nb_stdout(), "File: %s\n", path_of(name, file));
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
	int status = make_directory(name);
	if (status != STATUS_DONE)
		return status;
	warn_of_namesake(name);
	print_result(name);
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
