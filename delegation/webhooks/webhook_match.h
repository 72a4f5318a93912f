/* Which webhooks a write is for: k8s.io/apiserver pkg/admission/plugin/webhook/predicates. Pure. */
#ifndef DELEGATION_WEBHOOKS_WEBHOOK_MATCH_H
#define DELEGATION_WEBHOOKS_WEBHOOK_MATCH_H

#include "delegation/webhooks/webhook.h"

bool webhook_rule_matches(const struct webhook_rule *r, const struct webhook_question *q, const struct door *door);
/* The door through which the webhook wants to see the write: the request's own if a rule means that, else one that a rule means and
 * that leads to the same object, if it asks for such. NULL: its rules do not mean this write. */
const struct door *webhook_door(const struct webhook *h, const struct webhook_question *q);
/* Does it depend on the labels of the namespace? */
bool webhook_looks_at_namespace(const struct webhook *h, const struct webhook_question *q);
bool webhook_selects(const struct webhook_selector *s, const struct label *labels, size_t n);
/* The objectSelector: either object will do; object is the write's as it is by now. */
bool webhook_selects_object(const struct webhook *h, const struct object *object, const struct object *old, struct arena *a);

#endif
