/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ENVIRONMENT_H
#define RUN_ENVIRONMENT_H
/**
 * Where and with what a run took place: what a reader needs to repeat the numbers, or to explain
 * why they differ. Read once, before the first operation. struct sysinfo has what notes use.
 */
#include <stdbool.h>
#include <stdint.h>

/** Plain data. Texts are "" and numbers 0 where something is not known. */
struct environment {
	char begun[40];        /* "2026-11-22T04:30:37+00:00" */
	char host[64];         /* its name */
	char system[96];       /* "Debian GNU/Linux 12 (bookworm)" */
	char kernel[128];      /* "Linux 6.1.0-18-amd64 x86_64" */
	char cpu[96];          /* model */
	char clock_source[32]; /* the kernel's: "tsc", "kvm-clock" */
	char governor[32];     /* of the first CPU that the process may use: "performance" */
	char turbo[16];        /* "on", "off" */
	char huge_pages[16];   /* transparent ones: "always", "madvise", "never" */
	char container[32];    /* "docker", "lxc", ...; "" if none is seen */
	char allocator[64];    /* "glibc 2.36", "jemalloc 5.3.0" */
	char preload[256];     /* LD_PRELOAD */
	char compiler[96];     /* of mininb: "gcc 12.2.0" */
	char build[16];        /* of mininb: NB_ENGINE_BUILD */
	char revision[48];     /* git revision of mininb's source; "" if that is not known */
	char libraries[160];   /* "zlib 1.2.13, jansson 2.14" */
	char directory[256];   /* the database's, absolute */
	char mount[128];       /* where that file system is mounted */
	char mount_source[128];
	char mount_options[160];
	char device[64]; /* the block device below it: "nvme0n1"; "" if there is none */
	char device_model[64];
	char scheduler[32];       /* of that device: "none", "mq-deadline" */
	uint64_t available_bytes; /* memory that was free or could be freed */
	uint64_t swap_bytes, swap_used_bytes;
	uint64_t filesystem_bytes, free_bytes; /* of the file system */
	uint64_t last_level_cache_bytes;
	uint64_t page_bytes;
	double cpu_mhz_max;
	double load_1m; /* load average */
	uint32_t sockets, numa_nodes, threads_per_core;
	uint32_t is_rotational; /* the device */
	/* of the file system: st_dev, or of the mounted device if st_dev is not one (btrfs) */
	uint32_t device_major, device_minor;
};

/**
 * Never fails: what cannot be read is not known. `path` need not be there yet. All of the
 * system's files are looked for below `root`: "" is the system itself.
 */
void
environment_read(struct environment *environment, const char *path, const char *root);

/** Its parts: the system, processors and memory; the file system and the device below it. */
void
environment_read_machine(struct environment *environment, const char *root);
void
environment_read_place(struct environment *environment, const char *path, const char *root);

#endif /* RUN_ENVIRONMENT_H */
