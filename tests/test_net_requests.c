/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When plugins/net sends its batches. A write to a Unix socket puts the bytes into the peer's
 * buffer before it returns. So the test reads their number there, and nothing depends on time.
 *
 * Mistakes that it has detected: a write for each batch; no write at half of the depth; no write
 * of many bytes; sent requests that still count as unsent, after submit or reap; one batch for
 * all submits.
 */
#include "../plugins/net/requests.h"

#include <semaphore.h>
#include <sys/ioctl.h>

#include "remote_rig.h"
#include "unit.h"

bool unit_in_scratch = true;

enum { DEPTH = 8, REQUEST = 1 + 8 + 8, BATCH = LINK_HEAD + REQUEST };

struct server {
	struct peer peer;
	int fd;
	sem_t has_greeted, is_over;
};

/** Answer the hello, and leave the rest to the test. */
static void
greet(int fd, void *of)
{
	struct server *server = of;
	struct nb_wire_hello hello = {
		.key_size_max = 100, .value_size_max = 1000000, .records = UINT64_MAX};
	struct nb_wire_head head = {.magic = NB_WIRE_MAGIC,
		.kind = NB_WIRE_HELLO,
		.flags = NB_WIRE_DONE,
		.count = sizeof(hello)};
	struct nb_wire_head request;
	if (peer_read(fd, &request, sizeof(request)) && peer_write(fd, &head, sizeof(head)) &&
		peer_write(fd, &hello, sizeof(hello)))
		server->fd = fd;
	sem_post(&server->has_greeted);
	sem_wait(&server->is_over);
}

struct fixture {
	struct server server;
	struct nb_db db;
	struct link link;
	struct stream *stream;
	struct nb_session session;
};

static void
start(struct fixture *it)
{
	const struct stream_options options = {.spin_ns = 0};
	memset(it, 0, sizeof(*it));
	sem_init(&it->server.has_greeted, 0, 0);
	sem_init(&it->server.is_over, 0, 0);
	ck_assert(peer_start(&it->server.peer, PEER_UNIX, greet, &it->server));
	ck_assert_int_eq(
		link_open(&it->link, &rig_host, it->server.peer.address, &options, DEPTH, 8),
		NB_OK);
	sem_wait(&it->server.has_greeted);
	it->db = (struct nb_db){.host = &rig_host, .target_count = 1};
	it->stream = &it->link.stream;
	it->session = (struct nb_session){.db = &it->db,
		.links = &it->link,
		.streams = &it->stream,
		.count = 1,
		.limit = DEPTH,
		.bytes_max = UINT64_MAX};
}

static void
stop(struct fixture *it)
{
	sem_post(&it->server.is_over);
	link_close(&it->link);
	peer_stop(&it->server.peer);
}

static void
submit(struct fixture *it, size_t value_size)
{
	static char value[100000];
	const struct nb_request request = {
		.verb = NB_REQ_PUT, .key = {"the key.", 8}, .value = {value, value_size}};
	size_t taken;
	ck_assert_int_eq(requests_submit(&it->session, &request, 1, &taken), NB_PENDING);
	ck_assert_uint_eq(taken, 1);
}

/** The bytes that the server could read now. */
static int
arrived(const struct fixture *it)
{
	int size = 0;
	ck_assert_int_eq(ioctl(it->server.fd, FIONREAD, &size), 0);
	return size;
}

TEST(batches_wait_until_half_of_the_depth_is_submitted)
{
	struct fixture it;
	start(&it);
	for (int half = 1; half <= 2; half++) {
		for (int i = 1; i < DEPTH / 2; i++) {
			submit(&it, 8);
			ck_assert_int_eq(arrived(&it), (half - 1) * DEPTH / 2 * BATCH);
		}
		submit(&it, 8);
		ck_assert_int_eq(arrived(&it), half * DEPTH / 2 * BATCH);
	}
	for (int i = 0; i < DEPTH; i++) {
		char bytes[REQUEST];
		struct nb_wire_head head;
		ck_assert(peer_read(it.server.fd, &head, sizeof(head)));
		ck_assert(peer_read(it.server.fd, bytes, sizeof(bytes)));
		ck_assert_uint_eq(head.count, 1);
	}
	stop(&it);
}

TEST(reap_sends_before_it_waits)
{
	struct fixture it;
	struct nb_completion done;
	size_t count;
	start(&it);
	submit(&it, 8);
	submit(&it, 8);
	ck_assert_int_eq(requests_reap(&it.session, &done, 1, &count, 0), NB_OK);
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(arrived(&it), 2 * BATCH);
	submit(&it, 8);
	submit(&it, 8);
	ck_assert_int_eq(arrived(&it), 2 * BATCH);
	stop(&it);
}

TEST(many_bytes_are_sent_at_once)
{
	struct fixture it;
	start(&it);
	submit(&it, 32 * 1024);
	ck_assert_int_gt(arrived(&it), 32 * 1024);
	stop(&it);
}
