/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ENVIRONMENT_H
#define RUN_ENVIRONMENT_H
/**
 * The environment of a run: what a reader needs to repeat the numbers, or to explain
 * differences. Read once, before the first operation. struct sysinfo has the facts for notes.
 */
#include <stdbool.h>
#include <stdint.h>

/** Plain data. Unknown texts are "", and unknown numbers 0. */
struct environment {
	char begun[40];        /* "2026-11-22T04:30:37+00:00" */
	char host[64];         /* host name */
	char system[96];       /* "Debian GNU/Linux 12 (bookworm)" */
	char kernel[128];      /* "Linux 6.1.0-18-amd64 x86_64" */
	char cpu[96];          /* model */
	char clock_source[32]; /* of the kernel: "tsc", "kvm-clock" */
	char governor[32];     /* of the first CPU that the process may use: "performance" */
	char turbo[16];        /* "on", "off" */
	char huge_pages[16];   /* transparent huge pages: "always", "madvise", "never" */
	char container[32];    /* "docker", "lxc", ...; "" if none was detected */
	char allocator[64];    /* "glibc 2.36", "jemalloc 5.3.0" */
	char preload[256];     /* LD_PRELOAD */
	char compiler[96];     /* of mininb: "gcc 12.2.0" */
	char build[16];        /* of mininb: NB_ENGINE_BUILD */
	char revision[48];     /* git revision of mininb's source; "": not known */
	char libraries[160];   /* "zlib 1.2.13, jansson 2.14" */
	char directory[256];   /* of the database, absolute */
	char mount[128];       /* mount point of its file system */
	char mount_source[128];
	char mount_options[160];
	char device[64]; /* the block device below the file system: "nvme0n1"; "": none */
	char device_model[64];
	char scheduler[32];       /* of the device: "none", "mq-deadline" */
	uint64_t available_bytes; /* memory that was free or could be reclaimed */
	uint64_t swap_bytes, swap_used_bytes;
	uint64_t filesystem_bytes, free_bytes; /* of the database's file system */
	uint64_t last_level_cache_bytes;
	uint64_t page_bytes;
	double cpu_mhz_max;
	double load_1m; /* load average */
	uint32_t sockets, numa_nodes, threads_per_core;
	uint32_t is_rotational; /* of the device */
	/* st_dev of the file system; or the mounted device if st_dev is not a device (btrfs) */
	uint32_t device_major, device_minor;
};

/**
 * Read the environment. Never fails: facts that cannot be read stay unknown. `path` need not
 * exist yet. All system files are read below `root`: "" is the system itself.
 */
void
environment_read(struct environment *environment, const char *path, const char *root);

/**
 * The parts of environment_read(): system, processors and memory; file system and its device.
 */
void
environment_read_machine(struct environment *environment, const char *root);
void
environment_read_place(struct environment *environment, const char *path, const char *root);

#endif /* RUN_ENVIRONMENT_H */
