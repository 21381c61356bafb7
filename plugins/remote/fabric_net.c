/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library of libfabric, and the network of one address.
 *
 * The library is loaded at its first use, because it loads the libraries of all providers.
 * Programs that do not need it would otherwise pay for this at each start. The first call
 * initializes all providers. The provider shm installs handlers for SIGTERM and other signals
 * that end the process, so the previous handlers are restored.
 */
#include "fabric.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <rdma/fi_errno.h>

#define LIBRARY "libfabric.so.1"
#define MAGIC UINT32_C(0x6d6e6231) /* "mnb1" */

enum { SIGNALS = 32 /* the signals that have names */ };

int
fabric_fail(char *text, const struct fabric_calls *calls, const char *call, ssize_t rc)
{
	snprintf(text, FABRIC_TEXT, "%s: %s", call, calls->strerror((int)(rc < 0 ? -rc : rc)));
	return -1;
}

static int
load(struct fabric_net *net)
{
	struct fabric_calls *calls = &net->calls;
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* never unloaded */
	const struct {
		const char *name;
		void *into;
	} rows[] = {{"fi_getinfo", &calls->getinfo}, {"fi_freeinfo", &calls->freeinfo},
		{"fi_dupinfo", &calls->dupinfo}, {"fi_fabric", &calls->fabric},
		{"fi_strerror", &calls->strerror}};
	if (library == NULL) {
		snprintf(net->text, sizeof(net->text), "%s; install libfabric1", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *address = dlsym(library, rows[i].name);
		if (address == NULL) {
			snprintf(net->text, sizeof(net->text), LIBRARY " has no %s",
				rows[i].name);
			return -1;
		}
		memcpy(rows[i].into, &address, sizeof(address));
	}
	return 0;
}

static int
look_up(struct fabric_net *net, const char *host, const char *port, bool is_own)
{
	const struct fabric_calls *calls = &net->calls;
	struct fi_info *hints = calls->dupinfo(NULL); /* an empty one */
	if (hints == NULL)
		return fabric_fail(net->text, calls, "fi_dupinfo", FI_ENOMEM);
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
		FI_MR_PROV_KEY;
	int rc = calls->getinfo(
		FI_VERSION(1, 11), host, port, is_own ? FI_SOURCE : 0, hints, &net->info);
	calls->freeinfo(hints);
	return rc == 0 ? 0 : fabric_fail(net->text, calls, "fi_getinfo", rc);
}

int
fabric_net_open(struct fabric_net *net, const char *host, const char *port, bool is_own)
{
	struct sigaction handlers[SIGNALS];
	for (int i = 1; i < SIGNALS; i++)
		sigaction(i, NULL, &handlers[i]);
	int rc = load(net);
	if (rc == 0)
		rc = look_up(net, host, port, is_own);
	for (int i = 1; i < SIGNALS; i++)
		sigaction(i, &handlers[i], NULL);
	if (rc != 0)
		return -1;
	rc = net->calls.fabric(net->info->fabric_attr, &net->fabric, NULL);
	return rc == 0 ? 0 : fabric_fail(net->text, &net->calls, "fi_fabric", rc);
}

void
fabric_net_close(struct fabric_net *net)
{
	if (net->fabric != NULL)
		fi_close(&net->fabric->fid);
	if (net->info != NULL)
		net->calls.freeinfo(net->info);
	net->fabric = NULL;
	net->info = NULL;
}

struct fabric_greeting
fabric_greet(void)
{
	return (struct fabric_greeting){MAGIC, FABRIC_PIECE, FABRIC_PIECES};
}

bool
fabric_is_greeting(const void *data, size_t size)
{
	struct fabric_greeting own = fabric_greet();
	return size >= sizeof(own) && memcmp(data, &own, sizeof(own)) == 0;
}
