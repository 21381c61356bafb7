/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_FAULTS_H
#define FASTER_FAULTS_H
/** Included before plugins/faster/file.c: redirects its system calls to faster_rig.c. */
#include <sys/types.h>
#include <unistd.h>

ssize_t
rig_pwrite(int fd, const void *data, size_t size, off_t offset);
ssize_t
rig_pread(int fd, void *data, size_t size, off_t offset);
int
rig_fdatasync(int fd);

#define pwrite rig_pwrite
#define pread rig_pread
#define fdatasync rig_fdatasync

#endif /* FASTER_FAULTS_H */
