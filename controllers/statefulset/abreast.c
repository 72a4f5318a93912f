/* After a write whose answer was lost, or which found the object changed, nobody knows which version to wait for. So the server is asked for that
 * object, once, and the next pass waits until the cache has it as it is there: a pass by an older one might take a second pod away while the first
 * is still coming back.
 *
 * A write that is still under way when the server is asked is not seen. It was sent to a server that has died, or that has let it go. */
#include "api/model/members.h"
#include "controllers/statefulset/state.h"

enum { KEY_MAX = 512 };

struct seen_by {
	const struct resource *resource;
	struct informer *informer;
};

static struct seen_by view_of(const struct stateful_state *s, unsigned kind)
{
	switch (kind) {
	case OWN_PODS:
		return (struct seen_by){&stateful_pods, s->pods_informer};
	case OWN_CLAIMS:
		return (struct seen_by){&stateful_claims, s->claims_informer};
	case OWN_REVISIONS:
		return (struct seen_by){&s->revision, s->revisions_informer};
	default:
		return (struct seen_by){&stateful_beta, s->sets_beta};
	}
}

/* What the server refuses to show is left in doubt for ever, and so it is believed. */
static bool is_abreast_of(struct sync *y, unsigned kind, struct str name)
{
	_cleanup_(answer_done) struct answer answer;
	const struct seen_by view = view_of(y->s, kind);
	struct str ns = y->pass.set.owner.ns;
	uint64_t version = 0;

	answer_init(&answer);
	int error = rest_get_metadata(
		y->s->env->client, &(struct target){.resource = view.resource, .namespace = ns, .name = name}, &answer);
	_cleanup_(item_unrefp) struct item *cached = informer_get(view.informer, ns, name);
	if (!error) {
		str_to_uint64(answer_version(&answer), &version);
		return cached && cached->version >= version;
	}
	if (answer_is(&answer, 404, NULL)) {
		return !cached;
	}
	return error == REST_STATUS && answer.code < 500 && answer.code != 429;
}

bool sync_is_abreast(struct sync *y)
{
	_cleanup_(buf_done) struct buf name;
	struct own_writes *own = &y->s->own;
	struct str uid = y->pass.set.owner.uid;
	unsigned kind;

	buf_init(&name, KEY_MAX);
	while (own_writes_is_doubtful(own, uid, &kind, &name)) {
		if (!is_abreast_of(y, kind, buf_str(&name))) {
			return false;
		}
		own_writes_believe(own, uid, kind, buf_str(&name));
		buf_clear(&name);
	}
	return true;
}
