/* Wrappers that have nothing to do are not noticed. */
#include "storage/memory/memory.h"
#include "tests/contract/contract.h"
#include "tests/double/fault.h"

static struct storage *open_unarmed(void *ctx)
{
	(void)ctx;
	return storage_fault_new(storage_memory_new());
}

int main(void)
{
	return contract_run("unarmed faults", open_unarmed, NULL);
}
