/* Who made a change? Asked of this replica's notes (server/notes/user_notes.h), and of those that all replicas have put into etcd. */
#ifndef SERVER_VERBS_CHANGE_USER_H
#define SERVER_VERBS_CHANGE_USER_H

#include "server/request/request.h"

/* Embedded in who asks. */
struct change_user {
	void (*next)(struct request *q, struct change_user *u); /* goes on; q->state is what it was */
	struct str name; /* empty: nobody is known for certain. Lives as long as the request */
	/* private */
	struct user_found found;
	void *state;
};

/* What wrote the state of that digest, as digest_of() has it. Answers the request itself where etcd cannot be asked. */
void change_user_find(struct request *q, struct change_user *u, struct str digest);
/* What deleted the object of that uid. */
void change_user_find_deletion(struct request *q, struct change_user *u, struct str uid);

#endif
