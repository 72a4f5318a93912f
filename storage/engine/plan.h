/* The engine that writes objects. Servers, the import, the migrator and fsck change stored objects
 * only through a plan.
 *
 * A plan is one transaction of the store: guards, steps, and the looks that its failure branch
 * takes. plan_change() plans the write of one object with all that follows from it. That includes
 * guards of its revision, its namespace, the replica's registration (its ticket) and the objects
 * that it needs. It also includes the index keys of references and histories (storage/keys.h).
 * plan_send() and plan_wait() are the only callers of the store's transaction outside the storage
 * room. plan_judge() says which guard failed.
 *
 * A plan belongs to one thread, and after plan_send() to the store, until `done` has run on the
 * store's completion thread. */
#ifndef STORAGE_ENGINE_PLAN_H
#define STORAGE_ENGINE_PLAN_H

#include "api/model/kind.h"
#include "storage/cache/bases.h"
#include "storage/engine/agreement.h"
#include "storage/storage.h"

enum {
	PLAN_OPERATIONS_MAX = 128, /* etcd's --max-txn-ops: of guards, and of steps */
	/* Values that a failed transaction returns: its object, ticket, and clashes. */
	PLAN_LOOKS_MAX = 5,
};

struct plan {
	struct storage_txn txn; /* the caller sets op.done and op.timeout_ms, and reads the result */
	/* private */
	struct arena *arena;
	struct str prefix;
	size_t compares_cap, success_cap;
	struct storage_step looks[PLAN_LOOKS_MAX];
	int64_t revision;               /* the expected revision of the planned object */
	bool has_object, has_ticket;    /* guards with looks: the object's is the first */
	size_t ticket_look, clash_look; /* clash_look: the first that asks for another revision of a history */
	size_t n_clash_looks;
	struct str value; /* of the planned object: its text, perhaps in compressed form */
	bool needs_base;  /* a base that is guarded may go, or come, before the transaction */
	int64_t number; /* the number that the planned revision is to have in its history */
	struct agreement_ticket ticket;
};

/* Everything in the plan lives in the arena. */
void plan_init(struct plan *p, struct arena *arena, struct str prefix);
static inline void plan_clear(struct plan *p)
{
	storage_op_clear(&p->txn.op);
} /* the result: the plan can be sent again */

/* ---- objects ---- */

enum plan_namespace {
	PLAN_NAMESPACE_ANY,    /* is not guarded */
	PLAN_NAMESPACE_EXISTS, /* must be there */
	PLAN_NAMESPACE_AS_SEEN /* must have namespace_revision; 0: must not be there */
};

/* The write of one object. */
struct plan_change {
	const struct kind *kind;
	struct str ns, name;
	const struct object *before; /* the stored object; NULL: there is none, or its kind has no index */
	const struct object *after;  /* NULL: the object is removed */
	int64_t revision;            /* mod revision of the stored object, which is guarded; 0: there must be none */
	struct str stored;           /* the text of `after` */
	/* The bases that a value in compressed form may continue. NULL: it continues none. */
	struct bases *bases;
	int64_t lease;
	const struct agreement_ticket *ticket; /* NULL, or without a key: the process has no registration */
	enum plan_namespace namespace_guard;
	int64_t namespace_revision;
	/* the objects that `after` refers to must exist; at these mod revisions, where they are
	 * given */
	bool guards_needed;
	const int64_t *needed; /* in the order of its references; 0: one that it has referred to before */
	bool is_unprotected;   /* no object may refer to this one */
	/* No other revision of its history may have its state or its number, as far as the index says: it does not have the
	 * states of values in compressed form. */
	bool is_unique;
	bool wants_present;    /* if the guards fail, the object's value is read as well: plan_present() */
};

/* Adds the change to the plan. An object is removed, and begins to be deleted, only if no reference names it that a definition
 * declares: that guard comes by itself. plan_judge() and plan_present() are about the first change of a
 * plan. */
void plan_change(struct plan *p, const struct plan_change *c);
/* Adds a new Namespace. Returns 0, or -EINVAL if no Namespace can have that name, with the
 * reason in *ret_why. */
int plan_new_namespace(struct plan *p, struct str name, const struct agreement_ticket *ticket, struct str *ret_why);
/* Removes a revision from its history: no object may refer to it, and it must have that mod
 * revision. */
void plan_remove_revision(struct plan *p, const struct plan_change *c, const struct history_place *place, struct str digest);
/* Adds a guard that an object has the revision that was seen. */
void plan_guard_object(struct plan *p, const struct kind *k, struct str ns, struct str name, int64_t revision);
/* Adds a guard that no object refers to this one. */
void plan_guard_unreferenced(struct plan *p, const struct kind *k, struct str ns, struct str name);
/* Adds a guard that nothing in the index of an owner's history has changed since the revision. */
void plan_guard_history(struct plan *p, struct str ns, struct str owner, int64_t revision);

/* Adds a guard that no object of the kind has changed since the revision, or is new. */
void plan_guard_kind(struct plan *p, const struct kind *k, int64_t revision);
/* Adds a guard that etcd has no object of that group and resource, known or not. */
void plan_guard_no_objects(struct plan *p, struct str group, struct str resource);

/* ---- single keys ---- */

void plan_guard(struct plan *p, struct storage_compare guard);
/* Adds a guard on a key's mod revision, and a look at the key. Returns the look's number, for
 * plan_look_holds(). */
size_t plan_guard_key(struct plan *p, struct str key, int64_t revision);
void plan_put(struct plan *p, struct str key, struct str value, int64_t lease);
void plan_delete(struct plan *p, struct str key);
/* Reads keys if the guards hold. The step stays in place until something else is added to the
 * plan. range_end: empty, or the end of a range. */
struct storage_step *plan_read(struct plan *p, struct str key, struct str range_end);
/* Reads a key in the failure branch. Returns the look's number. */
size_t plan_look(struct plan *p, struct str key, bool keys_only);
static inline const struct storage_kv *plan_looked(const struct plan *p, size_t look)
{
	return p->looks[look].n_kvs > 0 ? &p->looks[look].kvs[0] : NULL;
}
static inline bool plan_look_holds(const struct plan *p, size_t look, int64_t revision)
{
	return storage_step_has(&p->looks[look], revision);
}

/* Leaves only the guards in the plan: nothing is written. */
static inline void plan_rehearse(struct plan *p)
{
	p->txn.n_success = 0;
}
/* Copies the plan into another arena, so that its own can be emptied. The text `stored` is not
 * copied. */
void plan_pack(struct plan *p, struct arena *arena, struct str stored);

/* ---- sending ---- */

/* txn.op.done is called once, perhaps before plan_send() returns. */
void plan_send(struct plan *p, struct storage *s);
/* Blocks, and returns the outcome of the operation. */
enum storage_result plan_wait(struct plan *p, struct storage *s);
void plans_wait(struct plan *const *plans, size_t n, struct storage *s); /* all at once */

/* ---- outcome ---- */

enum plan_outcome {
	PLAN_DONE,   /* written */
	PLAN_FAILED, /* the store did not answer, or refused: txn.op says why, and whether it is certain */
	/* the registration is not the one in the ticket. The agreement is asking etcd for it.
	 * Nothing was written */
	PLAN_UNREGISTERED,
	PLAN_CONFLICT, /* another writer has written the object. Nothing was written */
	PLAN_REFUSED,  /* the object is as expected, but another guard failed. Nothing was written */
};
/* a: NULL where the plan has no ticket. */
enum plan_outcome plan_judge(const struct plan *p, struct agreement *a);
/* If the guards failed: returns the object as it is now; NULL: it does not exist. */
const struct storage_kv *plan_present(const struct plan *p);
/* If the guards failed: returns true when the object is as expected. */
bool plan_is_as_expected(const struct plan *p);

/* If the guards failed: returns true when the first object is stored as this plan would have stored it. */
bool plan_is_there(const struct plan *p);
/* Removes a base that no object uses. revision: one at which none did; the caller has seen that afterwards. */
void plan_remove_base(struct plan *p, const struct base_unused *unused, int64_t revision);

/* Another revision of the same history. */
struct plan_clash {
	struct str name; /* in the operation's memory, as the other texts of a result */
	bool is_number;  /* has the same number, and not the same state */
	int64_t number;
};
/* If the guards of a unique revision failed: returns true, and the first of the other revisions. */
bool plan_clashes(const struct plan *p, struct plan_clash *ret);

/* ---- keys that follow from objects ---- */

struct object_id {
	const struct kind *kind; /* NULL: unknown */
	struct str ns, name;
};

/* For people: "dependents.annals.dev default/web". */
struct str object_id_title(const struct object_id *id, struct arena *a);
struct str object_id_key(const struct object_id *id, struct str prefix, struct arena *a);

enum { INDEX_ENTRIES_MAX = REFERENCES_MAX }; /* of one object in one index */

struct index_entry {
	struct str key, value;
	bool is_for_plain; /* an object whose value is in compressed form does not need it */
	bool may_be_bare;  /* of such an object, its own value may be empty */
};

/* Lists the object's entries in PREFIX/references/, and in PREFIX/history/. Returns their
 * number. */
size_t index_reference_entries(const struct object_id *id, const struct object *o, struct str prefix, struct arena *a,
	struct index_entry ret[INDEX_ENTRIES_MAX]);
size_t index_history_entries(const struct object_id *id, const struct object *o, struct str prefix, struct arena *a,
	struct index_entry ret[INDEX_ENTRIES_MAX]);
/* Returns true when `after` has a place in a history that `before` did not have. Either may be
 * NULL. */
bool index_takes_place(const struct object *before, const struct object *after);

#endif
