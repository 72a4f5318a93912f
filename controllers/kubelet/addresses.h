/* Addresses of pods from 10.128.0.0/10, each given out once: a bitmap of fixed size. Not
 * thread-safe. */
#ifndef CONTROLLERS_KUBELET_ADDRESSES_H
#define CONTROLLERS_KUBELET_ADDRESSES_H

#include "base/str.h"

enum { ADDRESS_SIZE = 16 }; /* "10.191.255.254" and a NUL */

struct addresses {
	uint64_t *bits; /* taken */
	uint32_t next;  /* where the next search starts, so that a returned address is not reused at once */
};

void addresses_init(struct addresses *a);
void addresses_done(struct addresses *a);
/* Takes a free address, never one that ends with 0 or 255. Returns 0 if all are taken. */
uint32_t addresses_take(struct addresses *a);
/* Marks an address that a pod has already. Returns 0 for text that is not an address of this
 * range. */
uint32_t addresses_note(struct addresses *a, struct str text);
void addresses_give_back(struct addresses *a, uint32_t address); /* 0: none */
void address_format(char out[ADDRESS_SIZE], uint32_t address);

#endif
