/* Leases that writes share: the store removes what is written under one when its time is over, or a
 * little later. This is kube-apiserver's lease manager (k8s.io/apiserver
 * pkg/storage/etcd3/lease_manager.go). A lease is granted for longer than wanted, and given to all
 * writes until the surplus is used up or 1,000 of them have it. So events do not cost a lease each.
 *
 * Any thread may take a lease; one grant is under way at a time. */
#ifndef STORAGE_LEASES_H
#define STORAGE_LEASES_H

#include "storage/storage.h"

struct leases;

/* A waiting caller embeds this; it must stay until done. */
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
/* Sets how long a grant may take, instead of 10 s. Call it before the first lease is taken. */
void leases_set_patience(struct leases *l, int64_t grant_timeout_ms);
/* No caller may be waiting. */
struct leases *leases_free(struct leases *l);

/* Returns true when w->id may be used at once; then done is not called. Otherwise done is called
 * with the result of the grant. */
bool leases_take(struct leases *l, struct lease_wait *w);
/* Call it when the store does not know the lease: it is not given out again. */
void leases_forget(struct leases *l, int64_t id);

#endif
