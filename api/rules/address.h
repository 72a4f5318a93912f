/* IP addresses and blocks of them, as fields of the core group have them: k8s.io/apimachinery/pkg/util/validation IsValidIPForLegacyField,
 * IsValidCIDRForLegacyField, with the gate StrictIPCIDRValidation, which is on. */
#ifndef API_RULES_ADDRESS_H
#define API_RULES_ADDRESS_H

#include "api/rules/where.h"

struct address {
	uint8_t bytes[16]; /* of IPv4 the first four */
	bool is_v6;        /* IPv6; false for IPv4, also where it is written as IPv6 */
	bool is_mapped;    /* ::ffff:1.2.3.4 */
	bool is_padded;    /* 010.0.0.1 */
};

/* Also what may not be written any more: padded and mapped addresses. */
bool address_parse(struct str text, struct address *ret);

void check_address(struct field_errors *e, const struct where *at, struct str text);
void check_block(struct field_errors *e, const struct where *at, struct str text);
/* May it be where packets go to? Of an address that can be parsed. */
void check_destination(struct field_errors *e, const struct where *at, struct str text);
/* Returns whether the text is a block of IPv6 addresses. */
bool block_is_v6(struct str text);

#endif
