/* Amounts as Kubernetes writes them: 1.5, 250m, 64Mi, 12e6 (k8s.io/apimachinery/pkg/api/resource Quantity).
 *
 * Exact at any size: a value is decimal digits and a power of ten, never a float. Digits beyond a
 * thousand-millionth are rounded away from zero, and binary amounts end at 2^63-1, as upstream's do. */
#ifndef API_MODEL_QUANTITY_H
#define API_MODEL_QUANTITY_H

#include "base/arena.h"

enum quantity_format { QUANTITY_DECIMAL, QUANTITY_EXPONENT, QUANTITY_BINARY }; /* 12M, 12e6, 12Mi */

struct quantity {
	bool is_negative;
	struct str digits; /* of the mantissa, without leading zeros; empty: zero */
	int64_t exponent;  /* the value is digits * 10^exponent */
	enum quantity_format format;
	struct str spelling; /* as it was sent, where upstream keeps that; empty: it is written in canonical form */
};

/* NULL, or upstream's sentence about what is wrong. The digits live in the arena or in `text`. */
const char *quantity_parse(struct quantity *ret, struct str text, struct arena *a);
/* Away from zero to a multiple of 10^exponent. */
void quantity_round_up(struct quantity *q, int64_t exponent, struct arena *a);
/* No fraction, and the largest unit that loses nothing: 1500m, 1536Mi. */
struct str quantity_text(const struct quantity *q, struct arena *a);
int quantity_cmp(const struct quantity *a, const struct quantity *b);
/* -1, 0 or 1. */
int quantity_sign(const struct quantity *q);
/* Is it a whole number? */
bool quantity_is_whole(const struct quantity *q);

#endif
