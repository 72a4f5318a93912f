/* The one way objects change: decide against the present version, then one etcd transaction guarded by that version.
 *
 * A verb gives `decide`, a pure step from the present object to what should be, and `finish`, which answers. The engine starts from the
 * cached object. When the guard fails, the transaction's failure branch has brought the present one, and it decides again. A
 * refusal or a no-op decided on a cached object is decided once more on a fresh one before it is believed. */
#ifndef SERVER_WRITE_WRITE_H
#define SERVER_WRITE_WRITE_H

#include "server/request/request.h"
#include "server/write/write_queue.h"

enum { HISTORY_LOOKS_MAX = 2 };

/* What a write changes in the history of a controller (api/model/history.h). */
struct write_history {
	bool was_in, is_in; /* a history, before and after */
	struct history_place before, after;
	struct str digest;                  /* of the state, which never changes */
	struct str free[HISTORY_LOOKS_MAX]; /* directories of the index in which nothing may be: a guard, too */
	size_t n_free;
};

enum decision {
	DECIDE_REFUSE,       /* q->st says why */
	DECIDE_KEEP,         /* nothing to change: answer `present` */
	DECIDE_PUT,          /* store w->object */
	DECIDE_REMOVE,       /* remove the key; w->object is what the answer shows (or NULL) */
};

/* An object of another kind in the same namespace, which is there and is written in the same transaction, as it was seen: what is written beside it says
 * something of it. No rules of updates are asked: whoever writes it knows them. */
struct write_beside {
	const struct object *object; /* NULL: there is none. With the mod revision that it is to have still */
	/* private */
	struct agreement_ticket ticket;
	struct str stored;
};

/* Memory of a write, which goes before the request does: while it waits for its turn or for etcd, what is large is let go of. */
enum write_arena {
	WRITE_PARSED,   /* what was read of the body */
	WRITE_PRESENT,  /* the object as it is */
	WRITE_DECISION, /* what one round of deciding makes */
	WRITE_PACKED,   /* what is needed until etcd has answered */
	WRITE_ASKED,    /* what webhooks were asked, and have answered; two, by phase */
	WRITE_ARENAS = WRITE_ASKED + 2,
};

struct write_memory {
	struct arena arenas[WRITE_ARENAS];
	struct buf stored; /* the value being written */
	int64_t revision;  /* of what was written in this turn; 0: nothing was */
	struct write_turn turn;
};

struct write {
	struct str name;                       /* of the object: key and look-ups */
	struct object *present;                /* NULL: not there */
	struct object *object;                 /* what decide made */
	struct write_beside beside;            /* of decide, too */
	bool is_fresh;                         /* present was read after the request began */
	bool is_forgotten;                     /* what was read of the body is gone: decide is to read it again */
	bool is_packed, has_beyond;            /* object is gone, and of present only uid and mod_revision are left */
	bool guards_namespace;                 /* the namespace must be as admission saw it, in the same transaction */
	int64_t namespace_revision;            /* mod revision admission saw; 0: not there */
	bool may_shed, sheds_managed_fields;   /* where the object is too large for etcd with them, as kube does (not for apply) */
	unsigned attempts;
	int64_t revision;                      /* of the transaction that succeeded; 0: none was made */
	enum decision decision;
	size_t n_warnings;                     /* of the request before decide: kept when it decides again */
	struct str uid;                        /* of a creation: the same however often it decides */
	bool has_generated_name;               /* of a creation: webhooks do not know it yet */
	const struct json *delete_options;     /* of a deletion with a body; for webhooks */
	enum decision (*decide)(struct request *q, struct write *w);
	void (*finish)(struct request *q, struct write *w);
	/* May add guards and steps to the transaction, up to WRITE_OPERATIONS_MAX of each. What they rest on was decided on the cache: when a guard
	 * fails it is read again. NULL: nothing. */
	void (*extend)(struct request *q, struct write *w, struct storage_txn *txn);
	/* private */
	struct arena *arena;                   /* of what all attempts share */
	int64_t seen;                          /* the cache's revision before present was looked up in it */
	bool is_kept;                          /* what was decided is kept while the cache is made sure of */
	struct status kept_status;             /* with it */
	struct str key, namespace_key, stored; /* stored: the value being written */
	struct str present_text; /* what present was decoded from: what etcd has, or the cache's text in hub form */
	bool is_present_cached, is_present_respelled; /* struct cached's */
	bool loses_protection; /* write_references.h's: nothing may refer to the object, which is a guard, too */
	int64_t *needed; /* mod revisions of what the new object refers to, if those must stay; else NULL */
	struct write_history history; /* write_history.h's */
	char noted[DIGEST_SIZE]; /* write_user.h's: what the user's name was noted for; empty: nothing */
	struct agreement_ticket ticket; /* the version it is stored in, and that we may do so: a guard, too */
	size_t ticket_look;             /* of failure: whether that was what failed */
	struct storage_step failure[1 + HISTORY_LOOKS_MAX + 1];
};

#define WRITE_ATTEMPTS_MAX 64 /* where other objects are guarded, too; others go on for as long as the request may take */
#define WRITE_OPERATIONS_MAX 128 /* etcd's --max-txn-ops */

/* Of a write: its turn and its memory. After this q->a may be gone. */
void request_end_write(struct request *q);
/* Before a body is read that may be read again: from now on what is made goes when the body is forgotten. */
void write_begin_reading(struct request *q);
void write_begin_deciding(struct request *q); /* within decide, when it has been read again */
/* Runs until finish() or an error answer. w lives in the request's arena; q->state points to it. */
void write_run(struct request *q, struct write *w);
/* For finish where nothing is answered: others may write what was written. */
void write_end_turn(struct request *q);
/* For finish: what was written or removed, which may have to be read again. */
struct object *write_object(struct request *q, struct write *w);
/* For finish: answers w->object. */
void write_reply(struct request *q, unsigned code, struct write *w);
/* For finish, when a version has been stored: that is what is there now, and decide says what comes of it. */
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

#endif
