/* The things that a writer holds: its turn among the writers of one key, its memory, and its body. */
#ifndef SERVER_WRITE_WRITE_MEMORY_H
#define SERVER_WRITE_WRITE_MEMORY_H

#include "base/list.h"
#include "server/request/request.h"

/* ---- turns ----
 *
 * Writers of one key take turns, in the order of their arrival.
 *
 * Without turns all of them decide against the same version, one transaction succeeds, and the work
 * of all others is lost. With big objects that costs seconds and gigabytes. A turn saves work and
 * is no lock: an object is guarded by its transaction, because writers of other servers race with
 * it anyway. A webhook that is asked may itself write this object. So a writer that has been asking
 * the cluster for more than two seconds loses its turn.
 *
 * Nothing blocks. A writer that must wait is woken, and tries again; at least once a second, to see
 * whether its client and its time are still there. Any thread; `wake` is called without locks.
 * There are at most as many turns as there may be writes under way. */

struct write_queue;

/* A writer's place, in the writer's memory; zeroed before the first use. Private. */
struct write_turn {
	struct list node; /* of a bucket */
	struct str key;
	void (*wake)(void *ctx);
	void *ctx;
	bool is_linked; /* the writer's own; what follows is the queue's */
	bool is_asleep, is_passed;
	int64_t asking_since_ms; /* 0: not asking */
	int64_t after;           /* a revision that holds what those before it have written; 0: none known */
	struct write_turn *next_woken;
};

struct write_queue *write_queue_new(void);
struct write_queue *write_queue_free(struct write_queue *s); /* when there are no turns left */

/* True: it is this writer's turn, until it leaves; *ret_after is a revision that holds what those before it have written, or 0. False:
 * wake(ctx) will be called once, and then this is asked again. The key must stay. */
bool write_turn_take(
	struct write_queue *s, struct write_turn *turn, struct str key, void (*wake)(void *ctx), void *ctx, int64_t *ret_after);
/* From its turn, or from the queue (when awake). Harmless where it has neither. revision: of what it has written, or 0. */
void write_turn_leave(struct write_queue *s, struct write_turn *turn, int64_t revision);
/* The writer begins or ceases to wait for an answer of the cluster. */
void write_turn_set_asking(struct write_queue *s, struct write_turn *turn, bool is_asking);

/* ---- memory ----
 *
 * The memory of a write goes before the request does: a tree takes thirty times the room of its
 * text, and a write can wait for seconds for its turn, the cache or etcd. So it keeps little while
 * it waits:
 *
 *   write_keep_little()  before any wait: a large body's tree is dropped, and read again from the
 *                        text when it is needed;
 *   write_pack()         before the transaction: trees go, and what the answer or another round
 *                        needs is copied;
 *   write_drop()         when the answer is made, or the request is over: all of it.
 *
 * Small writes keep everything: reading again would cost more than it saves. */

struct write;

/* Bytes. */
enum {
	WRITE_KEPT_MAX = 128 << 10,      /* kept while a write waits, rather than parsed again from text */
	WRITE_STORED_CEILING = 64 << 20, /* far beyond what etcd takes: its answer tells the client more than ours would */
};

enum write_arena {
	WRITE_PARSED,   /* what was read of the body */
	WRITE_PRESENT,  /* the object as it is */
	WRITE_DECISION, /* what one round of deciding makes */
	WRITE_PACKED,   /* what is needed until etcd has answered */
	WRITE_ASKED,    /* what webhooks were asked, and have answered; two by phase, then one for each conversion */
	WRITE_ARENAS = WRITE_ASKED + 2 + CONVERSIONS,
};

/* How much of itself a write still has in memory. */
enum write_held {
	HELD_ALL,
	HELD_WITHOUT_BODY, /* the body must be read again before it is decided on */
	HELD_PACKED, /* nor are there trees: write.object is gone, and of write.present only uid and mod_revision are left */
};

struct write_memory {
	struct arena arenas[WRITE_ARENAS];
	struct buf stored; /* the value being written */
	int64_t revision;  /* of what was written in this turn; 0: nothing was */
	struct write_turn turn;
};

/* The request's; made when it is asked for first. */
struct write_memory *write_memory(struct request *q);
size_t write_memory_used(const struct write_memory *m);
/* Before a body is read that may be read again: from now on what is made belongs to the body's tree. */
void write_begin_reading(struct request *q);
/* From now on, what is made belongs to the decision. */
void write_begin_deciding(struct request *q);
/* Another round begins: nothing of what was decided or loaded before is needed. */
void write_begin_round(struct request *q, struct write *w);

void write_keep_little(struct request *q, struct write *w);
/* q->plan is what is being sent. */
void write_pack(struct request *q, struct write *w);
void write_drop(struct request *q);
/* Copies the texts of warnings, from the given one on: they may point into what is dropped. */
void write_keep_warnings(struct request *q, size_t from, struct arena *a);
/* Charges what the write holds while it waits to the budget of its class. 1 with q->st: it is more than all requests together
 * may hold. */
int write_weigh(struct request *q, size_t sent);

/* ---- bodies: read, decoded, and compared with the names in the path ---- */

struct body {
	struct json *json;
	struct str repeated; /* media_repeated_keys() */
};

/* Warnings of body.repeated. */
void write_warn_repeated(struct request *q, struct str repeated);
/* Body to JSON for POST and PUT: media type, syntax. 0, or 1 with q->st. */
int write_read_body(struct request *q, struct body *ret);
/* JSON to object for POST and PUT: kind, types, strict fields. 0, or 1 with q->st. */
int write_decode(struct request *q, const struct body *body, enum field_validation validation, const struct object *stored,
	struct object **ret);
/* The namespace of a body must be empty or that of the path; it is the path's afterwards. 0, or 1 with q->st. */
int write_match_namespace(struct request *q, struct object *o);
/* The body must have the name of the path. 0, or 1 with q->st. */
int write_match_name(struct request *q, const struct object *o);
/* The store's 409 for an object of another uid or version than was meant (what: "UID",
 * "ResourceVersion"). resource: as the error calls it. Returns 1. */
int write_refuse_precondition(
	struct request *q, struct str resource, struct str name, const char *what, struct str wanted, struct str present);
/* kube's 400 for a body without a name. */
void write_refuse_nameless(struct request *q);

#endif
