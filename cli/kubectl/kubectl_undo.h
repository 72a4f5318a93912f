/* Undo and restore: the dialogue, the requests, and plans that the page shows first. kubectl_undo.c is for own revisions, and
 * kubectl_undo_recorded.c for recorded states. Functions return 0, or -1 with a sentence in k->err, unless they say more. */
#ifndef CLI_KUBECTL_KUBECTL_UNDO_H
#define CLI_KUBECTL_KUBECTL_UNDO_H

#include "base/json.h"
#include "cli/kubectl/kubectl.h"

#define UNDO_MANAGER "kubectl-annals"

bool undo_is_dry(const struct kubectl *k, const char *where);
/* Is the difference shown? On a terminal, in a dry run, and with --diff. */
bool undo_shows(const struct kubectl *k);
/* Notes that the next kubectl apply would revert the undo, if k->object has been applied from a file. */
void undo_warn_of_applied(struct kubectl *k);
/* Shows the difference, and asks on a terminal unless --yes is given. Returns false if the user
 * declines; then k->out has the answer. */
bool undo_ask(struct kubectl *k, const struct buf *diff, const struct revision *r);
/* The same in other words. will: the question's words between the object and the revision; wont: the output after a "no". */
bool undo_ask_whether(struct kubectl *k, const struct buf *diff, const struct revision *r, const char *will, const char *wont);
/* Adds uid and resourceVersion to a merge patch, so that it only fits the version of k->object that was read. */
struct json *undo_guarded(struct kubectl *k, const struct json *patch);
/* Sends the patch, as --dry-run says. 0, or a rest_error. */
int undo_send(struct kubectl *k, const char *type, const struct json *patch, struct answer *ret);
/* Print the result, with the new number of the state (0: unknown); or only the request. */
void undo_tell(struct kubectl *k, const struct revision *r, const struct answer *a, int64_t number_now);
void undo_tell_only(struct kubectl *k, const struct revision *r, const struct json *patch);
/* Prints that the object already is in that state. */
void undo_tell_as_it_is(struct kubectl *k, const struct revision *r);
/* Prints the value if -o is json, yaml or name; otherwise returns false. */
bool undo_tell_in_form(struct kubectl *k, const struct json *value);
/* k->object was read again: is it still the same object? *uid keeps its uid between calls. */
int undo_check_uid(struct kubectl *k, struct str *uid);

/* ---- of recorded states ---- */

struct undo_progress {
	struct str uid;
	bool has_changed; /* the object or its History: try again */
	unsigned n_behind;
};
/* Is the object in the state of its newest revision? Reads the object. A Recorder may be late, so that the newest revision says
 * nothing about the present. */
int undo_is_recorded(struct kubectl *k, const struct revisions *all, bool *ret_is);
int undo_recorded(struct kubectl *k, const struct revisions *all, struct undo_progress *progress);
/* Has the revision a state, and not only a digest? */
int undo_check_state(struct kubectl *k, const struct revision *r);
/* Sets k->target to the API version of the state, if the server has it. */
int undo_use_version(struct kubectl *k, const struct revision *r);
/* missing: pointers to redacted values. Refuses them, unless --skip-redacted leaves them out. */
int undo_check_missing(struct kubectl *k, const struct json *missing, const struct revision *r);
/* now NULL: the object is gone. wanted NULL, and r: it will be. Values of a Secret are not shown. */
void undo_write_diff(
	struct kubectl *k, const struct json *now, const struct json *wanted, const struct revision *r, struct buf *out);
/* Removes owners that do not exist from the state, and names them. Owners that live has, too, are not looked up. */
int undo_drop_lost_owners(struct kubectl *k, const struct json **state, const struct json *live);
/* Is it a Secret, whose values are not shown? */
bool undo_is_of_secret(const struct kubectl *k);

/* ---- for the page, which shows a dry run first ---- */

/* The plan of an undo to k->to_revision. */
struct undo_plan {
	struct revision *revision;
	const struct json *wanted; /* the whole object, with what is not recorded; of recorded states */
	const struct json *now;    /* for people: the present state, of the parts that may change */
	const struct json *then;   /* the same of the wanted state; of recorded states */
	const char *type;          /* of the patch */
	const struct json *patch;
	bool is_as_it_is; /* nothing would change */
};
int undo_plan(struct kubectl *k, const struct revisions *all, struct undo_plan *ret);
int undo_plan_recorded(struct kubectl *k, const struct revisions *all, struct undo_plan *ret);
/* Sends the patch, for the version of k->object that was read; as k->dry_run says. */
int undo_carry_out(struct kubectl *k, const struct revisions *all, const struct undo_plan *plan, struct answer *ret);
/* The same of another object as plan->now is of k->object. NULL, with a sentence in k->err. */
const struct json *undo_shown(
	struct kubectl *k, const struct revisions *all, const struct undo_plan *plan, const struct json *object);
const struct json *undo_shown_recorded(
	struct kubectl *k, const struct revisions *all, const struct revision *r, const struct json *object);

/* The plan of a restore from k->revision, or from the last state. */
struct restore_plan {
	const struct revision *revision;
	const struct json *object; /* will be created */
};
int restore_plan(struct kubectl *k, const struct revisions *all, struct restore_plan *ret);
int restore_carry_out(struct kubectl *k, const struct restore_plan *plan, struct answer *ret);
void restore_tell(struct kubectl *k, const struct revision *r, const struct json *object);
/* Are the values of --without JSON pointers? */
int undo_check_without(struct kubectl *k);
/* Does --diff go with the form of the output? */
int undo_check_diff(struct kubectl *k);
/* Leaves them out of a state. */
int undo_leave_out(struct kubectl *k, const struct json **state);
/* Lists the recorded revisions. revisions_done() in any case. */
int restore_list(struct kubectl *k, struct revisions *ret);

#endif
