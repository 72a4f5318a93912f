/* kubectl's JSONPath templates and its custom columns (k8s.io/client-go/util/jsonpath), without kubectl: the plugin's own lists are of no kind that
 * kubectl could be given to print.
 *
 * Taken are: text, {.a.b}, {a\.b}, {['a']}, {[0]}, {[-1]}, {[1:3]}, {[*]}, {.*}, {..a}, {[?(@.a=="b")]} with == != < <= > >=, {"\n"}, and
 * {range ...}{end}. Everything else is refused. */
#ifndef CLI_KUBECTL_JSONPATH_H
#define CLI_KUBECTL_JSONPATH_H

#include "base/json.h"

/* Appends what the template makes of the value. False, with a sentence in err: it cannot be read. A value NULL only checks it. */
bool jsonpath_write(struct str template, const struct json *value, struct arena *a, struct buf *out, struct buf *err);
/* The values of one expression (".a.b", braces or not), with commas between them, as custom columns show them; "<none>". */
bool jsonpath_column(struct str expression, const struct json *value, struct arena *a, struct buf *out, struct buf *err);

#endif
