/* Each change of a recorded object makes or changes objects of annals.dev. Were these recorded, too, it would
 * never end; standalone, the same revisions are seen as those of apps. The others change all the time. */
#include "api/record/left_out.h"

static const struct {
	const char *group, *resource; /* NULL: all of them */
	const char *why;
} left_out[] = {
	{"annals.dev", NULL, "annals does not record its own objects"},
	{"apps", "controllerrevisions", "revisions are not recorded: they are recorded states themselves"},
	{"", "events", "events are not recorded"},
	{"events.k8s.io", "events", "events are not recorded"},
	{"coordination.k8s.io", "leases", "leases are not recorded: they change every few seconds"},
};

const char *record_leaves_out(struct str group, struct str resource)
{
	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++) {
		if (str_is(group, left_out[i].group) && (!left_out[i].resource || str_is(resource, left_out[i].resource))) {
			return left_out[i].why;
		}
	}
	return NULL;
}
