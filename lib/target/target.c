/* SPDX-License-Identifier: BSD-2-Clause */
/* All servers of a target. */
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "target/server.h"

/* Connections in addition to the sessions: for the database, commands and administrators. */
enum { CONNECTIONS_MORE = 32 };

struct target {
	struct target_place place;
	struct server_common common;
	struct server *servers;
	size_t created;
	struct addresses addresses;
};

/** Look up the user `name` as which servers run, and its groups. */
static int
find_user(struct server_common *common, const char *name)
{
	struct guard_user *user = &common->user;
	const struct passwd *entry = getpwnam(name);
	if (entry == NULL)
		return error_set(NB_ERR_USAGE, "user: user '%.60s' does not exist", name);
	user->uid = entry->pw_uid;
	user->gid = entry->pw_gid;
	user->group_count = (int)(sizeof(user->groups) / sizeof(*user->groups));
	if (getgrouplist(name, user->gid, user->groups, &user->group_count) < 0)
		user->group_count = (int)(sizeof(user->groups) / sizeof(*user->groups));
	common->as = user;
	return NB_OK;
}

static int
take_user(struct server_common *common)
{
	const char *name = target_spec_text(common->spec, TARGET_USER);
	const struct passwd *own = getpwuid(geteuid());
	bool is_other = name[0] != '\0' && geteuid() == 0;
	if (is_other) {
		int rc = find_user(common, name);
		if (rc != NB_OK)
			return rc;
	} else {
		name = own != NULL ? own->pw_name : "";
	}
	snprintf(common->user_name, sizeof(common->user_name), "%s", name);
	return NB_OK;
}

static int
take_spec(struct target *target, const struct target_spec *spec)
{
	struct server_common *common = &target->common;
	const char *cpus = target_spec_text(spec, TARGET_CPUS);
	uint64_t cache = target->place.cache_bytes > 0 ? target->place.cache_bytes
						       : target_spec_number(spec, TARGET_CACHE);
	uint64_t mib = cache >> 20;
	*common = (struct server_common){.spec = spec,
		.place = &target->place,
		.count = target_spec_number(spec, TARGET_COUNT)};
	snprintf(common->cache, sizeof(common->cache), "%" PRIu64, cache);
	snprintf(common->cache_mib, sizeof(common->cache_mib), "%" PRIu64, mib > 0 ? mib : 1);
	snprintf(common->sessions, sizeof(common->sessions), "%u", target->place.sessions);
	snprintf(common->connections, sizeof(common->connections), "%u",
		target->place.sessions + CONNECTIONS_MORE);
	if (spec->texts[TARGET_COMMAND] == NULL || spec->texts[TARGET_ADDRESS] == NULL)
		return error_set(NB_ERR_USAGE, "a server needs the keys command and address");
	int rc = cpus[0] != '\0' ? words_cpus(&common->cpus, cpus) : NB_OK;
	common->on = cpus[0] != '\0' ? &common->cpus : NULL;
	return rc == NB_OK ? take_user(common) : rc;
}

int
target_new(
	struct target **out, const struct target_spec *spec, const struct target_place *place)
{
	struct target *target = calloc(1, sizeof(*target));
	if (target == NULL)
		return error_memory();
	target->place = *place;
	char *here = place->directory[0] != '/' ? getcwd(NULL, 0) : NULL;
	int rc = take_spec(target, spec);
	if (asprintf(&target->common.directory, "%s%s%s/server", here != NULL ? here : "",
		    here != NULL ? "/" : "", place->directory) < 0) {
		target->common.directory = NULL;
		rc = error_memory();
	}
	free(here);
	target->servers = calloc(target->common.count + 1, sizeof(*target->servers));
	if (rc == NB_OK && target->servers == NULL)
		rc = error_memory();
	for (size_t i = 0; i < target->common.count && rc == NB_OK; i++) {
		target->created++; /* also destroy a partly created server */
		rc = server_create(&target->servers[i], &target->common, i + 1);
		if (rc == NB_OK && i == 0)
			rc = server_check(&target->servers[0]);
	}
	if (rc == NB_OK)
		*out = target;
	else
		target_delete(target);
	return rc == NB_OK ? NB_OK : error_prefix(rc, "target");
}

/**
 * Fail if the database was created with another number of servers, because each has its
 * part of the records.
 */
static int
check_count(const struct target *target)
{
	char first[32], last[32], beyond[32];
	size_t count = target->common.count;
	int at = open(target->common.directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(first, sizeof(first), "1.prepared");
	snprintf(last, sizeof(last), "%zu.prepared", count);
	snprintf(beyond, sizeof(beyond), "%zu.prepared", count + 1);
	bool is_other = at >= 0 && faccessat(at, "joined", F_OK, 0) == 0 &&
		faccessat(at, first, F_OK, 0) == 0 &&
		(faccessat(at, last, F_OK, 0) != 0 || faccessat(at, beyond, F_OK, 0) == 0);
	if (at >= 0)
		close(at);
	return is_other
		? error_set(NB_FAIL,
			  "%s: the database was made with another number of servers than %zu; use that count, or --fresh",
			  target->place.directory, count)
		: NB_OK;
}

/**
 * Read the durability level with which the servers first started, from the file `joined`;
 * *level is "" if the file does not exist.
 */
static int
read_joined(const struct target *target, char level[16])
{
	char *path;
	if (asprintf(&path, "%s/joined", target->common.directory) < 0)
		return error_memory();
	FILE *file = fopen(path, "re");
	level[0] = '\0';
	if (file != NULL && fgets(level, 16, file) == NULL)
		strcpy(level, "?");
	if (file != NULL)
		fclose(file);
	free(path);
	return NB_OK;
}

static int
write_joined(const struct target *target)
{
	char *path;
	if (asprintf(&path, "%s/joined", target->common.directory) < 0)
		return error_memory();
	FILE *file = fopen(path, "we");
	int rc = file != NULL ? NB_OK : error_system("%s", path);
	if (file != NULL &&
		(fputs(target_level(target->place.durability), file) < 0 || fclose(file) != 0))
		rc = error_system("%s", path);
	free(path);
	return rc;
}

/**
 * Fail if the level differs and is fixed: a server may not find data written at another
 * level.
 */
static int
check_level(const struct target *target)
{
	char level[16];
	const char *now = target_level(target->place.durability);
	int rc = read_joined(target, level);
	if (rc != NB_OK || target_spec_number(target->common.spec, TARGET_FIXED) == 0 ||
		level[0] == '\0' || strcmp(level, now) == 0)
		return rc;
	return error_set(NB_FAIL,
		"%s: its servers wrote their data with durability %s, and may not find it with %s; use --durability=%s, or --fresh",
		target->place.directory, level, now, level);
}

/** Store the addresses as a text "A B C" and as a list. */
static int
take_addresses(struct target *target)
{
	struct server_common *common = &target->common;
	char *all = NULL;
	size_t size;
	int rc = NB_OK;
	addresses_destroy(&target->addresses);
	free(common->addresses);
	common->addresses = NULL;
	FILE *to = open_memstream(&all, &size);
	if (to == NULL)
		return error_memory();
	for (size_t i = 0; i < common->count && rc == NB_OK; i++) {
		fprintf(to, "%s%s", i > 0 ? " " : "", target->servers[i].address);
		rc = addresses_parse(&target->addresses, target->servers[i].address);
	}
	if (fclose(to) != 0 && rc == NB_OK)
		rc = error_memory();
	common->addresses = all;
	return rc == NB_OK ? NB_OK : error_prefix(rc, "address");
}

static int
join(struct target *target)
{
	char level[16];
	int rc = read_joined(target, level);
	if (rc != NB_OK || level[0] != '\0')
		return rc;
	if (target->common.spec->texts[TARGET_JOIN] != NULL)
		rc = server_do(&target->servers[0], TARGET_JOIN);
	return rc == NB_OK ? write_joined(target) : rc;
}

static int
start_all(struct target *target)
{
	size_t count = target->common.count;
	int rc = nb_tree_make(target->common.directory);
	if (rc == NB_OK)
		rc = check_count(target);
	if (rc == NB_OK)
		rc = check_level(target);
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		rc = server_prepare(&target->servers[i]);
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		rc = server_start(&target->servers[i]);
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		rc = server_await(&target->servers[i]);
	if (rc == NB_OK)
		rc = take_addresses(target);
	return rc == NB_OK ? join(target) : rc;
}

int
target_wait(struct target *target)
{
	int rc = NB_OK;
	for (size_t i = 0; i < target->common.count && rc == NB_OK; i++)
		rc = server_wait(&target->servers[i]);
	return rc;
}

int
target_start(struct target *target)
{
	char text[1024];
	int rc = start_all(target);
	if (rc == NB_OK)
		return NB_OK;
	snprintf(text, sizeof(text), "%s", nb_error_text());
	int stopped = target_stop(target);
	return error_set(stopped == NB_OK || rc != NB_OK ? rc : stopped, "%s", text);
}

const struct addresses *
target_addresses(const struct target *target)
{
	return &target->addresses;
}

int
target_look(struct target *target)
{
	int rc = NB_OK;
	for (size_t i = 0; i < target->common.count && rc == NB_OK; i++)
		rc = server_look(&target->servers[i]);
	return rc;
}

int
target_stop(struct target *target)
{
	int rc = NB_OK;
	for (size_t i = 0; i < target->common.count; i++)
		server_order_stop(&target->servers[i]);
	for (size_t i = 0; i < target->common.count; i++) {
		int stopped = server_stop(&target->servers[i]);
		rc = rc == NB_OK ? stopped : rc;
	}
	return rc;
}

size_t
target_count(const struct target *target)
{
	return target->common.count;
}

pid_t
target_guard(const struct target *target, size_t index)
{
	return target->servers[index].guard.pid;
}

void
target_delete(struct target *target)
{
	if (target == NULL)
		return;
	for (size_t i = 0; i < target->created; i++)
		server_destroy(&target->servers[i]);
	free(target->servers);
	addresses_destroy(&target->addresses);
	free(target->common.addresses);
	free(target->common.directory);
	free(target);
}
