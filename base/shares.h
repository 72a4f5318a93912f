/* Shares of a budget of bytes: no user takes what the others need.
 *
 * A user may hold half of what the others leave free. Alone that is half of the budget. Each of k
 * users who take all they can holds 1/(k+1), and as much stays free for the next one.
 *
 *     |<------------------------- budget ------------------------>|
 *     | others | share: half of the rest |     free     | reserve |
 *
 * The last eighth is a reserve for privileged users, who are not bound to a share.
 *
 * The bytes of all users are in a fixed number of counters. A user has two of them, which the
 * user's hash chooses, and the smaller one counts. Two users who have both in common have one
 * share together; for a pair of users that is one chance in 262,144. Any thread, no lock. */
#ifndef BASE_SHARES_H
#define BASE_SHARES_H

#include "base/base.h"
#include <stdatomic.h>

enum {
	SHARES_ROWS = 2,
	SHARES_COLUMNS = 512, /* a power of two */
	SHARES_RESERVE_PART = 8,
};

/* The user for whom a budget is charged. */
struct payer {
	uint64_t user; /* str_hash() of the name; 0: nobody has shown who it is, and they are one user together */
	bool is_privileged;
};

/* All zero: nobody holds anything. */
struct shares {
	_Atomic size_t held[SHARES_ROWS][SHARES_COLUMNS]; /* bytes */
};

void shares_count(struct shares *s, uint64_t user, ptrdiff_t n);
size_t shares_held(const struct shares *s, uint64_t user);

/* The arithmetic, pure. All numbers are bytes. */

/* The bytes that all requests of that sort may hold together. */
size_t share_limit(size_t budget, bool is_privileged);
/* The part of the limit that a user may hold. `used` bytes are taken, of which the user holds `mine`. */
size_t share_of(size_t limit, size_t used, size_t mine);
/* May the user take n more? Something larger than a share goes to users who hold little: at most
 * a quarter of their share. The caller checks that it fits into the limit. */
bool share_fits(size_t limit, size_t used, size_t mine, size_t n);

#endif
