/* Addresses are numbers as on the wire, most significant byte first. Four million of them are
 * more than a server keeps pods, and half a megabyte of bits. */
#include "controllers/kubelet/addresses.h"

#include <stdio.h>

enum {
	FIRST = 10u << 24 | 128u << 16,
	COUNT = 1u << 22,
	PER_WORD = 64,
};

void addresses_init(struct addresses *a)
{
	a->bits = mem_array(COUNT / PER_WORD, sizeof(*a->bits));
	a->next = 0;
}

void addresses_done(struct addresses *a)
{
	mem_free(a->bits);
	a->bits = NULL;
}

static bool is_ours(uint32_t address)
{
	return address >= FIRST && address - FIRST < COUNT;
}

/* Networks of a node's size begin with 0 and end with 255, which no pod of theirs has. */
static bool is_of_a_pod(uint32_t i)
{
	return (i & 255) != 0 && (i & 255) != 255;
}

static uint64_t bit(uint32_t i)
{
	return (uint64_t)1 << i % PER_WORD;
}

static bool try(struct addresses *a, uint32_t i)
{
	bool is_free = is_of_a_pod(i) && !(a->bits[i / PER_WORD] & bit(i));
	if (is_free) {
		a->bits[i / PER_WORD] |= bit(i);
	}
	return is_free;
}

uint32_t addresses_take(struct addresses *a)
{
	for (uint32_t n = 0; n < COUNT; n++) {
		uint32_t i = a->next;
		a->next = (i + 1) % COUNT;
		if (try(a, i)) {
			return FIRST + i;
		}
	}
	return 0;
}

/* Four numbers and three dots, and nothing else. */
static uint32_t parse(struct str text)
{
	uint32_t address = 0;
	struct str rest = text;
	for (int i = 0; i < 4; i++) {
		struct str part = rest;
		uint64_t n;
		bool has_more = str_cut(rest, '.', &part, &rest);
		if (has_more != (i < 3) || part.n > 3 || !str_to_uint64(part, &n) || n > 255) {
			return 0;
		}
		address = address << 8 | (uint32_t)n;
	}
	return address;
}

uint32_t addresses_note(struct addresses *a, struct str text)
{
	uint32_t address = parse(text);
	if (!is_ours(address)) {
		return 0;
	}
	a->bits[(address - FIRST) / PER_WORD] |= bit(address - FIRST);
	return address;
}

void addresses_give_back(struct addresses *a, uint32_t address)
{
	if (is_ours(address)) {
		a->bits[(address - FIRST) / PER_WORD] &= ~bit(address - FIRST);
	}
}

void address_format(char out[ADDRESS_SIZE], uint32_t address)
{
	snprintf(out, ADDRESS_SIZE, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}
