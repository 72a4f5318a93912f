/* The columns of `kubectl get pods` (k8s.io/kubernetes/pkg/printers/internalversion). */
#ifndef API_CORE_POD_COLUMNS_H
#define API_CORE_POD_COLUMNS_H

#include "api/model/kind.h"

enum { POD_COLUMNS = 9 };
/* Writes the member `name` of every container of a template, with commas between them: names,
 * images. */
void pod_template_write(const struct json *template, const char *name, struct buf *out);
void labels_write(const struct json *labels, struct buf *out); /* "a=b,c=d", or "<none>" */

extern const struct column pod_columns[POD_COLUMNS];

#endif
