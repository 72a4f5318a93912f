/* One place for the two refusals that say nothing about the operation that failed:
 * kube-apiserver says nothing either. */
#include "api/patch/patch_refuse.h"

void patch_refuse(struct status *st)
{
	status_set(st, 422, REASON_INVALID, "the server rejected our request due to an error in our request");
	st->has_details = true;
}

void patch_refuse_memory(struct status *st)
{
	status_set(
		st, 413, REASON_REQUEST_ENTITY_TOO_LARGE, "Request entity too large: applying the patch takes too much memory");
}
