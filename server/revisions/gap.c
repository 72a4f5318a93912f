#include "server/revisions/gap.h"

#include "api/diff/changes.h"
#include "api/model/members.h"

#include <assert.h>
#include <stdlib.h>

/* ---- where a gap begins and ends ---- */

/* Where the last recorded state is the beginning. Its digest is that of the whole state only if nothing was ignored or redacted. */
static struct gap_end recorded_end(const struct json *status, struct arena *a)
{
	const struct json *changes = json_gets(status, "changes");
	const struct json *last = json_is(changes, JSON_ARRAY) && changes->n > 0 ? changes->items[changes->n - 1] : NULL;
	struct gap_end end = {.version = 0};

	str_to_uint64(member_text(last, "resourceVersion"), &end.version);
	if (last && !change_is_stateless(last)) {
		end.digest = arena_dup(a, member_text(status, "digest"));
	}
	return end;
}

void gap_read(struct change_gap *ret, const struct json *status, const struct json *change, struct arena *a)
{
	struct str recorded = member_text(status, "uid");

	*ret = (struct change_gap){
		.is_deletion = change_is_deletion(change), .is_creation = str_is(member_text(change, "type"), "Created")};
	struct str uid = ret->is_deletion ? recorded : member_text(change, "uid");
	if (!ret->is_creation) {
		ret->from = recorded_end(status, a);
	}
	if (!ret->is_deletion) {
		str_to_uint64(member_text(change, "resourceVersion"), &ret->to.version);
		ret->to.digest = arena_dup(a, member_text(change, "writeDigest"));
	}
	if (ret->is_creation || (ret->from.version > 0 && str_eq(recorded, uid))) {
		ret->uid = arena_dup(a, uid);
	}
}

/* ---- the links ---- */

/* The notes of one version. One of them is the write that replaced it, or none is noted. */
struct group {
	const struct user_note *notes;
	size_t n;
	struct gap_end end; /* the version, and the state that the object had in it */
};

static int note_cmp(const void *a, const void *b)
{
	const struct user_note *x = a, *y = b;

	return x->version < y->version ? -1 : x->version > y->version;
}

/* Takes the notes of the next version. False: there are none. */
static bool group_next(struct group *g, const struct user_note *notes, size_t n, size_t *at)
{
	if (*at == n) {
		return false;
	}
	*g = (struct group){.notes = notes + *at, .end.version = notes[*at].version};
	while (*at < n && notes[*at].version == g->end.version) {
		struct str from = notes[*at].from;
		g->end.digest = from.n > 0 ? from : g->end.digest;
		g->n++;
		(*at)++;
	}
	return true;
}

static bool is_same(struct str a, struct str b)
{
	return a.n > 0 && str_eq(a, b);
}

static bool leads_to(const struct user_note *note, const struct gap_end *next)
{
	return is_same(note->to, next->digest) || (note->result > 0 && note->result == next->version);
}

static void add_author(struct gap_authors *ret, const struct user_note *note)
{
	for (size_t i = 0; i < ret->n; i++) {
		if (str_eq(ret->v[i].user, note->user)) {
			ret->v[i].time_s = MAX(ret->v[i].time_s, note->time_s);
			return;
		}
	}
	if (ret->n == GAP_AUTHORS_MAX) {
		ret->has_more = true;
		return;
	}
	ret->v[ret->n++] = (struct gap_author){note->user, note->time_s};
}

/* Adds the author of what happened from these notes' version to the next known state. */
static struct str take_link(struct gap_authors *ret, const struct group *g, const struct gap_end *next)
{
	const struct user_note *author = NULL, *certain = NULL;
	bool is_ambiguous = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct user_note *note = &g->notes[i];
		certain = note->sort == NOTE_WRITE ? note : certain;
		if (leads_to(note, next)) {
			is_ambiguous = is_ambiguous || (author && !str_eq(author->user, note->user));
			author = author && author->time_s > note->time_s ? author : note;
		}
	}
	if (author && !is_ambiguous) {
		add_author(ret, author);
		return author->user;
	}
	if (certain) { /* and then somebody else wrote */
		add_author(ret, certain);
	}
	ret->has_more = ret->has_more || is_ambiguous || certain || !is_same(g->end.digest, next->digest);
	return STR("");
}

/* Was that the recorded state, or what the last note before it led to? */
static bool begins_with(const struct group *first, const struct group *before, const struct gap_end *from)
{
	bool begins = first->end.version == from->version || is_same(first->end.digest, from->digest);

	for (size_t i = 0; i < before->n && !begins; i++) {
		begins = is_same(before->notes[i].to, first->end.digest) || is_same(before->notes[i].from, first->end.digest);
	}
	return begins;
}

static size_t drop_deletions(struct user_note *notes, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (notes[i].sort != NOTE_DELETION) {
			notes[kept++] = notes[i];
		}
	}
	return kept;
}

void gap_find_authors(
	struct gap_authors *ret, struct user_note *notes, size_t n, const struct gap_end *from, const struct gap_end *to)
{
	struct group before = {.n = 0}, now, next;
	struct gap_end present = *from;
	size_t at = 0;
	bool is_first = true;

	*ret = (struct gap_authors){.n = 0};
	n = drop_deletions(notes, n);
	if (n > 1) {
		qsort(notes, n, sizeof(*notes), note_cmp);
	}
	bool is_there = group_next(&next, notes, n, &at);
	while (is_there && next.end.version < from->version) {
		before = next;
		is_there = group_next(&next, notes, n, &at);
	}
	while (is_there && (to->version == 0 || next.end.version < to->version)) {
		now = next;
		is_there = group_next(&next, notes, n, &at);
		bool is_last = !is_there || (to->version > 0 && next.end.version >= to->version);
		if (is_first && !begins_with(&now, &before, from)) {
			ret->has_more = true;
		}
		struct str author = take_link(ret, &now, is_last ? to : &next.end);
		ret->first = now.end.version == from->version ? author : ret->first;
		ret->last = author.n > 0 ? author : ret->last;
		is_first = false;
		present = now.end;
	}
	if (is_first && !is_same(present.digest, to->digest)) {
		ret->has_more = true; /* no note, and another state */
	}
	assert(ret->n <= GAP_AUTHORS_MAX);
}

void gap_leave_out(struct gap_authors *authors, struct str user)
{
	size_t kept = 0;

	for (size_t i = 0; i < authors->n; i++) {
		if (!str_eq(authors->v[i].user, user)) {
			authors->v[kept++] = authors->v[i];
		}
	}
	authors->n = kept;
}
