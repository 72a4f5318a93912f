/* A LIST in protobuf. */
#ifndef SERVER_VERBS_LIST_PROTOBUF_H
#define SERVER_VERBS_LIST_PROTOBUF_H

#include "server/verbs/list.h"

/* The list, or that of the objects' metadata, in its envelope; metadata_json: the list's own. Takes the listing. */
void reply_listing_protobuf(struct request *q, struct listing *l, struct str metadata_json);

#endif
