/* Asks the webhooks of definitions to convert objects (spec.conversion.strategy: Webhook), as k8s.io/apiextensions-apiserver's
 * pkg/apiserver/conversion does.
 *
 * Few requests are under way at a time: of one definition as many as CALLS_OF_KIND, of all as many as CALLS_MAX. Others wait in the
 * order of their coming. So a webhook that hangs holds up its own kind alone, and the memory for answers is bounded. A client, and
 * its thread, is made for the first question. */
#ifndef DELEGATION_CONVERSION_H
#define DELEGATION_CONVERSION_H

#include "api/model/delegates.h"

struct conversions;

struct conversions *conversions_new(void);
/* Lives as long as the conversions. */
const struct converter *conversions_converter(struct conversions *c);
/* Ends every question under way, and every later one at once, with a failure. Any thread. */
void conversions_stop(struct conversions *c);                /* NULL */
struct conversions *conversions_free(struct conversions *c); /* NULL; when all questions have ended */
/* For /metrics: apiserver_conversion_webhook_*. */
void conversions_write_metrics(struct conversions *c, struct buf *out);

/* Reads an answer: the converted objects go into q, or a failure does. texts are the objects as they were sent. Pure. */
void conversion_read(struct conversion_question *q, const char *uid, int code, struct str content_type, struct str text);

#endif
