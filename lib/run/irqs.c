/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moving the interrupts of the network away from the CPUs of measured threads.
 *
 * A pinned thread shares its CPU with the interrupts that the kernel handles there, and with
 * the protocol work after them. A network interface has one interrupt per queue. mininb finds
 * them by number in the device's msi_irqs, and by name in /proc/interrupts. There, drivers
 * write the interface ("eth0-rx-1") or the device ("virtio2-input.0"). Each interrupt moves to
 * one of the remaining CPUs, in turn. Given a list, the kernel would choose the same CPU for
 * all.
 *
 * A daemon such as irqbalance may move them again during the run.
 */
#include "run/irqs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "run/procfs.h"

struct irq {
	uint64_t number;
	char before[256]; /* list of CPUs */
	uint64_t cpu;     /* the CPU that handles it now */
	bool is_moved;
};

struct nb_irqs {
	char *root, *text;
	struct irq *irqs; /* sorted by number */
	size_t count;
};

/* ---- find ---- */

static int
add_irq(struct nb_irqs *irqs, uint64_t number)
{
	for (size_t i = 0; i < irqs->count; i++)
		if (irqs->irqs[i].number == number)
			return NB_OK;
	struct irq *irq = array_append(&irqs->irqs, &irqs->count, sizeof(*irq));
	if (irq == NULL)
		return error_memory();
	irq->number = number;
	return NB_OK;
}

static int
add_msi(struct nb_irqs *irqs, const char *interface)
{
	char path[PATH_MAX];
	uint64_t number;
	int rc = NB_OK;
	snprintf(path, sizeof(path), "%s/sys/class/net/%s/device/msi_irqs", irqs->root,
		interface);
	DIR *dir = opendir(path);
	if (dir == NULL)
		return NB_OK; /* the driver has none, or another mechanism */
	for (struct dirent *entry; rc == NB_OK && (entry = readdir(dir)) != NULL;)
		if (isdigit((unsigned char)entry->d_name[0]) &&
			procfs_parse_number(&number, entry->d_name))
			rc = add_irq(irqs, number);
	closedir(dir);
	return rc;
}

/** Whether the text contains the word between characters that are not alphanumeric. */
static bool
has_word(const char *text, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = text; length > 0 && (at = strstr(at, word)) != NULL; at++)
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
			!isalnum((unsigned char)at[length]))
			return true;
	return false;
}

struct search {
	struct nb_irqs *irqs;
	const char *interface, *device;
	int rc;
};

static bool
see_line(void *arg, char *line)
{
	struct search *search = arg;
	char *end;
	errno = 0;
	uint64_t number = strtoull(line, &end, 10);
	bool is_of_device = end != line && *end == ':' && errno == 0 &&
		(has_word(end, search->interface) || has_word(end, search->device));
	if (is_of_device)
		search->rc = add_irq(search->irqs, number);
	return search->rc == NB_OK;
}

static int
find_irqs(struct nb_irqs *irqs, const char *interface)
{
	char path[PATH_MAX], device[PATH_MAX];
	size_t before = irqs->count;
	snprintf(path, sizeof(path), "%s/sys/class/net/%s", irqs->root, interface);
	if (strchr(interface, '/') != NULL || access(path, F_OK) != 0)
		return error_set(NB_ERR_USAGE,
			"pinirq: network interface '%s' does not exist; 'ls /sys/class/net' lists them",
			interface);
	snprintf(path, sizeof(path), "%s/sys/class/net/%s/device", irqs->root, interface);
	if (realpath(path, device) == NULL)
		return error_set(NB_ERR_USAGE,
			"pinirq: %s has no device, so it has no interrupts; name a physical interface",
			interface);
	struct search search = {irqs, interface, strrchr(device, '/') + 1, NB_OK};
	int rc = add_msi(irqs, interface);
	if (rc == NB_OK)
		procfs_lines(irqs->root, "/proc/interrupts", see_line, &search);
	if (rc != NB_OK || search.rc != NB_OK)
		return rc != NB_OK ? rc : search.rc;
	return irqs->count > before
		? NB_OK
		: error_set(NB_FAIL,
			  "pinirq: %s: neither device/msi_irqs nor /proc/interrupts names an interrupt of it",
			  interface);
}

static int
find_all(struct nb_irqs *irqs)
{
	char path[PATH_MAX];
	int rc = NB_OK;
	snprintf(path, sizeof(path), "%s/sys/class/net", irqs->root);
	DIR *dir = opendir(path);
	if (dir == NULL)
		return error_system("pinirq: %s", path);
	for (struct dirent *entry; rc == NB_OK && (entry = readdir(dir)) != NULL;)
		if (entry->d_name[0] != '.' &&
			procfs_exists(irqs->root, "/sys/class/net/%s/device", entry->d_name))
			rc = find_irqs(irqs, entry->d_name);
	closedir(dir);
	if (rc == NB_OK && irqs->count == 0)
		rc = error_set(
			NB_FAIL, "pinirq: this machine has no physical network interface");
	return rc;
}

static int
find_named(struct nb_irqs *irqs, const char *interfaces)
{
	char *names = strdup(interfaces), *save = NULL;
	int rc = names == NULL ? error_memory() : NB_OK;
	for (char *name = rc == NB_OK ? strtok_r(names, ",", &save) : NULL;
		name != NULL && rc == NB_OK; name = strtok_r(NULL, ",", &save))
		rc = find_irqs(irqs, name);
	free(names);
	if (rc == NB_OK && irqs->count == 0)
		rc = error_set(NB_ERR_USAGE, "pinirq: '%s' names no interface", interfaces);
	return rc;
}

/* ---- move ---- */

static int
set_affinity(const struct nb_irqs *irqs, const struct irq *irq, const char *cpus)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/proc/irq/%" PRIu64 "/smp_affinity_list", irqs->root,
		irq->number);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	bool is_written = fd >= 0 && write(fd, cpus, strlen(cpus)) == (ssize_t)strlen(cpus);
	int error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	if (is_written)
		return NB_OK;
	const char *why = error == EACCES || error == EPERM || error == EROFS
		? "; this needs root, outside of containers"
		: error == EIO ? "; its driver does not let it be moved"
			       : "";
	return error_set(NB_FAIL, "pinirq: %s cannot be set to CPU %s: %s%s", path, cpus,
		strerror(error), why);
}

static int
move_irq(struct nb_irqs *irqs, struct irq *irq, uint64_t cpu)
{
	char to[24];
	if (!procfs_line(irq->before, sizeof(irq->before), irqs->root,
		    "/proc/irq/%" PRIu64 "/smp_affinity_list", irq->number))
		return error_set(NB_FAIL,
			"pinirq: %s/proc/irq/%" PRIu64 "/smp_affinity_list cannot be read",
			irqs->root, irq->number);
	snprintf(to, sizeof(to), "%" PRIu64, cpu);
	irq->cpu = cpu;
	int rc = set_affinity(irqs, irq, to);
	irq->is_moved = rc == NB_OK;
	return rc;
}

static int
by_number(const void *a, const void *b)
{
	const struct irq *one = a, *other = b;
	return one->number < other->number ? -1 : one->number > other->number;
}

/** The next CPU that is online and not busy, round-robin. False: none. */
static bool
next_free(const char *online, const cpu_set_t *busy, uint64_t *nth, uint64_t *cpu)
{
	uint64_t at = 0, count = procfs_list(online, &at);
	for (uint64_t tries = 0; tries < count; tries++) {
		*cpu = (*nth)++;
		(void)procfs_list(online, cpu);
		if (*cpu >= CPU_SETSIZE || !CPU_ISSET(*cpu, busy))
			return true;
	}
	return false;
}

static int
move_all(struct nb_irqs *irqs, const cpu_set_t *busy)
{
	char online[1024];
	uint64_t nth = 0, cpu;
	int rc = NB_OK;
	if (!procfs_line(online, sizeof(online), irqs->root, "/sys/devices/system/cpu/online"))
		return error_set(NB_FAIL,
			"pinirq: %s/sys/devices/system/cpu/online cannot be read", irqs->root);
	qsort(irqs->irqs, irqs->count, sizeof(*irqs->irqs), by_number);
	for (size_t i = 0; i < irqs->count && rc == NB_OK; i++)
		rc = next_free(online, busy, &nth, &cpu)
			? move_irq(irqs, &irqs->irqs[i], cpu)
			: error_set(NB_ERR_USAGE,
				  "pinirq: threads are pinned to all CPUs that are online (%s), so none is left for interrupts; use fewer threads",
				  online);
	return rc;
}

static int
describe(struct nb_irqs *irqs)
{
	size_t size;
	FILE *out = open_memstream(&irqs->text, &size);
	if (out == NULL)
		return error_memory();
	fprintf(out, "moved %zu network interrupt%s until the end:", irqs->count,
		irqs->count == 1 ? "" : "s");
	for (size_t i = 0; i < irqs->count; i++)
		fprintf(out, "%s %" PRIu64 " from CPU %s to %" PRIu64, i > 0 ? "," : "",
			irqs->irqs[i].number, irqs->irqs[i].before, irqs->irqs[i].cpu);
	return fclose(out) == 0 ? NB_OK : error_memory();
}

/** Move all back, even after a failure. Returns the first failure. */
static int
move_back(struct nb_irqs *irqs)
{
	int rc = NB_OK;
	for (size_t i = irqs->count; i-- > 0;)
		if (irqs->irqs[i].is_moved) {
			int one = set_affinity(irqs, &irqs->irqs[i], irqs->irqs[i].before);
			rc = rc == NB_OK ? one : rc;
		}
	return rc;
}

static void delete (struct nb_irqs *irqs)
{
	free(irqs->root);
	free(irqs->text);
	free(irqs->irqs);
	free(irqs);
}

int
irqs_move(struct nb_irqs **out, const char *root, const char *interfaces, const cpu_set_t *busy)
{
	struct nb_irqs *irqs = calloc(1, sizeof(*irqs));
	*out = NULL;
	if (irqs == NULL || (irqs->root = strdup(root)) == NULL) {
		free(irqs);
		return error_memory();
	}
	int rc = strcmp(interfaces, "all") == 0 ? find_all(irqs) : find_named(irqs, interfaces);
	if (rc == NB_OK)
		rc = move_all(irqs, busy);
	if (rc == NB_OK)
		rc = describe(irqs);
	if (rc == NB_OK) {
		*out = irqs;
		return NB_OK;
	}
	char text[512];
	snprintf(text, sizeof(text), "%s", nb_error_text());
	if (move_back(irqs) != NB_OK)
		error_prefix(rc, "%s; and then", text);
	else
		error_set(rc, "%s", text);
	delete (irqs);
	return rc;
}

/* ---- the CPUs of threads ---- */

int
irqs_busy(cpu_set_t *busy, uint32_t threads, const char *cpus)
{
	cpu_set_t allowed;
	CPU_ZERO(busy);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return error_system("pinirq: sched_getaffinity");
	for (size_t cpu = 0; cpu < CPU_SETSIZE && threads > 0; cpu++)
		if (CPU_ISSET(cpu, &allowed)) { /* like run_pin() */
			CPU_SET(cpu, busy);
			threads--;
		}
	uint64_t at = 0, count = cpus == NULL ? 0 : procfs_list(cpus, &at);
	if (cpus != NULL && count == 0)
		return error_set(
			NB_ERR_USAGE, "cpus: '%s' is not a list of CPUs such as 0-3,8", cpus);
	for (uint64_t i = 0, cpu; i < count && i < CPU_SETSIZE; i++) {
		cpu = i;
		(void)procfs_list(cpus, &cpu);
		if (cpu < CPU_SETSIZE)
			CPU_SET(cpu, busy);
	}
	return NB_OK;
}

int
nb_irqs_move(struct nb_irqs **out, const char *interfaces, uint32_t threads, const char *cpus)
{
	cpu_set_t busy;
	*out = NULL;
	int rc = irqs_busy(&busy, threads, cpus);
	return rc == NB_OK ? irqs_move(out, "", interfaces, &busy) : rc;
}

const char *
nb_irqs_text(const struct nb_irqs *irqs)
{
	return irqs->text;
}

int
nb_irqs_restore(struct nb_irqs *irqs)
{
	if (irqs == NULL)
		return NB_OK;
	int rc = move_back(irqs);
	delete (irqs);
	return rc;
}
