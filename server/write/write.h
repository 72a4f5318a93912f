/* The one way objects change: decide against the present version, then one etcd transaction guarded by that version.
 *
 * A verb gives `decide`, a pure step from the present object to what should be, and `finish`, which answers. The engine starts from the
 * cached object. When the guard fails, the transaction's failure branch has brought the present one, and it decides again. A
 * refusal or a no-op decided on a cached object is decided once more on a fresh one before it counts. */
#ifndef SERVER_WRITE_WRITE_H
#define SERVER_WRITE_WRITE_H

#include "api/model/digest.h"
#include "server/request/request.h"
#include "server/write/user_notes.h"
#include "server/write/write_memory.h"

enum decision {
	DECIDE_REFUSE,       /* q->st says why */
	DECIDE_KEEP,         /* nothing to change: answer `present` */
	DECIDE_PUT,          /* store w->object */
	DECIDE_REMOVE,       /* remove the key; w->object is what the answer shows (or NULL) */
};

/* A second object, of another kind in the same namespace, that is written in the same transaction. It must still be as it was
 * seen. It passes no rules of updates: the verb that writes it keeps them. */
struct write_beside {
	const struct object *object; /* NULL: there is none. With the mod revision that it is to have still */
	/* private */
	struct agreement_ticket ticket;
	struct str stored;
};

/* An object that moves into the archive of its namespace (api/model/history.h): it is removed, and stored there. */
struct write_moved {
	const struct object *from, *to; /* NULL: none moves. With their namespaces */
	/* private */
	struct agreement_ticket ticket;
	struct str stored;
};

/* Where a write is. write_enter() in write.c is the only function that changes it, and asserts that the picture has the step.
 *
 *   write_run()
 *      |
 *      v
 *     NEW --> QUEUED          another writer has the turn, or what it wrote is not in the cache yet
 *      |        |
 *      v        v
 *   .------------------.
 *   | REREADING        |      waits for a read index; then the object is looked up anew
 *   |   |              |
 *   |   v              |
 *   | DECIDING <-> ASKING     waits for the cluster to answer what decide() asks
 *   |   ^   '--> CONFIRMING   waits for a read index: a refusal or a no-op holds if the cache has no news
 *   '---+--------------'
 *       v         ^
 *   PREPARING ----+           waits for the version to store, or for a lease; or ASKING for the object in that version
 *       v         |
 *      SENT ------'           the transaction is under way. If a guard fails, it is decided again
 *       v  \
 *       |   '-> LOOKING       etcd had no room: has it written all the same?
 *       v          |
 *      DONE <------'          finish() is called, or an error is the answer
 *
 * NEW and QUEUED skip REREADING if the cache has the object, or for a creation. SENT goes to DECIDING if etcd brought all that
 * is needed, to REREADING otherwise, and to PREPARING for another lease. Any state goes to DONE where time, size or etcd end a
 * write. write_go_on() leads from DONE to REREADING. */
enum write_state {
	WRITE_NEW, /* 0, so a zeroed struct write is in this state */
	WRITE_QUEUED,
	WRITE_DECIDING,
	WRITE_ASKING,
	WRITE_CONFIRMING,
	WRITE_REREADING,
	WRITE_PREPARING,
	WRITE_SENT,
	WRITE_LOOKING,
	WRITE_DONE,
};

/* The text from which `present` was decoded. */
enum write_text {
	TEXT_STORED,           /* etcd's */
	TEXT_CACHED,           /* the cache's, in hub form */
	TEXT_CACHED_RESPELLED, /* likewise, but etcd has other words for the same (struct cached) */
};

/* If etcd finds the object too large, it may be written without managedFields, as in kube-apiserver. */
enum write_shedding {
	SHED_NOTHING,
	SHED_IF_TOO_LARGE,
	SHED_MANAGED_FIELDS, /* it was: the object is decided again without them */
};

struct write {
	/* Set by the verb. */
	struct str name;                       /* of the object: key and look-ups */
	enum write_shedding shedding;          /* not of an apply */
	bool has_generated_name;               /* of a creation: webhooks do not know it yet */
	bool keeps_form;                       /* of a deletion: it looks at metadata alone, so nothing is converted */
	const struct json *delete_options;     /* of a deletion with a body; for webhooks */
	struct arena *arena;                   /* of what all attempts share; NULL: the exchange's */
	enum decision (*decide)(struct request *q, struct write *w);
	void (*finish)(struct request *q, struct write *w);
	/* Called in place of an answer when nothing was written, or nobody knows whether; q->st says why. NULL: the request is
	 * answered. */
	void (*refused)(struct request *q, struct write *w);
	/* May add guards and steps to the plan. They rest on the cache, so when a guard fails the cache is read
	 * again. NULL: nothing. */
	void (*extend)(struct request *q, struct write *w, struct plan *p);

	/* decide() sees `present`, and makes the rest. */
	struct object *present; /* NULL: not there. Of kinds with a hook in the version that the request writes */
	struct object *object;                 /* what decide made */
	struct write_beside beside;            /* of decide, too */
	struct write_moved moved;              /* of decide, too: the removed object, which moves */
	struct write_moved moved_history;      /* likewise: its History, which moves before the first of its states */
	enum decision decision;
	struct str uid; /* of a creation: the same however often it decides */

	/* For finish(). */
	struct str stored; /* the value being written */
	int64_t revision;  /* of the transaction that succeeded; 0: none was made */

	/* private: the state */
	enum write_state state;
	enum write_held held; /* write_memory.h's */
	bool is_fresh;        /* present was read after the request began */
	unsigned attempts;
	size_t n_warnings;                     /* of the request before decide: kept when it decides again */
	int64_t seen;                          /* the cache's revision before present was looked up in it */
	struct status kept_status;             /* of the decision that is being confirmed */
	const char *refusal;                   /* the storage's words, where it had no room */
	/* private: what the transaction is made of */
	struct object *unconverted; /* the present object as it is stored; NULL: it was not converted */
	struct str key;
	struct str present_text;
	enum write_text present_is;
	bool lacks_base;                     /* the present object cannot be read before the cache has seen its base */
	bool has_beyond;                     /* the object has fields that its version cannot show */
	enum plan_namespace namespace_guard; /* the namespace must be as admission saw it, in the same transaction */
	int64_t namespace_revision;          /* mod revision admission saw; 0: not there */
	int64_t definitions_seen; /* of a definition: no other has changed since this revision, which is a guard, too; 0: none is needed */
	bool loses_protection;               /* nothing may refer to the object, which is a guard, too */
	bool is_leaving; /* nothing that a definition declares may refer to the object, which is a guard, too */
	/* Mod revisions of what the object begins to refer to, if those must stay; 0: it did before; NULL: none. */
	int64_t *needed;
	bool changes_references; /* of a definition: there must be no objects of its kind */
	int64_t history_seen; /* nothing may have joined the object's history since this revision; 0: the index says that */
	struct agreement_ticket ticket; /* the storage version, with the guard that this replica may still write it */
	struct user_note noted; /* written in the same transaction if is_noted; its texts live as long as the decision */
	bool is_noted;
};

#define WRITE_ATTEMPTS_MAX 64 /* where other objects are guarded, too; others go on for as long as the request may take */

/* Ends the turn of a write (q->writing) and drops its memory. After this q->a may be gone. */
void request_end_write(struct request *q);
/* For decide: reads the body again by `read`, if its tree was dropped while the write waited. 0, or what read() returns. */
int write_read_again(struct request *q, struct write *w, int (*read)(struct request *q, struct write *w));
/* Runs until finish(), refused() or an error answer. w lives in the request's arena; q->state points to it. */
void write_run(struct request *q, struct write *w);
/* For finish() if it does not answer yet: other writers of the object may go on. */
void write_end_turn(struct request *q);
/* For finish: what was written or removed, which may have to be read again. */
struct object *write_object(struct request *q, struct write *w);
/* For finish: answers w->object. */
void write_reply(struct request *q, unsigned code, struct write *w);
/* For finish(), when a version has been stored: starts another round, in which decide() sees that version as the present one. */
void write_go_on(struct request *q, struct write *w);
/* For decide: the object shall be this one, as it was seen; o NULL: nothing is there. 0, or 1 with q->st. */
int write_aim(struct request *q, struct write *w, struct str name, const struct cached *o);
/* For decide, where an update changes nothing: DECIDE_KEEP; or DECIDE_PUT of the object as it is, if etcd has it in another version or spelling than
 * would be written now (k8s.io/apiserver's GuaranteedUpdate). Migrators of storage versions send such updates. */
enum decision write_keep(struct request *q, struct write *w);
/* For decide: the object shall have another name, where nothing is. */
void write_rename(struct request *q, struct write *w, struct str name);

/* The rules every new version passes: mutating admission, preparation, ownership, validation with all causes. */
struct write_rules {
	struct str manager;                    /* for managedFields */
	bool is_applied;                       /* managedFields have been made by apply already */
	bool has_owners;                       /* or by whoever wrote a view of the object */
	bool is_patch;                         /* wording of some warnings */
};
/* For decide: 0 with w->object ready to be stored; 1 with q->st; or ASK_FIRST. The engine sees by itself that something must be asked. */
int write_admit_create(struct request *q, struct write *w, const struct write_rules *rules);
int write_admit_update(struct request *q, struct write *w, const struct write_rules *rules);
int write_admit_delete(struct request *q, struct write *w);

/* ---- refusals because of other objects ----
 *
 * They are references to the object (api/model/reference.h), objects that it needs, and other
 * revisions of the same history (api/model/history.h).
 *
 * The cache shows that nothing refers to an object, and the transaction proves it: its guard is
 * that no key is below the object's references. Neither the cache nor a revision of it would
 * suffice. Where etcd is restored from a backup, the cache shows the lost history for a moment, in
 * which the referring object may be gone already. The guard costs etcd something for each object
 * that referred since the last compaction.
 *
 * A new reference also writes a mark, PREFIX/referenced/..., which replicas of earlier versions
 * compare in place of that range. */

/* Checks what was decided, on the cache's view; the guards prove it. Returns 0; or 1 with q->st.
 * 409: the object loses its protection or goes, and is referred to, or an object begins to need one
 * that is not there. 503: objects that may refer to it, or may be needed, have versions unknown to this
 * server. */
int references_check(struct request *q, struct write *w);
/* For refused(): were it objects which refer to this one? */
bool references_are_blocking(const struct request *q, const struct write *w);
/* Returns true when something refers to another object than the one that is written, or when the
 * cache cannot know. */
bool references_exist(struct request *q, const struct kind *target, struct str name);

/* Returns true when no other revision of the history may have the state or number that the object
 * gets. Through the group of the hub nobody makes such duplicates. */
bool history_is_unique(const struct request *q, const struct write *w);
/* Call it when the guards have failed. Returns 0; or 1 with 409 in q->st, which names the other
 * revision. */
int history_refuse(struct request *q, const struct write *w);
int history_refuse_clash(
	struct request *q, const struct write *w, const struct plan_clash *clash); /* the same, of a known one */

#endif
