/* StorageVersions and StorageMigrations as the migrator writes them: directly, since they are what the server itself has to say. */
#include "migration/migrator_private.h"

#include "api/rules/validate.h"
#include "storage/keys.h"

enum { STORED_MAX = 1 << 20 };

static struct str record_key(struct migrator *m, const struct kind *k, struct str name, struct arena *a)
{
	return key_object(a, m->options.prefix, str_of(k->doors[0].group), str_of(k->resource), STR(""), name);
}

/* ---- the transaction ---- */

static bool submit(struct migrator *m, struct storage_txn *txn, const struct agreement_ticket *ticket)
{
	enum storage_result result = storage_txn_wait(m->options.storage, txn);
	bool is_done = result == STORAGE_OK && txn->succeeded;

	if (is_done) {
		m->wrote = txn->op.revision;
	} else if (result == STORAGE_OK) {
		migrator_lock_is_over(m, ticket, txn->failure);
	}
	m->is_unsure |= result == STORAGE_UNAVAILABLE || !storage_result_is_certain(result);
	storage_op_clear(&txn->op);
	return is_done && migrator_lock_await_cache(m, m->wrote);
}

static bool may_write(struct migrator *m, const struct kind *k, struct agreement_ticket *ret)
{
	return agreement_write(m->options.agreement, k, ret, NULL) == AGREEMENT_MAY_WRITE;
}

/* Under the guards of all that is written here; the step's object was last written at that revision. */
static bool change(struct migrator *m, const struct agreement_ticket *ticket, struct storage_step *step, int64_t revision,
	const struct storage_compare *more)
{
	struct storage_compare guards[TURN_GUARDS + 2];
	struct storage_step looks[TURN_GUARDS];
	size_t n = TURN_GUARDS;

	migrator_lock_guards(m, ticket, guards, looks);
	guards[n++] = storage_compare_mod(step->key, revision);
	if (more) {
		guards[n++] = *more;
	}
	struct storage_txn txn = {.op.timeout_ms = STORE_TIMEOUT_MS,
		.compares = guards,
		.n_compares = n,
		.success = step,
		.n_success = 1,
		.failure = looks,
		.n_failure = TURN_GUARDS};
	return submit(m, &txn, ticket);
}

/* ---- objects ---- */

/* In normal form: what is set here is what a client would have sent. */
static struct json *member_of_kind(const struct kind *k, const char *name, const struct json *value, struct arena *a)
{
	struct json *in = json_object(a);
	struct object *o;
	struct str error;

	json_add(a, in, str_of(name), json_copy(a, value));
	return object_decode(&o, k, &k->doors[0], in, NULL, a, NULL, &error) ? NULL : json_gets(o->fields, name);
}

static struct object *new_object(const struct record *r, struct arena *a)
{
	struct object *o = object_empty(r->kind, a);

	if (str_ends(r->name, STR("-"))) {
		o->meta.generate_name = r->name;
		meta_generate_name(&o->meta, a);
	} else {
		o->meta.name = r->name;
	}
	meta_prepare_create(o, STR(""), a);
	if (r->label) {
		o->meta.labels = json_object(a);
		json_add(a, o->meta.labels, str_of(r->label), json_string(a, str_of(r->value)));
	}
	if (r->spec) {
		json_set(a, o->fields, STR("spec"), member_of_kind(r->kind, "spec", r->spec, a));
	}
	return o;
}

static struct object *record_object(const struct record *r, struct arena *a)
{
	struct object *o = NULL;

	if (!r->old) {
		o = new_object(r, a);
	} else if (cached_object(&o, r->old, a)) {
		return NULL;
	}
	json_set(a, o->fields, STR("status"), member_of_kind(r->kind, "status", r->status, a));
	return o;
}

bool record_put(struct migrator *m, const struct record *r, struct arena *a)
{
	struct agreement_ticket ticket;
	struct object *o = may_write(m, r->kind, &ticket) ? record_object(r, a) : NULL;
	_cleanup_(buf_done) struct buf stored = {0};

	if (!o) {
		return false;
	}
	buf_init(&stored, STORED_MAX);
	if (!object_encode_stored(&stored, o, ticket.version)) {
		return false;
	}
	struct storage_step put = {.kind = STEP_PUT, .key = record_key(m, r->kind, o->meta.name, a), .value = buf_str(&stored)};
	return change(m, &ticket, &put, r->old ? r->old->revision : 0, r->guard);
}

bool record_remove(struct migrator *m, const struct cached *old, struct arena *a)
{
	struct storage_step remove = {.kind = STEP_DELETE, .key = record_key(m, old->kind, old->name, a)};
	struct agreement_ticket ticket;

	return may_write(m, old->kind, &ticket) && change(m, &ticket, &remove, old->revision, NULL);
}
