/* SPDX-License-Identifier: BSD-2-Clause */
/* serve: provides an engine on the network until a signal ends it, then prints counts. */
#include <inttypes.h>
#include <stdio.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "kept.h"
#include "message.h"
#include "options.h"

static struct {
	const char *listen, *log_dirs, *checkpoint_dirs;
	uint64_t transport, connections, value_max, buffer_max, spin_ns;
	bool may_reset, is_async;
} own;

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define INTO(name) .into = &own.name
/* clang-format off */
static const struct option_row own_options[] = {
	{.name = "listen", .arg = "ADDRESS", .type = OPTION_TEXT, .def = "127.0.0.1:7379",
		.group = GROUP_DATA, INTO(listen),
		.help = "address to serve at: HOST:PORT, [IPv6]:PORT or unix:PATH",
		.detail = "With port 0 the system chooses a free port, which mininb prints. "
			"Clients need no password, so mininb warns of an address that other "
			"machines can reach."},
	{.name = "transport", .arg = "NAME", .type = OPTION_CHOICE, .def = "sockets",
		.choices = "sockets|ofi", .group = GROUP_DATA, INTO(transport),
		.help = "how clients connect: sockets, or ofi for libfabric",
		.detail = "With ofi the driver net can connect, with -o transport=ofi, and Redis "
			"clients cannot. $FI_PROVIDER selects libfabric's provider: tcp, verbs."},
	{.name = "max-connections", .arg = "COUNT", .type = OPTION_COUNT, .def = "10000",
		.min = 1, .max = 1000000, .group = GROUP_DATA, INTO(connections),
		.help = "refuse further connections above COUNT"},
	{.name = "max-value", .arg = "SIZE", .type = OPTION_BYTES, .def = "16MiB",
		.min = 1, .max = NB_VALUE_SIZE_MAX, .group = GROUP_DATA, INTO(value_max),
		.help = "largest value that clients may store"},
	{.name = "max-buffers", .arg = "SIZE", .type = OPTION_BYTES, .def = "1GiB",
		.min = 1 << 20, .max = INT64_MAX, .group = GROUP_DATA, INTO(buffer_max),
		.help = "close connections that would need more than SIZE of buffers together"},
	{.name = "spin", .arg = "TIME", .type = OPTION_TIME, .def = "50us", .group = GROUP_MEASURE,
		INTO(spin_ns),
		.help = "poll for up to TIME before each sleep, while that pays; 0s: never",
		.detail = "Polling serves small batches several times as fast as sleeping, if "
			"clients send the next one within TIME and the thread has a CPU of its own. "
			"A thread stops polling while requests come later, or when another program "
			"uses its CPU."},
	{.name = "allow-reset", .type = OPTION_FLAG, .group = GROUP_DATA, INTO(may_reset),
		.help = "let clients remove all records (FLUSHALL, or --fresh of the driver net)"},
	{.name = "log-dirs", .arg = "DIR,DIR", .type = OPTION_TEXT, .group = GROUP_DATA,
		INTO(log_dirs),
		.help = "write the engine's logs in these directories: as -o log_dirs=DIR,DIR"},
	{.name = "checkpoint-dirs", .arg = "DIR,DIR", .type = OPTION_TEXT, .group = GROUP_DATA,
		INTO(checkpoint_dirs),
		.help = "write its checkpoints there: as -o checkpoint_dirs=DIR,DIR"},
	{.name = "async", .type = OPTION_FLAG, .group = GROUP_MEASURE, INTO(is_async),
		.help = "keep requests in flight in the engine instead of waiting for each batch",
		.detail = "For engines that wait for storage: a request that waits does not "
			"delay other connections. RESP clients get their answers in order; the "
			"driver net takes late answers out of order."},
	{.name = NULL},
};
/* clang-format on */

/** Printed to stderr, because stdout has only the report. Scripts wait for this line. */
static void
print_ready(void *arg, const struct nb_serve_ready *ready)
{
	(void)arg;
	fprintf(stderr, "mininb: ready: %s %s at %s, %" PRIu32 " thread%s, durability %s\n",
		ready->engine->name, ready->engine->version(), ready->address, ready->threads,
		ready->threads == 1 ? "" : "s", nb_durability_name(ready->durability));
}

static void
print_report(const struct nb_serve_report *report)
{
	static const char *const names[] = {[NB_REQ_GET] = "get",
		[NB_REQ_PUT] = "put",
		[NB_REQ_DEL] = "delete",
		[NB_REQ_INSERT] = "insert",
		[NB_REQ_MERGE] = "merge",
		[NB_REQ_EXECUTE] = "execute"};
	FILE *out = nb_stdout();
	fprintf(out, "Served for %.3f s\n", (double)report->wall_ns / 1e9);
	for (size_t verb = 0; verb < sizeof(names) / sizeof(*names); verb++)
		if (report->verbs[verb] > 0)
			fprintf(out, "%-12s %" PRIu64 "\n", names[verb], report->verbs[verb]);
	if (report->scans > 0)
		fprintf(out, "%-12s %" PRIu64 "\n", "scan", report->scans);
	fprintf(out, "%-12s %" PRIu64 "\n", "batches", report->batches);
	fprintf(out, "%-12s %" PRIu64 "\n", "failures", report->failures);
	fprintf(out, "%-12s %" PRIu64 ", refused %" PRIu64 ", dropped %" PRIu64 "\n",
		"connections", report->connections, report->refused, report->dropped);
	fprintf(out, "%-12s in %" PRIu64 ", out %" PRIu64 "\n", "bytes", report->bytes_in,
		report->bytes_out);
}

/** The engine's options, then the options that are also options of mininb. */
static void
take_engine_options(struct nb_serve_options *serve, const struct options *options)
{
	const struct {
		const char *name, *value;
	} named[] = {{"log_dirs", own.log_dirs}, {"checkpoint_dirs", own.checkpoint_dirs}};
	size_t count = options->engine_option_count;
	const char **all = kept_array(count + COUNT_OF(named), sizeof(*all));
	for (size_t i = 0; i < count; i++)
		all[i] = options->engine_options[i];
	for (size_t i = 0; i < COUNT_OF(named); i++)
		if (named[i].value != NULL)
			all[count++] = kept_text("%s=%s", named[i].name, named[i].value);
	serve->engine_options = all;
	serve->engine_option_count = count;
}

static struct nb_serve_options
serve_options_of(const struct options *options)
{
	struct nb_serve_options serve = NB_SERVE_OPTIONS_INIT;
	serve.driver = options->driver;
	serve.path = options->path;
	take_engine_options(&serve, options);
	serve.listen = own.listen;
	serve.threads = (uint32_t)options->threads;
	serve.durability = options->durability == 0 ? NB_DUR_AUTO
						    : (uint32_t)options->durability - 1;
	serve.flags = (options->is_fresh ? NB_RUN_FRESH : 0) |
		(options->is_forced ? NB_RUN_FORCE : 0);
	serve.connections = (uint32_t)own.connections;
	serve.cache_bytes = options->cache_bytes;
	serve.value_max = own.value_max;
	serve.buffer_max = own.buffer_max;
	serve.spin_ns = own.spin_ns;
	serve.is_pinned = options->is_pinned;
	serve.may_reset = own.may_reset;
	serve.is_async = own.is_async;
	serve.transport = (uint32_t)own.transport;
	serve.ready = print_ready;
	return serve;
}

static int
do_serve(const struct options *options)
{
	struct nb_serve_options serve = serve_options_of(options);
	struct nb_serve_report report;
	if (nb_serve_is_public(own.listen))
		message_warning("--listen=%s: other machines can reach this address, and "
				"clients need no password",
			own.listen);
	struct nb_irqs *irqs = NULL;
	int status = irqs_begin(&irqs, options, serve.is_pinned ? serve.threads : 0, NULL);
	if (status != STATUS_DONE)
		return status;
	status = irqs_end(irqs, message_last_failure(nb_serve(&serve, &report)));
	if (status == STATUS_DONE || report.connections > 0)
		print_report(&report);
	return status;
}

const struct cmd cmd_serve = {
	.name = "serve",
	.run = do_serve,
	.help = "lend an engine to the network, until SIGTERM or SIGINT",
	.detail = "Redis clients (redis-cli, redis-benchmark, client libraries) and the driver "
		  "net of mininb can use the engine. mininb prints a line that begins with "
		  "'mininb: ready:' when it can be connected to. On a signal it answers what "
		  "it has read, closes the database and prints what was served.",
	.own = {own_options},
	.shares = "driver path option durability cache threads fresh force pin pinirq quiet",
	.measures = true,
};
