/* GET .../controllerrevisions/NAME/diff?from=OTHER: what leads from the data of OTHER to that of NAME, as a JSON patch or a
 * merge patch; or how their YAML differs line by line, as hunks (api/hunks/hunks.h). */
#ifndef SERVER_VERBS_DIFF_H
#define SERVER_VERBS_DIFF_H

#include "server/request/request.h"

/* Which of them, by Accept: 0; or 1 with 406 in q->media_status. */
int diff_negotiate(struct request *q);
void diff_answer(struct request *q);

#endif
