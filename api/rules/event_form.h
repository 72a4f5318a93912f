/* Events as events.k8s.io shows them: other names for the fields that the core group stores, and
 * stricter rules for writers. */
#ifndef API_RULES_EVENT_FORM_H
#define API_RULES_EVENT_FORM_H

#include "api/model/kind.h"

/* The hub's names of what its field selectors select. */
extern const struct field_alias event_form_fields[];

struct json *event_form_from_hub(const struct json *hub, struct arena *a);
struct json *event_form_to_hub(const struct json *sent, const struct json *stored_hub, struct arena *a);

/* Upstream's strict rules (ValidateEventCreate, ValidateEventUpdate), behind those of all events. */
void event_form_validate(const struct object *o, struct field_errors *errors);
void event_form_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);

#endif
