/* What is read of an AdmissionReview that a webhook answers. */
#ifndef DELEGATION_WEBHOOKS_WEBHOOK_SCHEMA_H
#define DELEGATION_WEBHOOKS_WEBHOOK_SCHEMA_H

#include "api/model/schema.h"

extern const struct type type_admission_review;

#endif
