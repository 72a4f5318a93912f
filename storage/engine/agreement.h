/* The agreement of replicas on the version in which each kind is stored. Without it, servers that
 * differ could write different versions.
 *
 * Each replica keeps a registration, PREFIX/replicas/ID, under a lease of etcd. It says by kind
 * what the replica encodes and can decode. A replica makes and changes it only in a transaction
 * that requires that no other registration has changed since. So every registration knows all
 * earlier ones. In PREFIX/replicas-seen/ID, a replica says up to which revision it has seen
 * registrations. Then:
 *
 *   - Every write is guarded by the mod revision of the writer's own registration. So etcd refuses
 *     writes after the lease has ended, and writes in the version that it had before.
 *   - A replica writes version V of a kind once all live ones write V as well, or all have seen that
 *     it will.
 *   - A version is common, and its hash is shown in discovery, when all live replicas write it, and
 *     this one is certainly alive. A lease that could not be renewed in time counts as lost before
 *     etcd ends it. So while anybody shows a hash, nobody writes any other version.
 *   - A replica does not write what a live one cannot decode. It goes on in a version that all can
 *     decode, and changes over when those are gone. A replica that comes when others write what it
 *     cannot decode neither reads nor writes that kind, and does not hold the others back.
 *   - A registration that cannot be understood might say anything. While it lives nothing is common,
 *     and nobody starts to write another version.
 *
 * docs/explanation/storage-versions.md has the proof.
 *
 * Any thread may call all functions. Only agreement_new() and agreement_free() block. */
#ifndef STORAGE_ENGINE_AGREEMENT_H
#define STORAGE_ENGINE_AGREEMENT_H

#include "api/model/storage_version.h"
#include "base/list.h"
#include "storage/storage.h"

struct agreement;

/* Replicas that share one etcd; a further one does not register, and says so. */
enum { AGREEMENT_REPLICAS_MAX = 64 };

struct agreement_options {
	struct storage *storage;          /* outlives the agreement */
	struct str prefix;                /* "/annals" */
	struct storage_versions versions; /* wanted */
	bool is_standalone;               /* which kinds and versions there are */
	bool is_plain;                    /* no replica may write values in compressed form */
	struct str address;               /* for people: host, port */
	int64_t lease_s;                  /* 0: 10 */
	bool registers_later;             /* not before agreement_register_now() */
	/* Called when answers to the questions below may have changed, on the completion thread
	 * or a timer's. It is never called twice at a time, perhaps before agreement_new() has
	 * returned. It must not block, and may ask. Other replicas learn nothing, and this one
	 * writes no other version, before it returns. So it must take back hashes that are no
	 * longer common. NULL: nothing is called. */
	void (*on_change)(void *ctx, struct agreement *a);
	/* For logs: one sentence. */
	void (*on_notice)(void *ctx, bool is_trouble, struct str text);
	void *ctx;
};

struct agreement *agreement_new(const struct agreement_options *options); /* starts joining */
void agreement_register_now(struct agreement *a);                         /* any number of times; it calls nothing back */
/* Stops all callbacks and takes the registration back. Later questions get the last answers. */
void agreement_leave(struct agreement *a);
/* Takes the registration back, so that the others need not wait for its lease to end. No thread
 * may wait or ask any more. */
struct agreement *agreement_free(struct agreement *a);

/* How objects of a kind are written now, and what guards every transaction that does so. */
struct agreement_ticket {
	const struct version *version;
	struct str key; /* lives as long as the agreement */
	int64_t revision;
	bool may_pack; /* all live replicas read values in packed form (api/model/packed.h) */
};
static inline struct storage_compare agreement_guard(const struct agreement_ticket *ticket)
{
	return storage_compare_mod(ticket->key, ticket->revision);
}

enum agreement_writing {
	AGREEMENT_MAY_WRITE,
	AGREEMENT_NOT_YET, /* not registered yet, or others have yet to see it: wait */
	AGREEMENT_NEVER,   /* no version is known to all replicas that live now */
};
/* Sets *ret when the kind may be written. Otherwise why, which may be NULL, gets a sentence. */
enum agreement_writing agreement_write(
	struct agreement *a, const struct kind *k, struct agreement_ticket *ret, struct buf *why);
/* Can this replica read all objects of the kind? If not, why gets a sentence. */
bool agreement_can_read(struct agreement *a, const struct kind *k, struct buf *why);
/* Call it after a transaction was refused, perhaps because the registration is lost. It asks
 * etcd, and joins again if it is. plan_judge() calls this. */
void agreement_doubt(struct agreement *a, const struct agreement_ticket *ticket);

/* Waits until AGREEMENT_NOT_YET is over. The struct must stay until done has run: exactly once,
 * perhaps before agreement_wait() returns. */
struct agreement_wait {
	void (*done)(struct agreement_wait *w);
	const struct kind *kind;
	int64_t timeout_ms;
	enum storage_result result; /* OK, TIMEOUT, CANCELED */
	/* private */
	struct list node;
	int64_t deadline_ms;
};
void agreement_wait(struct agreement *a, struct agreement_wait *w);

/* Returns the version that all live replicas write. NULL: they do not agree, or this one cannot
 * know. */
const struct version *agreement_common(struct agreement *a, const struct kind *k);
/* Returns true while the own lease is certainly alive, by the clock; agreement_common() checks
 * this, too. A document made from earlier answers (discovery with hashes) may be shown only
 * while this is true. A process that was stopped may get on_change too late. Cheap. */
bool agreement_is_certain(const struct agreement *a);
/* Returns true when this replica is registered, and may write and read every kind. Otherwise why
 * gets the first sentence about what is missing. For /readyz. */
bool agreement_is_settled(struct agreement *a, struct buf *why);
int64_t agreement_lease(struct agreement *a);       /* the lease of the registration; 0: none now */
struct str agreement_id(const struct agreement *a); /* ID: lives as long as the agreement */

/* All live replicas as they were at one revision: immutable, counted. */
struct agreement_version {
	struct str encodes; /* "annals.dev/v1"; empty: does not write the kind */
	struct str wants;
	const struct str *decodes, *serves, *forms; /* forms: how values may be packed, besides plain text */
	size_t n_decodes, n_serves, n_forms;
};
struct agreement_replica {
	struct str id, address;
	struct str problem; /* empty; or why the registration cannot be understood, which then says nothing below but numbers */
	int64_t create_revision, mod_revision, seen;
	int64_t lease;
	const struct agreement_version *versions; /* by kind->index; n_decodes 0: it does not know the kind */
};
struct agreement_view {
	_Atomic uint32_t refs;
	int64_t revision;
	const struct agreement_replica *replicas; /* by id */
	size_t n_replicas;
	bool is_overfull; /* there are more than AGREEMENT_REPLICAS_MAX, and not all are here */
	/* private */
	struct agreement_entry **entries; /* what the replicas' slices are in */
};
struct agreement_view *agreement_view(struct agreement *a); /* a reference; NULL: nothing has been read yet */
struct agreement_view *agreement_view_unref(struct agreement_view *v);
DEFINE_CLEANUP(struct agreement_view *, agreement_view_unref)
const struct agreement_replica *agreement_view_find(
	const struct agreement_view *v, struct str id); /* NULL: none of that name */

void agreement_write_metrics(struct agreement *a, struct buf *out);

#endif
