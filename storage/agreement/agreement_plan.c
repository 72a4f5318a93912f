/* Decided from a view and from nothing else: so the proof can speak of views, and tests can try
 * every one. What cannot be understood counts against everybody: it freezes what is written rather
 * than being left out. */
#include "storage/agreement/agreement_plan.h"

static bool is_other(const struct agreement_self *self, const struct agreement_replica *r)
{
	return !str_eq(r->id, self->id);
}

static bool is_understood(const struct agreement_replica *r)
{
	return r->problem.n == 0;
}

static const struct agreement_version *version_of(const struct agreement_replica *r, const struct kind *k)
{
	return &r->versions[k->index];
}

/* The door of a version that we know, too. */
static const struct door *door_known(const struct agreement_self *self, const struct kind *k, struct str api_version)
{
	const struct door *d = kind_door(k, api_version);
	return d && (self->knows[k->index] & UINT32_C(1) << (d - k->doors)) ? d : NULL;
}

/* Somebody else who writes the kind. */
static bool takes_part(const struct agreement_self *self, const struct agreement_replica *r, const struct kind *k)
{
	return is_other(self, r) && is_understood(r) && version_of(r, k)->encodes.n > 0;
}

static bool decodes(const struct agreement_replica *r, const struct kind *k, const struct door *d)
{
	const struct agreement_version *v = version_of(r, k);

	for (size_t i = 0; i < v->n_decodes; i++) {
		if (kind_door(k, v->decodes[i]) == d) {
			return true;
		}
	}
	return false;
}

static bool encodes(const struct agreement_replica *r, const struct kind *k, const struct door *d)
{
	return kind_door(k, version_of(r, k)->encodes) == d;
}

/* ---- what others say ---- */

const struct agreement_replica *agreement_view_find(const struct agreement_view *v, struct str id)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		if (str_eq(v->replicas[i].id, id)) {
			return &v->replicas[i];
		}
	}
	return NULL;
}

int64_t agreement_newest(const struct agreement_self *self, const struct agreement_view *v)
{
	int64_t newest = 0;

	for (size_t i = 0; i < v->n_replicas; i++) {
		if (is_other(self, &v->replicas[i])) {
			newest = MAX(newest, v->replicas[i].mod_revision);
		}
	}
	return newest;
}

const struct agreement_replica *agreement_unreadable(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		if (takes_part(self, r, k) && !door_known(self, k, version_of(r, k)->encodes)) {
			return r;
		}
	}
	return NULL;
}

static const struct agreement_replica *find_problem(const struct agreement_self *self, const struct agreement_view *v)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		if (is_other(self, &v->replicas[i]) && !is_understood(&v->replicas[i])) {
			return &v->replicas[i];
		}
	}
	return NULL;
}

/* Who writes the kind and could not read this version; NULL: nobody. */
static const struct agreement_replica *find_hindrance(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct door *d)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		if (takes_part(self, &v->replicas[i], k) && !decodes(&v->replicas[i], k, d)) {
			return &v->replicas[i];
		}
	}
	return NULL;
}

static bool is_encoded(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct door *d)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		if (takes_part(self, &v->replicas[i], k) && encodes(&v->replicas[i], k, d)) {
			return true;
		}
	}
	return false;
}

/* ---- choosing ---- */

static bool fits(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct door *d)
{
	return !find_hindrance(self, v, k, d);
}

/* A version of those that others write. */
static const struct door *choose_encoded(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		const struct door *d = takes_part(self, r, k) ? door_known(self, k, version_of(r, k)->encodes) : NULL;
		if (d && fits(self, v, k, d)) {
			return d;
		}
	}
	return NULL;
}

static const struct door *choose_any(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k)
{
	for (size_t i = 0; i < k->n_doors; i++) {
		if ((self->knows[k->index] & UINT32_C(1) << i) && fits(self, v, k, &k->doors[i])) {
			return &k->doors[i];
		}
	}
	return NULL;
}

static const struct door *choose_instead(const struct agreement_self *self, const struct agreement_view *v,
	const struct kind *k, const struct door *present, bool is_frozen)
{
	if (present && fits(self, v, k, present)) {
		return present;
	}
	const struct door *d = choose_encoded(self, v, k);
	return d || is_frozen ? d : choose_any(self, v, k);
}

struct agreement_choice agreement_choose(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct door *present)
{
	const struct door *wanted = self->wanted.doors[k->index];
	const struct agreement_replica *unreadable = agreement_unreadable(self, v, k);
	const struct agreement_replica *problem = find_problem(self, v);
	const struct agreement_replica *hindrance = find_hindrance(self, v, k, wanted);

	if (unreadable) {
		return (struct agreement_choice){NULL, AGREEMENT_CANNOT_READ, unreadable};
	}
	bool is_frozen = problem && wanted != present && !is_encoded(self, v, k, wanted);
	if (!hindrance && !is_frozen) {
		return (struct agreement_choice){wanted, AGREEMENT_WANTED, NULL};
	}
	struct agreement_choice choice = {
		.encodes = choose_instead(self, v, k, present, problem != NULL),
		.reason = hindrance ? AGREEMENT_HELD_BACK : AGREEMENT_FROZEN,
		.replica = hindrance ? hindrance : problem,
	};
	if (!choice.encodes && hindrance) {
		choice.reason = AGREEMENT_NO_VERSION;
	}
	return choice;
}

/* ---- writing ---- */

/* A registration is an acknowledgement itself: it is made only by who has seen all that are older. What is under no lease is no replica's, and will never
 * acknowledge anything. */
static bool has_seen(const struct agreement_replica *r, int64_t since)
{
	return MAX(r->seen, r->mod_revision) >= since || r->lease == 0;
}

static bool must_see(
	const struct agreement_self *self, const struct agreement_replica *r, const struct kind *k, const struct door *d)
{
	return is_other(self, r) && (!is_understood(r) || (takes_part(self, r, k) && !encodes(r, k, d)));
}

bool agreement_may_write(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k,
	const struct door *d, int64_t since, const struct agreement_replica **ret_waits_for)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		if (must_see(self, r, k, d) && !has_seen(r, since)) {
			*ret_waits_for = r;
			return false;
		}
	}
	return true;
}

bool agreement_is_common(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct door *d)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		if (must_see(self, &v->replicas[i], k, d)) {
			return false;
		}
	}
	return !v->is_overfull;
}

/* ---- sentences ---- */

/* A key may be named anything; a log is not to show it as something else. */
static void write_id(struct str id, struct buf *out)
{
	enum { SHOWN_MAX = 64 };

	for (size_t i = 0; i < MIN(id.n, (size_t)SHOWN_MAX); i++) {
		buf_addc(out, char_shown(id.p[i]));
	}
}

void agreement_write_name(const struct agreement_replica *r, struct buf *out)
{
	buf_adds(out, "replica ");
	write_id(r->id, out);
	if (r->address.n) {
		buf_printf(out, " (" STR_FMT ")", STR_ARG(r->address));
	}
}

static void explain_wanted(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *c, struct buf *out)
{
	(void)self;
	kind_write_group_resource(k, out);
	buf_adds(out, " is stored as ");
	door_write_api_version(c->encodes, out);
}

static void explain_held_back(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *c, struct buf *out)
{
	explain_wanted(self, k, c, out);
	buf_adds(out, " rather than ");
	door_write_api_version(self->wanted.doors[k->index], out);
	buf_adds(out, ", which ");
	agreement_write_name(c->replica, out);
	buf_adds(out, " cannot read");
}

static void explain_frozen(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *c, struct buf *out)
{
	kind_write_group_resource(k, out);
	if (c->encodes) {
		buf_adds(out, " is still stored as ");
		door_write_api_version(c->encodes, out);
		buf_adds(out, " rather than ");
	} else {
		buf_adds(out, " is not written, as ");
	}
	door_write_api_version(self->wanted.doors[k->index], out);
	buf_adds(out, ": nobody begins to write another version while the registration of ");
	agreement_write_name(c->replica, out);
	buf_printf(out, " cannot be understood (" STR_FMT ")", STR_ARG(c->replica->problem));
}

static void explain_cannot_read(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *c, struct buf *out)
{
	(void)self;
	agreement_write_name(c->replica, out);
	buf_adds(out, " stores ");
	kind_write_group_resource(k, out);
	buf_printf(out, " as " STR_FMT ", which this server cannot read: it neither reads nor writes them",
		STR_ARG(version_of(c->replica, k)->encodes));
}

static void explain_no_version(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *c, struct buf *out)
{
	kind_write_group_resource(k, out);
	buf_adds(out, " cannot be written: ");
	agreement_write_name(c->replica, out);
	buf_adds(out, " cannot read ");
	door_write_api_version(self->wanted.doors[k->index], out);
	buf_adds(out, ", and there is no version that all servers know");
}

void agreement_explain_choice(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *choice, struct buf *out)
{
	static void (*const sentences[])(
		const struct agreement_self *, const struct kind *, const struct agreement_choice *, struct buf *) = {
		[AGREEMENT_WANTED] = explain_wanted,
		[AGREEMENT_HELD_BACK] = explain_held_back,
		[AGREEMENT_FROZEN] = explain_frozen,
		[AGREEMENT_CANNOT_READ] = explain_cannot_read,
		[AGREEMENT_NO_VERSION] = explain_no_version,
	};
	sentences[choice->reason](self, k, choice, out);
}

void agreement_explain_wait(
	const struct kind *k, const struct door *d, const struct agreement_replica *waits_for, struct buf *out)
{
	agreement_write_name(waits_for, out);
	buf_adds(out, " has yet to see that ");
	kind_write_group_resource(k, out);
	buf_adds(out, " will be stored as ");
	door_write_api_version(d, out);
}
