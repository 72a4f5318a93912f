/* Leases that writes share: what is written under one is removed by the store when its time is over, or a little later. As
 * kube-apiserver's lease manager (k8s.io/apiserver pkg/storage/etcd3/lease_manager.go): a lease is granted for longer than wanted, and given
 * to all writes until the surplus is used up or 1,000 of them have it, so that events do not cost a lease each.
 *
 * Any thread may take; one grant is under way at a time. */
#ifndef STORAGE_LEASES_H
#define STORAGE_LEASES_H

#include "storage/storage.h"

struct leases;

/* Embedded in who waits; stays until done. */
struct lease_wait {
	void (*done)(struct lease_wait *w); /* on the store's completion thread; must not block */
	/* result */
	enum storage_result result;
	int64_t id;
	char message[256];
	/* private */
	struct lease_wait *next;
};

struct leases *leases_new(struct storage *s, int64_t ttl_s);
/* For those who cannot wait long: a grant is given up after this time, rather than after 10 s. Before the first is taken. */
void leases_set_patience(struct leases *l, int64_t grant_timeout_ms);
/* Nobody waits any more. */
struct leases *leases_free(struct leases *l);

/* True: w->id may be used at once, and done is not called. False: done will be, with the result of the grant. */
bool leases_take(struct leases *l, struct lease_wait *w);
/* The store says it knows no such lease: it is not given again. */
void leases_forget(struct leases *l, int64_t id);

#endif
