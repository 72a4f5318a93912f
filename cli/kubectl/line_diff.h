/* The difference of two texts, line by line, as diff -u shows it. */
#ifndef CLI_KUBECTL_LINE_DIFF_H
#define CLI_KUBECTL_LINE_DIFF_H

#include "base/buf.h"

/* Appends nothing where they are equal. Of texts that differ in very many lines, all those in between count as replaced. */
void line_diff(struct buf *out, struct str from, struct str to, const char *from_name, const char *to_name);

#endif
