/* What `kubectl get pods` shows (k8s.io/kubernetes/pkg/printers/internalversion). */
#ifndef API_POD_POD_COLUMNS_H
#define API_POD_POD_COLUMNS_H

#include "api/model/kind.h"

enum { POD_COLUMNS = 9 };
/* That text of every container of a template, with commas between them: names, images. */
void pod_template_write(const struct json *template, const char *name, struct buf *out);

extern const struct column pod_columns[POD_COLUMNS];

#endif
