/* Both places are always asked: what one replica knows is no proof that another has not heard of
 * somebody else. */
#include "server/verbs/change_user.h"

#include "base/clock.h"
#include "server/request/respond.h"
#include "server/request/wait.h"
#include "storage/keys.h"

enum { USERS_MAX = 2 }; /* two are as good as many: nobody is named */

static void go_on(struct request *q)
{
	struct change_user *u = q->state;
	const struct storage_step *look = q->txn.success;

	if (q->txn.op.result != STORAGE_OK) {
		request_storage_failed(q, q->txn.op.result, q->txn.op.message, false);
		return;
	}
	for (size_t i = 0; i < look->n_kvs; i++) {
		user_found_add(&u->found, look->kvs[i].value, http_arena(q->x));
	}
	storage_op_clear(&q->txn.op);
	q->has_txn = false;
	q->state = u->state;
	u->name = user_found_name(&u->found);
	u->next(q, u);
}

void change_user_find(struct request *q, struct change_user *u, struct str digest)
{
	struct storage_step *look = arena_new(q->a, struct storage_step);
	struct str notes = key_user_notes(q->a, q->server->options.prefix);
	struct str first = arena_printf(q->a, STR_FMT STR_FMT ".", STR_ARG(notes), STR_ARG(digest));

	if (digest.n != DIGEST_SIZE - 1) { /* none of ours: nobody has noted it */
		u->name = STR("");
		u->next(q, u);
		return;
	}
	u->state = q->state;
	u->found = (struct user_found){0};
	user_notes_find(q->server->user_notes, digest, clock_mono_ms(), http_arena(q->x), &u->found);
	*look = (struct storage_step){.kind = STEP_GET, .key = first, .range_end = storage_prefix_end(q->a, first), .limit = USERS_MAX};
	q->state = u;
	q->txn = (struct storage_txn){.success = look, .n_success = 1};
	request_txn(q, go_on);
}

void change_user_find_deletion(struct request *q, struct change_user *u, struct str uid)
{
	char digest[DIGEST_SIZE] = "";

	if (uid.n > 0) {
		user_notes_deletion(digest, uid, q->a);
	}
	change_user_find(q, u, arena_dup(q->a, str_of(digest)));
}
