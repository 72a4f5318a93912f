/* An annals as it was before v1 was what is stored: linked with -Wl,--wrap=kind_register, it declares of every kind that has a v1beta1 that objects are stored in
 * that by default. */
#include "api/model/kind.h"

void __real_kind_register(struct kind *k);
void __wrap_kind_register(struct kind *k);

void __wrap_kind_register(struct kind *k)
{
	for (size_t i = 0; i < k->n_versions; i++) {
		if (strcmp(k->versions[i].name, "v1beta1") == 0) {
			k->storage_version = i;
		}
	}
	__real_kind_register(k);
}
