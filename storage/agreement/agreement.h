/* What replicas of this server agree on: the version in which each kind is stored. Seed 003 leaves the risk open that servers which differ write
 * different versions; this closes it.
 *
 * Each replica keeps a registration, PREFIX/replicas/ID, under a lease of etcd: what it encodes and can decode, by kind. It is made and changed only
 * in a transaction that no other registration has changed since it was decided: so every registration knows all that were there before. A replica says
 * up to which revision it has seen registrations in PREFIX/replicas-seen/ID. Then:
 *
 *   - Every write is guarded by the mod revision of the writer's own registration: what a replica writes after its lease has ended, or in the version it
 *     had before, etcd refuses.
 *   - A replica writes version V of a kind once all live ones write V as well, or all have seen that it will.
 *   - A version is common, and its hash is shown in discovery, when all live replicas write it, and ours is still certainly alive (by the clock: a lease
 *     that could not be renewed in time is taken for lost before etcd does so). So as long as anybody shows a hash, nobody writes any other version.
 *   - A replica does not write what a live one cannot decode. It goes on in a version that all can, and changes over when they are gone. Who comes
 *     when others write what it cannot decode takes no part in that kind, neither reads nor writes it, and does not hold the others back.
 *   - A registration that cannot be understood might say anything: while it lives nothing is common, and nobody starts to write another version.
 *
 * docs/explanation/storage-versions.md has the proof.
 *
 * Any thread may ask. Nothing blocks but agreement_new() and agreement_free(). */
#ifndef STORAGE_AGREEMENT_AGREEMENT_H
#define STORAGE_AGREEMENT_AGREEMENT_H

#include "api/model/storage_version.h"
#include "base/list.h"
#include "storage/storage.h"

struct agreement;

enum { AGREEMENT_REPLICAS_MAX = 64 };

struct agreement_options {
	struct storage *storage;          /* outlives the agreement */
	struct str prefix;                /* "/annals" */
	struct storage_versions versions; /* wanted */
	bool is_standalone;               /* which kinds and doors there are */
	struct str address;               /* for people: host, port */
	int64_t lease_s;                  /* 0: 10 */
	/* What any question below answers may have changed. Completion thread or a timer's, never two at a time, perhaps before agreement_new() has
	 * returned; must not block; may ask. Others are told that we know (and may then write another version), and we change what we write, only after it
	 * has returned: so it must have taken back hashes that are not common any more. NULL: nothing. */
	void (*on_change)(void *ctx, struct agreement *a);
	/* For logs: one sentence. */
	void (*on_notice)(void *ctx, bool is_trouble, struct str text);
	void *ctx;
};

struct agreement *agreement_new(const struct agreement_options *options); /* starts joining */
/* Nothing is called back any more, and the registration is taken back; who still asks is told what was known last. */
void agreement_leave(struct agreement *a);
/* Takes the registration back: the others need not wait for its lease to end. Nobody waits or asks any more. */
struct agreement *agreement_free(struct agreement *a);

/* How objects of a kind are written now, and what guards every transaction that does so. */
struct agreement_ticket {
	const struct door *version;
	struct str key; /* lives as long as the agreement */
	int64_t revision;
};
static inline struct storage_compare agreement_guard(const struct agreement_ticket *ticket)
{
	return storage_compare_mod(ticket->key, ticket->revision);
}

enum agreement_writing {
	AGREEMENT_MAY_WRITE,
	AGREEMENT_NOT_YET, /* not registered (again) yet, or others have yet to see it: wait */
	AGREEMENT_NEVER,   /* as long as those live who do: no version is known to all */
};
/* *ret is set when it may. why (may be NULL) gets a sentence when it may not. */
enum agreement_writing agreement_write(
	struct agreement *a, const struct kind *k, struct agreement_ticket *ret, struct buf *why);
/* Whether objects of the kind can all be understood; else why gets a sentence. */
bool agreement_can_read(struct agreement *a, const struct kind *k, struct buf *why);
/* A transaction's guard did not hold although the object was as expected: is the registration still there? Asks etcd, and joins again if not. */
void agreement_doubt(struct agreement *a, const struct agreement_ticket *ticket);

/* Until AGREEMENT_NOT_YET is over. The struct is the caller's until done ran, exactly once, perhaps before agreement_wait() returns. */
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

/* What all live replicas write; NULL: they do not agree, or this one cannot know. */
const struct door *agreement_common(struct agreement *a, const struct kind *k);
/* Is the own lease still certainly alive, by the clock? agreement_common() asks it, too. What was made of its answers earlier (a discovery document with
 * hashes) is to be shown only while this holds, asked then: on_change for the end of that time may come late, to a process that was stopped. Cheap. */
bool agreement_is_certain(const struct agreement *a);
/* Is this replica registered, may it write every kind there is, and can it read them? else why gets the first sentence about what is missing. For /readyz. */
bool agreement_is_settled(struct agreement *a, struct buf *why);
int64_t agreement_lease(struct agreement *a);       /* the lease of the registration; 0: none now */
struct str agreement_id(const struct agreement *a); /* ID: lives as long as the agreement */

/* All live replicas as they were at one revision: immutable, counted. */
struct agreement_version {
	struct str encodes; /* "annals.dev/v1"; empty: does not write the kind */
	struct str wants;
	const struct str *decodes, *serves;
	size_t n_decodes, n_serves;
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
