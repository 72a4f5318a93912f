/* From warnings to `Warning:` headers, as k8s.io/apiserver pkg/endpoints/filters/warning.go makes them: each text once, 4,096 characters
 * together; when they would be more, each is cut to 256 and there are as many as it takes to come to 4,096. And as many as fit into 12 KiB as
 * header lines: an answer whose head becomes too long could not be sent at all. Pure. */
#ifndef SERVER_PARSE_WARNINGS_H
#define SERVER_PARSE_WARNINGS_H

#include "base/arena.h"

/* The values of the headers, in the arena; their number comes back. A text with control characters or invalid UTF-8 makes none. */
size_t warnings_to_headers(const struct str **ret, const struct str *texts, size_t n, struct arena *a);

#endif
