/* What `kubectl get pods` shows (k8s.io/kubernetes/pkg/printers/internalversion). */
#ifndef API_POD_POD_COLUMNS_H
#define API_POD_POD_COLUMNS_H

#include "api/model/kind.h"

enum { POD_COLUMNS = 9 };
extern const struct column pod_columns[POD_COLUMNS];

#endif
