/* Written by hand: the format is two lines a family and one a sample, and the numbers live with
 * what they count. There is no registry, so no lock either. */
#include "base/exposition.h"

#include <math.h>

void exposition_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* %g alone would round counters once they are large. */
static void add_number(struct buf *out, double value)
{
	/* A double holds every whole number up to here. */
	if (fabs(value) < 1e15 && value == floor(value)) {
		buf_printf(out, "%.0f", value);
	} else {
		buf_printf(out, "%.15g", value);
	}
}

void exposition_sample(struct buf *out, const char *name, const char *labels, double value)
{
	buf_printf(out, *labels ? "%s{%s} " : "%s%s ", name, labels);
	add_number(out, value);
	buf_addc(out, '\n');
}

void exposition_gauge(struct buf *out, const char *name, const char *help, double value)
{
	exposition_head(out, name, "gauge", help);
	exposition_sample(out, name, "", value);
}

void exposition_counter(struct buf *out, const char *name, const char *help, double value)
{
	exposition_head(out, name, "counter", help);
	exposition_sample(out, name, "", value);
}
