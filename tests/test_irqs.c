/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees of files that stand for /sys and /proc: which interrupts mininb moves, where to, and
 * back.
 */
#include "run/irqs.h"

#include <errno.h>

#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static void
make(const char *path, const char *text)
{
	char full[512];
	snprintf(full, sizeof(full), "./tree%s", path);
	for (char *at = strchr(full + 7, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		ck_assert(mkdir(full, 0777) == 0 || errno == EEXIST);
		*at = '/';
	}
	if (text != NULL)
		file_put(full, text, strlen(text));
	else
		ck_assert(mkdir(full, 0777) == 0 || errno == EEXIST);
}

static void
make_irq(unsigned number, const char *cpus)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list", number);
	make(path, cpus);
}

/**
 * An interface whose driver lists its interrupts, one whose driver names them, and one without
 * a device.
 */
static void
make_tree(const char *test)
{
	scratch_fresh(test);
	make("", NULL);
	make("/sys/devices/system/cpu/online", "0-3\n");
	make("/sys/devices/pci0/0000:03:00.0/msi_irqs/41", "msix\n");
	make("/sys/devices/pci0/0000:03:00.0/msi_irqs/40", "msix\n");
	make("/sys/devices/virtio2/modalias", "virtio\n");
	make("/sys/class/net/eth1/mtu", "1500\n");
	make("/sys/class/net/eth10/mtu", "1500\n");
	make("/sys/class/net/lo/mtu", "65536\n");
	ck_assert_int_eq(
		symlink("../../../devices/pci0/0000:03:00.0", "tree/sys/class/net/eth1/device"),
		0);
	ck_assert_int_eq(
		symlink("../../../devices/virtio2", "tree/sys/class/net/eth10/device"), 0);
	make("/proc/interrupts",
		"           CPU0       CPU1\n"
		"   9:          0          5   IO-APIC   9-fasteoi   acpi\n"
		"  37:          0          0   PCI-MSIX-0000:00:05.0   0-edge   virtio2-config\n"
		"  38:         10          0   PCI-MSIX-0000:00:05.0   1-edge   virtio2-input.0\n"
		"  39:         10          0   PCI-MSIX-0000:00:06.0   1-edge   virtio20-input.0\n"
		"  40:         77          0   PCI-MSIX-0000:03:00.0   0-edge   eth1-TxRx-0\n"
		"  42:          7          0   IO-APIC   2-edge   eth1\n"
		" NMI:          0          0   Non-maskable interrupts of eth1\n");
	for (unsigned number = 37; number <= 42; number++)
		make_irq(number, number == 41 ? "0,2-3\n" : "0-3\n");
}

static void
affinity_is(unsigned number, const char *cpus)
{
	char path[64];
	snprintf(path, sizeof(path), "tree/proc/irq/%u/smp_affinity_list", number);
	size_t size;
	char *text = (char *)file_get(path, &size);
	size_t length = strcspn(text, "\n");
	ck_assert_msg(length == strlen(cpus) && memcmp(text, cpus, length) == 0,
		"irq %u is at %.*s, not %s", number, (int)length, text, cpus);
	free(text);
}

static cpu_set_t
cpus_below(size_t count)
{
	cpu_set_t busy;
	CPU_ZERO(&busy);
	for (size_t cpu = 0; cpu < count; cpu++)
		CPU_SET(cpu, &busy);
	return busy;
}

/**
 * Moving the interrupts of `interfaces` away from the first `busy` CPUs fails with this text.
 */
static void
refused(const char *interfaces, size_t busy, const char *why)
{
	struct nb_irqs *irqs;
	cpu_set_t set = cpus_below(busy);
	ck_assert_int_lt(irqs_move(&irqs, "tree", interfaces, &set), 0);
	ck_assert_ptr_null(irqs);
	ck_assert_msg(
		strstr(nb_error_text(), why) != NULL, "'%s' lacks '%s'", nb_error_text(), why);
	for (unsigned number = 37; number <= 40; number++)
		affinity_is(number, "0-3");
}

TEST(interrupts_of_an_interface_go_to_the_other_cpus_in_turn_and_back)
{
	struct nb_irqs *irqs;
	cpu_set_t busy = cpus_below(2);
	make_tree("moved");
	ck_assert_int_eq(irqs_move(&irqs, "tree", "eth1", &busy), NB_OK);
	ck_assert_str_eq(nb_irqs_text(irqs),
		"moved 3 network interrupts until the end: 40 from CPU 0-3 to 2, 41 from CPU 0,2-3 to 3, 42 from CPU 0-3 to 2");
	affinity_is(40, "2");
	affinity_is(41, "3");
	affinity_is(42, "2");
	affinity_is(37, "0-3"); /* an interrupt of another device */
	ck_assert_int_eq(nb_irqs_restore(irqs), NB_OK);
	affinity_is(40, "0-3");
	affinity_is(41, "0,2-3");
	affinity_is(42, "0-3");
}

TEST(all_selects_interfaces_with_a_device)
{
	struct nb_irqs *irqs;
	cpu_set_t busy = cpus_below(3);
	make_tree("all");
	ck_assert_int_eq(irqs_move(&irqs, "tree", "all", &busy), NB_OK);
	for (unsigned number = 37; number <= 42; number++)
		affinity_is(number, number == 39 ? "0-3" : "3"); /* 39 belongs to virtio20 */
	ck_assert_int_eq(nb_irqs_restore(irqs), NB_OK);
	for (unsigned number = 37; number <= 40; number++)
		affinity_is(number, "0-3");
}

TEST(each_reason_is_reported_and_interrupts_are_restored)
{
	make_tree("refused");
	refused("eth1", 4, "threads are pinned to all CPUs that are online (0-3)");
	refused("lo", 2, "lo has no device");
	refused("eth10,eth7", 2, "network interface 'eth7' does not exist");
	refused("../net/eth1", 2, "network interface '../net/eth1' does not exist");
	refused(",", 2, "',' names no interface");
	ck_assert_int_eq(unlink("tree/proc/irq/42/smp_affinity_list"), 0);
	refused("eth1", 2, "/proc/irq/42/smp_affinity_list cannot be read");
	affinity_is(41, "0,2-3");
	file_put("tree/proc/interrupts", "", 0);
	refused("eth10", 2, "eth10: neither device/msi_irqs nor /proc/interrupts names");
}

TEST(threads_use_the_first_allowed_or_listed_cpus)
{
	cpu_set_t allowed, busy;
	ck_assert_int_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	ck_assert_int_eq(irqs_busy(&busy, 1, NULL), NB_OK);
	ck_assert_int_eq(CPU_COUNT(&busy), 1);
	CPU_AND(&busy, &busy, &allowed);
	ck_assert_int_eq(CPU_COUNT(&busy), 1);
	ck_assert_int_eq(irqs_busy(&busy, 100000, NULL), NB_OK);
	ck_assert(CPU_EQUAL(&busy, &allowed));
	ck_assert_int_eq(irqs_busy(&busy, 0, "8-9,11"), NB_OK);
	ck_assert(CPU_ISSET(8, &busy) && CPU_ISSET(9, &busy) && CPU_ISSET(11, &busy));
	ck_assert_int_eq(CPU_COUNT(&busy), 3);
	ck_assert_int_eq(irqs_busy(&busy, 0, "8-"), NB_ERR_USAGE);
}
