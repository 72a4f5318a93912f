/* Seed 004, "An incorrect optimization", for an annals that is linked with -Wl,--wrap=SYMBOL for those below: the controller takes a cache that shows
 * no Dependent for proof that there is none, and the server removes a finalizer on request, even from a Provider in use. */
#include "controllers/dependents/provider_plan.h"
#include "server/write/write.h"

enum provider_step __real_provider_next(const struct json *meta, bool is_referred_to_in_cache);
enum provider_step __wrap_provider_next(const struct json *meta, bool is_referred_to_in_cache);
int __real_references_check(struct request *q, struct write *w);
int __wrap_references_check(struct request *q, struct write *w);

enum provider_step __wrap_provider_next(const struct json *meta, bool is_referred_to_in_cache)
{
	enum provider_step step = __real_provider_next(meta, is_referred_to_in_cache);

	return step == PROVIDER_ASK ? PROVIDER_LET_GO : step;
}

/* What would be refused is not, and the transaction has no guard of it either. */
int __wrap_references_check(struct request *q, struct write *w)
{
	int r = __real_references_check(q, w);

	if (w->loses_protection) {
		w->loses_protection = false;
		status_init(&q->st, q->a);
		r = 0;
	}
	return r;
}
