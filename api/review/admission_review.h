/* AdmissionReview of k8s.io/api/admission/v1: what an API server asks a webhook before it writes. */
#ifndef API_REVIEW_ADMISSION_REVIEW_H
#define API_REVIEW_ADMISSION_REVIEW_H

#include "api/model/kind.h"

extern const struct view admission_review_view; /* only posted, to a webhook: nothing is shown or taken */

#endif
