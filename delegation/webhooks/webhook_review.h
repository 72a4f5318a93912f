/* The AdmissionReview that asks a webhook (k8s.io/apiserver pkg/admission/plugin/webhook/request). Pure. */
#ifndef DELEGATION_WEBHOOKS_WEBHOOK_REVIEW_H
#define DELEGATION_WEBHOOKS_WEBHOOK_REVIEW_H

#include "delegation/webhooks/webhook.h"

/* The webhook has a review_version. door: the one it wants; object: the write's as it is by now. False when out is full. */
bool webhook_review_write(struct buf *out, const struct webhook *h, const struct webhook_question *q, const struct door *door,
	const struct object *object, const char *uid);

#endif
