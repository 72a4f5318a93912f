/* Addresses of pods, each given out once: 10.128.0.0/10, as a map of bits with a size of its own, whatever there is. Not thread-safe. */
#ifndef CONTROLLERS_KUBELET_ADDRESSES_H
#define CONTROLLERS_KUBELET_ADDRESSES_H

#include "base/str.h"

enum { ADDRESS_SIZE = 16 }; /* "10.191.255.254" and a NUL */

struct addresses {
	uint64_t *bits; /* taken */
	uint32_t next;  /* where to look first: one that was given back is not used again at once */
};

void addresses_init(struct addresses *a);
void addresses_done(struct addresses *a);
/* Never one that ends with 0 or 255. 0: all are taken. */
uint32_t addresses_take(struct addresses *a);
/* What somebody has already; text that is no address of ours is left alone: 0. */
uint32_t addresses_note(struct addresses *a, struct str text);
void addresses_give_back(struct addresses *a, uint32_t address); /* 0: none */
void address_format(char out[ADDRESS_SIZE], uint32_t address);

#endif
