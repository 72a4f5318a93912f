/* DELETE of an object, and of what a selector finds. */
#include "server/verbs/verbs.h"

#include "api/model/kind.h"
#include "api/model/protobuf.h"
#include "base/clock.h"
#include "server/request/agreed_version.h"
#include "server/request/request_audit.h"
#include "server/request/respond.h"
#include "server/verbs/list.h"
#include "server/write/write.h"
#include "server/write/write_recorded.h"

#include <assert.h>

#define FINALIZER_ORPHAN STR("orphan")
#define FINALIZER_FOREGROUND STR("foregroundDeletion")

struct deletion {
	struct write write;
	struct delete_options options;
	const struct json *body; /* NULL: none */
	/* Kinds that take time to stop go in two writes, as they do upstream: watchers are to see when it was deleted in what went. */
	bool is_marking;       /* the first of them is decided */
	struct str marked; /* it was made; what it has stored, with this revision and uid */
	int64_t marked_revision;
	struct str marked_uid;
};

/* ---- time to stop ---- */

enum grace {
	GRACE_NONE,    /* the kind has no grace period, or the time is over */
	GRACE_PENDING, /* the object is stopping, and no sooner end was asked for: nothing changes */
	GRACE_SET,     /* deletionTimestamp and deletionGracePeriodSeconds of the object say when */
};

static void grace_set(struct request *q, struct object *o, int64_t from_s, int64_t period_s)
{
	char text[TIME_RFC3339_SIZE];

	time_format_rfc3339(text, from_s + period_s);
	o->meta.deletion_timestamp = arena_dup(q->a, str_of(text));
	o->meta.has_grace_period = true;
	o->meta.grace_period_s = period_s;
}

static enum grace grace_shorten(struct request *q, struct object *o, const struct delete_options *options)
{
	struct meta *m = &o->meta;
	int64_t end_us;

	if (m->grace_period_s == 0) {
		return GRACE_NONE;
	}
	if (!options->has_grace_period || options->grace_period_s >= m->grace_period_s ||
		!time_parse_rfc3339(m->deletion_timestamp, &end_us)) {
		return GRACE_PENDING;
	}
	grace_set(q, o, end_us / 1000000 - m->grace_period_s, options->grace_period_s);
	return GRACE_SET;
}

/* A period beyond all reason is as good as for ever, and the year has four digits. */
static int64_t grace_bounded(int64_t period_s)
{
	static const int64_t century_s = 36525LL * 24 * 60 * 60;

	return MIN(period_s, century_s);
}

/* Some deletions leave time to stop (rest.BeforeDelete upstream). The first DELETE says when the object is to be gone, later
 * ones may only bring that forward, and one that leaves no time removes it. Nobody removes it when the time is over: the
 * kubelet that stops a pod deletes it once more with no time left. */
static enum grace grace_decide(struct request *q, struct object *o, const struct delete_options *options)
{
	const struct kind *k = o->kind;

	if (!k->grace_period) {
		return GRACE_NONE;
	}
	if (meta_is_deleting(&o->meta)) {
		return grace_shorten(q, o, options);
	}
	grace_set(q, o, clock_wall_s(), grace_bounded(k->grace_period(o, options->has_grace_period, options->grace_period_s)));
	if (o->meta.generation > 0) {
		o->meta.generation++;
	}
	return GRACE_SET;
}

/* ---- one object ---- */

static int delete_refuse_precondition(struct request *q, const struct deletion *d, const char *what, struct str wanted, struct str present,
				      const char *why)
{
	if (q->route.kind->has_own_delete) {
		return write_refuse_precondition(q, q->route.resource, d->write.name, what, wanted, present);
	}
	status_conflict(&q->st, request_group(q), str_of(q->route.kind->kind), d->write.name,
			"the %s in the precondition (" STR_FMT ") does not match the %s in record (" STR_FMT
			"). The object might have been %s",
			what, STR_ARG(wanted), what, STR_ARG(present), why);
	return 1;
}

static int delete_check_preconditions(struct request *q, const struct deletion *d)
{
	const struct delete_options *o = &d->options;
	const struct meta *present = &d->write.present->meta;

	if (o->has_uid && !str_eq(o->uid, present->uid)) {
		return delete_refuse_precondition(q, d, "UID", o->uid, present->uid, "deleted and then recreated");
	}
	if (o->has_version && !str_eq(o->version, present->resource_version)) {
		return delete_refuse_precondition(q, d, "ResourceVersion", o->version, present->resource_version, "modified");
	}
	return 0;
}

/* The client's wish comes first, then the collector's finalizer that the object has already, then the kind's default. */
static enum propagation delete_policy(const struct kind *k, const struct meta *m, const struct delete_options *o)
{
	if (k->dependents == DEPENDENTS_IGNORED) {
		return PROPAGATE_BACKGROUND;
	}
	if (o->has_orphan_dependents && o->orphan_dependents) {
		return PROPAGATE_ORPHAN;
	}
	if (o->has_orphan_dependents) {
		return k->has_own_delete ? PROPAGATE_FOREGROUND : PROPAGATE_BACKGROUND;
	}
	if (o->propagation != PROPAGATE_DEFAULT) {
		return o->propagation;
	}
	if (meta_has_finalizer(m, FINALIZER_ORPHAN)) {
		return PROPAGATE_ORPHAN;
	}
	if (meta_has_finalizer(m, FINALIZER_FOREGROUND)) {
		return PROPAGATE_FOREGROUND;
	}
	return k->dependents == DEPENDENTS_ORPHANED ? PROPAGATE_ORPHAN : PROPAGATE_BACKGROUND;
}

/* Adds and removes the collector's two finalizers as the policy says. */
static void delete_set_finalizers(struct meta *m, enum propagation policy, struct arena *a)
{
	if (policy != PROPAGATE_ORPHAN) {
		meta_remove_finalizer(m, a, FINALIZER_ORPHAN);
	}
	if (policy != PROPAGATE_FOREGROUND) {
		meta_remove_finalizer(m, a, FINALIZER_FOREGROUND);
	}
	if (policy == PROPAGATE_ORPHAN) {
		meta_add_finalizer(m, a, FINALIZER_ORPHAN);
	}
	if (policy == PROPAGATE_FOREGROUND) {
		meta_add_finalizer(m, a, FINALIZER_FOREGROUND);
	}
}

static void delete_mark(struct request *q, struct object *o, bool has_grace_period)
{
	if (meta_is_deleting(&o->meta)) {
		return;
	}
	o->meta.deletion_timestamp = request_now(q);
	o->meta.has_grace_period = has_grace_period;
	o->meta.grace_period_s = 0;
	/* Kinds whose deletion is their own code leave it alone. */
	if (o->meta.generation > 0 && !o->kind->keep_on_delete) {
		o->meta.generation++;
	}
}

static enum decision delete_settle(struct request *q, struct write *w)
{
	struct deletion *d = container_of(w, struct deletion, write);
	struct object *o = w->object;
	assert(w->present && o && o != w->present); /* a copy: others read the present one */
	enum grace grace = grace_decide(q, o, &d->options);

	d->is_marking = grace == GRACE_SET && o->meta.grace_period_s == 0 && !o->meta.finalizers;
	if (grace == GRACE_PENDING) {
		return DECIDE_KEEP;
	}
	if (d->is_marking && q->is_dry_run) {
		return DECIDE_REMOVE;
	}
	if (grace == GRACE_SET) {
		o->mod_revision = w->present->mod_revision;
		return DECIDE_PUT;
	}
	if (o->kind->keep_on_delete && o->kind->keep_on_delete(o, q->a)) {
		delete_mark(q, o, false);
	} else if (o->meta.finalizers) {
		delete_mark(q, o, true);
	} else {
		o->meta.finalizers = w->present->meta.finalizers; /* what goes, and is shown, is what is stored */
		return DECIDE_REMOVE;
	}
	o->mod_revision = w->present->mod_revision;
	return object_equal(o, w->present) ? DECIDE_KEEP : DECIDE_PUT;
}

/* The second of two writes. If somebody else has removed the marked object, the client has what it asked for. */
static enum decision delete_decide_marked(struct request *q, struct write *w)
{
	struct deletion *d = container_of(w, struct deletion, write);
	assert(d->marked_revision > 0 && d->marked_uid.n > 0);

	d->is_marking = false;
	if (!w->present || !str_eq(w->present->meta.uid, d->marked_uid)) {
		if (object_decode_stored(&w->present, q->route.kind, d->marked, d->marked_revision, q->a)) {
			status_internal(&q->st, "the deleted object cannot be read");
			return DECIDE_REFUSE;
		}
		return DECIDE_KEEP;
	}
	w->object = object_copy(w->present, q->a);
	return w->object->meta.finalizers ? DECIDE_KEEP : DECIDE_REMOVE;
}

static enum decision delete_decide(struct request *q, struct write *w)
{
	struct deletion *d = container_of(w, struct deletion, write);

	if (d->marked.n > 0) {
		return delete_decide_marked(q, w);
	}
	if (!w->present) {
		agreed_version_not_found(q, w->name);
		return DECIDE_REFUSE;
	}
	if (delete_check_preconditions(q, d) || write_admit_delete(q, w)) {
		return DECIDE_REFUSE;
	}
	if (write_archive(q, w)) {
		return DECIDE_REFUSE;
	}
	w->object = object_copy(w->present, q->a);
	if (w->moved.to) {
		d->is_marking = false;
		return DECIDE_REMOVE;
	}
	delete_set_finalizers(&w->object->meta, delete_policy(q->route.kind, &w->object->meta, &d->options), q->a);
	return delete_settle(q, w);
}

/* If only the deletion's mark has been written so far, starts the second write and returns true. */
static bool delete_goes_on(struct request *q, struct deletion *d)
{
	if (!d->is_marking || d->write.decision != DECIDE_PUT || q->is_dry_run) {
		return false;
	}
	struct write *w = &d->write;
	assert(w->revision > 0 && w->stored.n > 0 && w->present);
	d->marked = arena_dup(w->arena, w->stored);
	d->marked_revision = w->revision;
	d->marked_uid = arena_dup(w->arena, w->present->meta.uid);
	write_go_on(q, w);
	return true;
}

static void delete_finish(struct request *q, struct write *w)
{
	struct deletion *d = container_of(w, struct deletion, write);

	if (delete_goes_on(q, d)) {
		return;
	}
	bool is_accepted_only = d->options.has_orphan_dependents && !d->options.orphan_dependents;

	if (w->decision == DECIDE_REMOVE && !q->route.kind->delete_answers_object) {
		reply_success(q, status_success(q->a, request_group(q), q->route.resource, w->name, w->present->meta.uid));
	} else {
		/* The object as it went: its last version is that of its deletion. */
		if (w->decision == DECIDE_REMOVE && !q->is_dry_run) {
			w->object->mod_revision = w->revision;
		}
		write_reply(q, w->decision != DECIDE_REMOVE && is_accepted_only ? 202 : 200, w);
	}
}

static int delete_parse_protobuf(struct request *q, struct json **ret)
{
	struct str reason;

	if (protobuf_decode(ret, "DeleteOptions", &type_delete_options, http_body(q->x), q->a, &reason)) {
		status_bad_request(&q->st, STR_FMT, STR_ARG(reason));
		return 1;
	}
	return 0;
}

static int delete_read_body(struct request *q, struct json **ret)
{
	enum media_format format;
	struct str kind;

	if (media_of_body(&format, http_header(q->x, "Content-Type"), &type_delete_options, q->a, &q->st) ||
		(format == MEDIA_PROTOBUF ? delete_parse_protobuf(q, ret)
					  : media_parse_body(ret, format, http_body(q->x), q->a, &q->st))) {
		return 1;
	}
	kind = json_text(json_gets(*ret, "kind"));
	if (!json_is(*ret, JSON_OBJECT) && !json_is(*ret, JSON_NULL)) {
		status_bad_request(&q->st, "couldn't get version/kind; the body must be a JSON object of kind DeleteOptions");
		return 1;
	}
	if (kind.n > 0 && !str_is(kind, "DeleteOptions")) {
		status_bad_request(&q->st, "the body must be of kind DeleteOptions, not " STR_FMT, STR_ARG(kind));
		return 1;
	}
	request_audit_sent_delete_options(q, *ret);
	return 0;
}

/* Any body makes the query's options void, as in kube-apiserver. */
static int delete_parse(struct request *q, struct deletion *d)
{
	struct json *body = NULL;

	if ((http_body(q->x).n > 0 && delete_read_body(q, &body)) ||
		delete_options_parse(&d->options, &q->route.params, body, q->a, &q->st)) {
		return 1;
	}
	d->body = json_is(body, JSON_OBJECT) ? body : NULL;
	q->is_dry_run = d->options.dry_run;
	/* Before the object is looked for, as in kube-apiserver. */
	const char *warning = q->route.kind->orphans_warning;

	if (warning && !d->options.has_orphan_dependents && d->options.propagation == PROPAGATE_DEFAULT) {
		request_warn(q, str_of(warning));
	}
	return 0;
}

void verb_delete(struct request *q)
{
	struct deletion *d = arena_new(q->a, struct deletion);

	if (delete_parse(q, d)) {
		reply_status(q);
		return;
	}
	d->write.name = q->route.name;
	d->write.delete_options = d->body;
	d->write.keeps_form = true;
	d->write.decide = delete_decide;
	d->write.finish = delete_finish;
	write_run(q, &d->write);
}

/* ---- a collection: one after the other, each in a transaction of its own ----
 *
 * Objects that others refer to wait until all others have gone, which may be the referring ones. They are tried again in the
 * opposite order, so a chain of objects goes in two passes whichever way it points. The first that is refused in the last pass
 * is the answer. */

enum { PASSES_MAX = 8 }; /* over a collection: each is O(n), and whoever asked may ask again */

struct collection {
	struct deletion deletion;
	struct listing listing;
	size_t at; /* how many of this pass are over */
	unsigned pass;
	bool is_last_pass;
	size_t n_refused, n_refused_before; /* in this pass, and in the one before */
	bool *are_waiting;                  /* by item: it was refused. NULL: none was */
	struct arena *arena;         /* the request's */
	struct arena scratch;        /* of the deletion under way: memory does not grow with their number */
	bool is_stepping, has_stepped;
};

static void collection_cleanup(struct request *q _unused_, void *ctx)
{
	struct collection *c = ctx;

	listing_done(&c->listing);
	arena_done(&c->scratch);
}

static enum decision collection_decide(struct request *q, struct write *w)
{
	const struct deletion *d = container_of(w, struct deletion, write);

	/* If somebody else was faster, the object is gone, as the client asked. */
	return w->present || d->marked.n > 0 ? delete_decide(q, w) : DECIDE_KEEP;
}

static void collection_run(struct request *q, struct collection *c);

/* The item whose turn it is. */
static size_t collection_item(const struct collection *c)
{
	assert(c->at < c->listing.n_items);
	return c->pass % 2 ? c->listing.n_items - 1 - c->at : c->at;
}

static void collection_next(struct request *q, struct collection *c)
{
	assert(c->at < c->listing.n_items);
	c->has_stepped = true;
	if (!c->is_stepping) {
		c->at++;
		collection_run(q, c);
	}
}

static void collection_finish(struct request *q, struct write *w)
{
	struct collection *c = container_of(w, struct collection, deletion.write);

	if (delete_goes_on(q, &c->deletion)) {
		return;
	}
	if (c->are_waiting) {
		c->are_waiting[collection_item(c)] = false;
	}
	collection_next(q, c);
}

static void collection_refused(struct request *q, struct write *w)
{
	struct collection *c = container_of(w, struct collection, deletion.write);

	if (c->is_last_pass || !references_are_blocking(q, w)) {
		reply_status(q);
		return;
	}
	if (!c->are_waiting) {
		c->are_waiting = arena_zalloc_array(c->arena, c->listing.n_items, sizeof(*c->are_waiting));
	}
	c->are_waiting[collection_item(c)] = true;
	c->n_refused++;
	collection_next(q, c);
}

/* Starts the deletion of one object; true when it was over at once. */
static bool collection_step(struct request *q, struct collection *c)
{
	assert(!c->is_stepping);
	const struct cached *o = c->listing.items[collection_item(c)];

	plan_clear(&q->plan);
	write_end_turn(q); /* its key is there */
	arena_clear(&c->scratch);
	c->deletion.write = (struct write){.arena = &c->scratch,
		.name = o->name,
		.delete_options = c->deletion.body,
		.keeps_form = true,
		.decide = collection_decide,
		.finish = collection_finish,
		.refused = collection_refused};
	c->deletion.is_marking = false;
	c->deletion.marked = STR("");
	c->is_stepping = true;
	c->has_stepped = false;
	write_run(q, &c->deletion.write);
	c->is_stepping = false;
	return c->has_stepped;
}

static bool collection_passes_again(struct collection *c)
{
	if (c->n_refused == 0) {
		return false;
	}
	assert(!c->is_last_pass);
	c->pass++;
	c->is_last_pass = c->pass == PASSES_MAX || (c->pass > 1 && c->n_refused >= c->n_refused_before);
	c->n_refused_before = c->n_refused;
	c->n_refused = 0;
	c->at = 0;
	return true;
}

static void collection_run(struct request *q, struct collection *c)
{
	do {
		for (; c->at < c->listing.n_items; c->at++) {
			/* An object that has gone may be there again, as another one. */
			bool is_over = c->pass > 0 && !c->are_waiting[collection_item(c)];
			if (!is_over && !collection_step(q, c)) {
				return;
			}
		}
	} while (collection_passes_again(c));
	q->a = c->arena;
	write_end_turn(q);
	reply_listing(q, &c->listing);
}

static void collection_found(struct request *q, struct listing *l)
{
	struct collection *c = container_of(l, struct collection, listing);

	collection_run(q, c);
}

void verb_delete_collection(struct request *q)
{
	struct collection *c = arena_new(q->a, struct collection);

	if (delete_parse(q, &c->deletion)) {
		reply_status(q);
		return;
	}
	c->listing.is_in_pages = true;
	c->arena = q->a;
	arena_init(&c->scratch, (size_t)64 << 20);
	request_on_cleanup(q, collection_cleanup, c);
	listing_run(q, &c->listing, collection_found);
}
