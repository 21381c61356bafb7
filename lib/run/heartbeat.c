/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Observation of a thread that calls the engine, without its cooperation.
 *
 * Two checks that find the same call and the same counts show that the thread stands still. A
 * check that finds it outside the engine starts anew. So a thread that waits for its next due
 * time is not taken for a hanging one.
 *
 * A late check shows that the watcher itself stood still. Then most likely the whole process
 * did: it was stopped (^Z), its container frozen, or its virtual machine paused. The engine did
 * not cause that, so one check counts for a second at most.
 *
 * Rejected: a timestamp that the thread stores before each operation. The stamp exists anyway,
 * but would have to be compared with the clock of another thread. It would show no more than
 * the count does.
 */
#include "run/heartbeat.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { KEY_BYTES = 32 };
#define LOOK_NS UINT64_C(1000000000) /* the most that one check counts for */

bool
heartbeat_is_overdue(struct heartbeat *heartbeat, uint64_t now_ns, uint64_t limit_ns)
{
	const char *call = __atomic_load_n(&heartbeat->call, __ATOMIC_ACQUIRE);
	uint64_t count = __atomic_load_n(&heartbeat->steps, __ATOMIC_RELAXED);
	if (heartbeat->done != NULL)
		count += __atomic_load_n(heartbeat->done, __ATOMIC_ACQUIRE);
	uint64_t gap_ns = now_ns - heartbeat->looked_ns;
	heartbeat->looked_ns = now_ns;
	if (call != NULL && call == heartbeat->seen_call && count == heartbeat->seen) {
		heartbeat->since_ns += gap_ns > LOOK_NS ? gap_ns - LOOK_NS : 0;
		return now_ns - heartbeat->since_ns >= limit_ns;
	}
	heartbeat->seen_call = call;
	heartbeat->seen = count;
	heartbeat->since_ns = now_ns;
	return false;
}

void
heartbeat_describe(const struct heartbeat *heartbeat, char *buf, size_t size)
{
	const char *call = __atomic_load_n(&heartbeat->call, __ATOMIC_ACQUIRE);
	snprintf(buf, size, "in ");
	if (call == NULL)
		snprintf(buf, size, "outside of all calls of the engine");
	else if (heartbeat->describe != NULL)
		heartbeat->describe(heartbeat, call, buf + 3, size - 3);
	else
		snprintf(buf + 3, size - 3, "%s", call);
	size_t used = strlen(buf);
	if (heartbeat->worker != HEARTBEAT_DATABASE && used < size)
		snprintf(buf + used, size - used, ", worker %u", heartbeat->worker);
}

void
heartbeat_format_key(char *buf, size_t size, const void *key, size_t key_size)
{
	const unsigned char *bytes = key;
	size_t shown = key_size < KEY_BYTES ? key_size : KEY_BYTES, used = 0;
	bool is_text = key_size > 0;
	for (size_t i = 0; i < shown; i++)
		is_text &= isgraph(bytes[i]) != 0;
	buf[0] = '\0';
	for (size_t i = 0; i < shown && used < size; i++)
		used += (size_t)snprintf(
			buf + used, size - used, is_text ? "%c" : "%02x", bytes[i]);
	if (shown < key_size && used < size)
		snprintf(buf + used, size - used, "...");
}
