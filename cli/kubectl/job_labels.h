/* What the API server makes of a Job's uid: labels of its pods, and the selector that finds them. Both are part of the
 * recorded state, and belong to one object alone: a Job that is made again has another uid, and the server refuses the
 * old one in them. Whoever chose them himself (spec.manualSelector) has them as they were. */
#ifndef CLI_KUBECTL_JOB_LABELS_H
#define CLI_KUBECTL_JOB_LABELS_H

#include "base/json.h"

/* The state with these labels as the live object has them; live NULL: without them, so that the server makes new ones. The
 * state itself, where nothing is to be changed. */
const struct json *job_labels_renew(const struct json *state, const struct json *live, struct arena *a);

#endif
