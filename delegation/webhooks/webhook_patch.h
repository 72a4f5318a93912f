/* What a mutating webhook makes of the object. Pure. */
#ifndef DELEGATION_WEBHOOKS_WEBHOOK_PATCH_H
#define DELEGATION_WEBHOOKS_WEBHOOK_PATCH_H

#include "delegation/webhooks/webhook_call.h"

enum { PATCH_NOTE_MAX = 12 << 20 }; /* bytes of a patch as an audit annotation */

struct webhook_patched {
	const struct object
		*object; /* NULL: there is nothing to apply, or it cannot be; then the call's answer is no longer ALLOWED */
	struct json *operations; /* as an audit annotation shows them; NULL: none */
	bool has_changed;
};

/* The answer has a patch. */
void webhook_patch(
	struct webhook_patched *ret, struct webhook_call *c, const struct webhook_question *q, const struct object *object);

#endif
