/* What going back to an own revision and to a recorded one share: who is asked, what is sent, what is said. */
#ifndef CLI_KUBECTL_KUBECTL_UNDO_H
#define CLI_KUBECTL_KUBECTL_UNDO_H

#include "cli/kubectl/kubectl.h"

#define UNDO_MANAGER "kubectl-annals"

bool undo_is_dry(const struct kubectl *k, const char *where);
/* Whether the difference is shown: to somebody who may answer or look, and in a dry run. */
bool undo_shows(const struct kubectl *k);
/* Shows it, and asks where somebody may answer and --yes was not given. False, with what is to be printed: better not. */
bool undo_ask(struct kubectl *k, const struct buf *diff, const struct revision *r);
/* The same in words of its own. will: of the object, before the number of the revision; wont: what is said where it is not done. */
bool undo_ask_whether(struct kubectl *k, const struct buf *diff, const struct revision *r, const char *will, const char *wont);
/* A merge patch, for k->object in the very version in which it was got. */
struct json *undo_guarded(struct kubectl *k, const struct json *patch);
/* A rest_error, or 0. */
int undo_send(struct kubectl *k, const char *type, const struct json *patch, struct answer *ret);
/* What became of it; what would be sent. */
void undo_tell(struct kubectl *k, const struct revision *r, const struct answer *a);
void undo_tell_only(struct kubectl *k, const struct revision *r, const struct json *patch);
/* It already is as the revision says. */
void undo_tell_as_it_is(struct kubectl *k, const struct revision *r);
/* -o json, yaml or name: true. */
bool undo_tell_in_form(struct kubectl *k, const struct json *value);
/* Of k->object, which has been got once more: it is the one of before, whose uid is kept there. 0 or -1. */
int undo_check_uid(struct kubectl *k, struct str *uid);

/* ---- of recorded states ---- */

struct undo_progress {
	struct str uid;
	bool has_changed; /* try again */
	unsigned n_behind;
};
int undo_recorded(struct kubectl *k, const struct revisions *all, struct undo_progress *progress);
/* Each 0 or -1. The state is more than a digest; the server has its version, which k->target becomes. */
int undo_check_state(struct kubectl *k, const struct revision *r);
int undo_use_version(struct kubectl *k, const struct revision *r);
/* Pointers to values that were redacted: refused, unless they may be left out. */
int undo_check_missing(struct kubectl *k, const struct json *missing, const struct revision *r);
/* As lines; now NULL: it is gone. Of a Secret no value is shown. */
void undo_write_diff(
	struct kubectl *k, const struct json *now, const struct json *wanted, const struct revision *r, struct buf *out);
/* Leaves out of the state, and names, owners that point nowhere; live (or NULL) has those that need no look. */
int undo_drop_lost_owners(struct kubectl *k, const struct json **state, const struct json *live);
/* Of a Secret no value is shown. */
bool undo_is_of_secret(const struct kubectl *k);

/* ---- for who shows first what would be written ---- */

/* Going back to k->to_revision, worked out, and not begun. */
struct undo_plan {
	struct revision *revision;
	const struct json *now; /* for people: what of the object may change, as it is */
	const char *type;       /* of the patch */
	const struct json *patch;
	bool is_as_it_is; /* nothing would change */
};
/* Each 0 or -1. */
int undo_plan(struct kubectl *k, const struct revisions *all, struct undo_plan *ret);
int undo_plan_recorded(struct kubectl *k, const struct revisions *all, struct undo_plan *ret);
/* For k->object in the version in which it was got; as k->dry_run says. */
int undo_carry_out(struct kubectl *k, const struct revisions *all, const struct undo_plan *plan, struct answer *ret);
/* What plan->now would be of that object. NULL, with a sentence in k->err. */
const struct json *undo_shown(
	struct kubectl *k, const struct revisions *all, const struct undo_plan *plan, const struct json *object);
const struct json *undo_shown_recorded(
	struct kubectl *k, const struct revisions *all, const struct revision *r, const struct json *object);

/* Making a deleted object again as in k->revision, or as it was last. */
struct restore_plan {
	const struct revision *revision;
	const struct json *object; /* to be created */
};
int restore_plan(struct kubectl *k, const struct revisions *all, struct restore_plan *ret);
int restore_carry_out(struct kubectl *k, const struct restore_plan *plan, struct answer *ret);
void restore_tell(struct kubectl *k, const struct revision *r, const struct json *object);
/* The revisions of what was recorded. 0 or -1; revisions_done() either way. */
int restore_list(struct kubectl *k, struct revisions *ret);

#endif
