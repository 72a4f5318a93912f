/* Is a claim of storage, or a template of one, what it must be? */
#ifndef API_POD_CLAIM_VALIDATE_H
#define API_POD_CLAIM_VALIDATE_H

#include "api/model/kind.h"
#include "api/rules/where.h"

void claim_spec_validate(const struct where *at, const struct json *spec, struct field_errors *errors);
void claim_template_validate(const struct where *at, const struct json *template, struct field_errors *errors);
void claim_validate(const struct object *o, struct field_errors *errors);
void claim_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void claim_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);

#endif
