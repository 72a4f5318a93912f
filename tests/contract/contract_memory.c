#include "storage/memory/memory.h"
#include "tests/contract/contract.h"

static struct storage *open_memory(void *ctx)
{
	(void)ctx;
	return storage_memory_new();
}

int main(void)
{
	return contract_run("memory", open_memory, NULL);
}
