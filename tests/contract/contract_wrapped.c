/* Wrappers that have nothing to do are not noticed. */
#include "storage/memory/memory.h"
#include "tests/contract/contract.h"
#include "tests/double/fault.h"
#include "tests/double/trace.h"

static struct storage *open_unarmed(void *ctx)
{
	(void)ctx;
	return storage_fault_new(storage_memory_new());
}

static void ignore_line(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
}

static struct storage *open_traced(void *ctx)
{
	(void)ctx;
	return storage_trace_new(storage_memory_new(), ignore_line, NULL);
}

int main(void)
{
	return contract_run("unarmed faults", open_unarmed, NULL) + contract_run("traced", open_traced, NULL);
}
