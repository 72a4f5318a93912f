/* undo --by=USER --since=T. Each object whose changes since then include that user's goes back to the state before the first of
 * them. Only the user of a change counts, not its field manager: everybody may choose that.
 *
 * Also undo --replace of one object, which goes the same way: plan, dry run, question, writes. */
#include "api/diff/changes.h"
#include "api/diff/state.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "cli/kubectl/kubectl_bulk.h"
#include "cli/kubectl/kubectl_undo.h"

enum {
	PAUSES_MAX = 15, /* of one command, for Recorders that are late */
	PAUSE_MS = 200,
	OTHERS_SHOWN = 3,
};

struct undoing {
	int64_t since_us;
	uint64_t n_unlisted; /* objects of which not all changes are listed, and none of those is the user's */
};

static int read_since(struct kubectl *k, int64_t *ret_us)
{
	int64_t ago;
	if (!k->since == !k->since_time) {
		return kubectl_fail(k, "--by needs one of --since and --since-time");
	}
	if (k->since_time) {
		return time_parse_rfc3339(str_of(k->since_time), ret_us)
			? 0
			: kubectl_fail(k, "--since-time must be a time such as 2026-11-23T08:00:00Z");
	}
	if (!kubectl_read_duration(k->since, &ago)) {
		return kubectl_fail(k, "--since must be a duration such as 90s, 30m, 12h or 7d");
	}
	*ret_us = clock_wall_us() - ago;
	return 0;
}

int undo_by_check(struct kubectl *k)
{
	int64_t us;
	if (k->to_revision >= 0) {
		return kubectl_fail(k, "--to-revision is for one object, without --by");
	}
	return !*k->by ? kubectl_fail(k, "--by must name a user") : read_since(k, &us);
}

/* ---- the changes of one object ---- */

struct verdict {
	uint32_t first;     /* the user's first change since then */
	bool is_user_there; /* there is one */
	bool was_absent;    /* before it, the object did not exist */
	bool is_deleted;    /* now */
	struct str gap;     /* words about a gap in which the user wrote since then; empty: there is none */
	bool is_short;      /* changes since then are not listed any more */
	struct str before;  /* the revision before it; empty: not known */
	struct str others;  /* words about changes by others after it; empty: none */
};

static bool is_time_since(struct str time, int64_t since_us)
{
	int64_t us;
	return time_parse_rfc3339(time, &us) && us >= since_us;
}

static bool is_since(const struct json *change, int64_t since_us)
{
	return is_time_since(member_text(change, "time"), since_us);
}

static bool is_users(const struct kubectl *k, const struct json *change)
{
	return str_is(member_text(change, "user"), k->by) && !member_is_true(change, "skipped");
}

/* Did the user write since then, between two changes that were recorded? */
static bool is_in_gap(const struct kubectl *k, const struct json *change, int64_t since_us)
{
	struct str time;
	if (member_is_true(change, "skipped") && str_is(member_text(change, "user"), k->by)) {
		return is_since(change, since_us);
	}
	return change_is_in_gap_by(change, str_of(k->by), &time) && is_time_since(time, since_us);
}

static struct str gap_text(struct kubectl *k, const struct json *change)
{
	return arena_printf(&k->arena, STR_FMT " to " STR_FMT, STR_ARG(member_text(json_gets(change, "gap"), "time")),
		STR_ARG(member_text(change, "time")));
}

static void note_other(struct kubectl *k, struct buf *out, const struct json *change, size_t n)
{
	if (n < OTHERS_SHOWN) {
		buf_printf(out, "%s" STR_FMT " (" STR_FMT ", " STR_FMT "%s)", n ? ", " : "",
			STR_ARG(change_by(&k->arena, change)), STR_ARG(member_text(change, "time")),
			STR_ARG(change_what(&k->arena, change, false)),
			member_is_true(change, "skipped") ? ", states were skipped" : "");
	} else if (n == OTHERS_SHOWN) {
		buf_adds(out, " and others");
	}
}

/* A change that nobody made may have no revision: then the one before it holds the state. */
static struct str revision_at(const struct json *changes, uint32_t at)
{
	struct str name = member_text(changes->items[at], "revision");
	for (; at > 0 && !name.n && change_is_rerecorded(changes->items[at]); at--) {
		name = member_text(changes->items[at - 1], "revision");
	}
	return name;
}

static void find_before(const struct json *changes, struct verdict *v)
{
	const struct json *first = changes->items[v->first], *previous = v->first ? changes->items[v->first - 1] : NULL;
	bool is_creation = str_is(member_text(first, "type"), "Created");
	v->was_absent = previous ? str_is(member_text(previous, "type"), "Deleted") : is_creation;
	v->before = previous && !v->was_absent ? revision_at(changes, v->first - 1) : STR("");
}

static struct verdict judge(struct kubectl *k, const struct json *history, int64_t since_us)
{
	const struct json *status = json_gets(history, "status"), *changes = json_gets(status, "changes"), *each;
	struct verdict v = {.is_deleted = history_is_deleted(history)};
	_cleanup_(buf_done) struct buf others;
	size_t n_others = 0;
	buf_init(&others, 64 * 1024);
	for (uint32_t i = 0; (each = list_item(changes, i)); i++) {
		bool is_wanted = is_since(each, since_us) && is_users(k, each);
		if (is_in_gap(k, each, since_us)) {
			v.gap = gap_text(k, each);
		}
		if (v.is_user_there && !change_is_rerecorded(each) && !is_users(k, each)) {
			note_other(k, &others, each, n_others++);
		}
		if (is_wanted && !v.is_user_there) {
			v.is_user_there = true;
			v.first = i;
			find_before(changes, &v);
		}
	}
	v.others = arena_dup(&k->arena, buf_str(&others));
	v.is_short = member_int(status, "totalChanges") > (int64_t)member_count(status, "changes") &&
		is_since(list_item(changes, 0), since_us);
	return v;
}

/* ---- planning ---- */

static struct str what_text(struct bulk *b, const struct revisions *all, const struct verdict *v)
{
	const struct json *changes = json_gets(json_gets(all->history, "status"), "changes"), *first = changes->items[v->first];
	uint32_t n = 0;
	for (uint32_t i = v->first; i < changes->n; i++) {
		n += is_users(b->k, changes->items[i]);
	}
	return n == 1 ? bulk_text(b, "%s: " STR_FMT, b->k->by, STR_ARG(change_what(&b->k->arena, first, false)))
		      : bulk_text(b, "%s: %u changes, the first is " STR_FMT, b->k->by, n,
				STR_ARG(change_what(&b->k->arena, first, false)));
}

/* -1: refused; 1: the Recorder is late, look again; 0. A long queue of a Recorder means that the newest revision is old, so the
 * object itself is read. */
static int check_newest(struct bulk *b, const struct revisions *all)
{
	bool is_recorded;
	struct kubectl *k = b->k;
	if (undo_is_recorded(k, all, &is_recorded)) {
		return -1;
	}
	if (is_recorded) {
		return 0;
	}
	if (b->n_pauses++ < PAUSES_MAX) {
		client_sleep(k->client, PAUSE_MS);
		return 1;
	}
	return kubectl_fail(k, "it has been changed since revision %lld was recorded, and nobody knows by whom",
		(long long)revisions_today(k, all)->number);
}

static int plan_to(struct bulk *b, struct bulk_item *item, const struct revisions *all, int64_t number)
{
	struct undo_plan plan;
	b->k->to_revision = number;
	if (undo_plan_recorded(b->k, all, &plan)) {
		return -1;
	}
	if (plan.is_as_it_is) {
		bulk_skip(b, item, "it already is in that state");
		item->revision = number;
		return 0;
	}
	undo_warn_of_applied(b->k);
	bulk_show(b, item, plan.now, plan.then, plan.revision);
	bulk_change(b, item, plan.type, plan.patch, plan.wanted, number);
	return 0;
}

static int plan_back(struct bulk *b, struct bulk_item *item, const struct revisions *all, const struct verdict *v)
{
	struct kubectl *k = b->k;
	struct restore_plan plan;
	const struct revision *before = v->was_absent ? NULL : revisions_by_name(all, v->before);
	if (v->was_absent && v->is_deleted) {
		bulk_skip(b, item, "it was created and deleted since");
		return 0;
	}
	if (!v->was_absent && !before) {
		return kubectl_fail(k, "the state before the first change by %s is not kept any more", k->by);
	}
	if (v->is_deleted) {
		k->revision = before->number;
		if (restore_plan(k, all, &plan)) {
			return -1;
		}
		bulk_show(b, item, NULL, plan.object, before);
		bulk_create(b, item, plan.object, before->number);
		return 0;
	}
	int r = check_newest(b, all);
	if (r) {
		return r;
	}
	if (v->was_absent) {
		bulk_show(b, item, state_of(k->object, NULL, &k->arena), NULL, NULL);
		bulk_delete(b, item);
		return 0;
	}
	return plan_to(b, item, all, before->number);
}

static int plan_listed(struct bulk *b, struct bulk_item *item, const struct revisions *all)
{
	struct kubectl *k = b->k;
	const struct undoing *u = b->ctx;
	if (!all->history) {
		return kubectl_fail(k, "its History is gone");
	}
	struct verdict v = judge(k, all->history, u->since_us);
	if (v.gap.n) {
		return kubectl_fail(k,
			"%s wrote it in a gap of its History, " STR_FMT ": the states in between were not recorded", k->by,
			STR_ARG(v.gap));
	}
	if (!v.is_user_there) {
		return kubectl_fail(k, "its History does not list the changes by %s any more", k->by);
	}
	item->reason = what_text(b, all, &v);
	if (v.others.n && !k->forces_conflicts) {
		return kubectl_fail(k, "changed since by " STR_FMT "; --force-conflicts goes back all the same, and loses that",
			STR_ARG(v.others));
	}
	if (v.is_short && !k->forces_conflicts) {
		return kubectl_fail(k,
			"not all changes since then are listed, and %s may have made earlier ones; --force-conflicts goes back to "
			"before the first that is listed",
			k->by);
	}
	if (v.others.n) {
		kubectl_note(k, "changes that are lost: " STR_FMT, STR_ARG(v.others));
	}
	return plan_back(b, item, all, &v);
}

static int plan_by(struct bulk *b, struct bulk_item *item)
{
	int r = 1;
	while (r > 0) {
		struct revisions all;
		item->links = NULL;
		r = revisions_list(b->k, &all);
		if (r < 0 && !all.history && answer_is_absent(&b->k->answer, &b->k->target)) {
			kubectl_fail(b->k, "its History is gone");
		}
		r = r ? r : plan_listed(b, item, &all);
		revisions_done(&all);
	}
	return r;
}

/* ---- one object, with --replace ---- */

static int plan_chosen(struct bulk *b, struct bulk_item *item, const struct revisions *all, int64_t number)
{
	struct kubectl *k = b->k;
	if (!all->history) {
		return kubectl_fail(k, "--replace needs a recorded state, and nothing was recorded of it");
	}
	if (number < 0) {
		const struct revision *before = revisions_before(k, all);
		int r = before ? check_newest(b, all) : kubectl_fail(k, "there is no revision before the newest");
		if (r) {
			return r;
		}
		number = before->number;
	}
	item->reason = STR("as chosen");
	return plan_to(b, item, all, number);
}

static int plan_one(struct bulk *b, struct bulk_item *item)
{
	const int64_t *number = b->ctx;
	int r = 1;
	while (r > 0) {
		struct revisions all;
		item->links = NULL;
		r = revisions_list(b->k, &all);
		r = r ? r : plan_chosen(b, item, &all, *number);
		revisions_done(&all);
	}
	return r;
}

static int undo_one(struct bulk *b, struct str name)
{
	struct kubectl *k = b->k;
	int64_t number = k->to_revision;
	const struct json *history = NULL;
	struct answer answer;
	b->ctx = &number;
	b->plan = plan_one;
	if (kubectl_find(k, name, WORDS_OBJECT)) {
		return -1;
	}
	answer_init(&answer);
	int r = history_find(k, &answer, &history);
	r = r > 0   ? bulk_add(b, history)
		: r ? -1
		    : kubectl_fail(k, "nothing was recorded of " STR_FMT, STR_ARG(kubectl_name(k)));
	answer_done(&answer);
	return r ? r : bulk_run(b);
}

/* ---- the command ---- */

static bool add_changed(void *ctx, const struct json *history)
{
	struct bulk *b = ctx;
	struct undoing *u = b->ctx;
	if (!bulk_is_meant(b, history)) {
		return true;
	}
	struct verdict v = judge(b->k, history, u->since_us);
	bool is_listed = v.is_user_there || v.gap.n > 0;
	u->n_unlisted += !is_listed && v.is_short;
	return !is_listed || bulk_add(b, history) == 0;
}

static int undo_many(struct bulk *b)
{
	struct undoing u = {0};
	b->ctx = &u;
	b->plan = plan_by;
	int r = read_since(b->k, &u.since_us);
	r = r ? r : bulk_find_subjects(b);
	r = r ? r : bulk_list(b, STR(""), add_changed);
	if (!r && u.n_unlisted) {
		kubectl_note(b->k,
			"%llu objects were changed so often since then that not all changes are listed; they are left out",
			(unsigned long long)u.n_unlisted);
	}
	return r ? r : bulk_run(b);
}

int undo_bulk(struct kubectl *k)
{
	struct bulk b;
	struct str name;
	if (histories_check(k)) {
		return -1;
	}
	bulk_init(&b, k);
	b.verb = "undone";
	int r = !k->by && kubectl_names_one(k, &name) ? undo_one(&b, name) : undo_many(&b);
	bulk_done(&b);
	return r;
}
