/* The latest good verdicts of one verifier, by the chain of certificates they are on: clients that open connection after connection (a
 * front proxy keeps 25 of them, and opens others for each burst) have their signatures checked once. Who has only seen a certificate gets
 * nothing by it: that the client has its key, the handshake has made sure.
 *
 * Bounded in number and in text; the one not asked for the longest makes room. Bad verdicts are not kept, so that strangers push
 * nobody out. Any thread. */
#ifndef SERVER_HTTP_VERIFIED_CHAINS_H
#define SERVER_HTTP_VERIFIED_CHAINS_H

#include "base/arena.h"
#include "base/sha256.h"
#include "server/http/http.h"

enum { VERDICTS_MAX = 64 };

struct verified_chains;

/* Of a chain: what tells it from any other. */
struct chain_id {
	unsigned char sha256[SHA256_SIZE];
};

struct verified_chains *verified_chains_new(void);
struct verified_chains *verified_chains_free(struct verified_chains *s);

/* Fills in the certificate's part of *ret, text in the arena, and until when it holds. False: nothing is known that holds now. */
bool verified_chains_find(struct verified_chains *s, const struct chain_id *id, int64_t now_s, struct arena *a,
	struct http_peer *ret, int64_t *ret_until_s);
/* Copies; peer is of a certificate that is verified. Holds from from_s on, but not at until_s. */
void verified_chains_keep(
	struct verified_chains *s, const struct chain_id *id, int64_t from_s, int64_t until_s, const struct http_peer *peer);

#endif
