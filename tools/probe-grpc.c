/* Asked of the linker by meson.build: does gRPC core link with the libraries found? */
#include <grpc/grpc.h>

int main(void)
{
	grpc_init();
	return grpc_is_initialized() ? 0 : 1;
}
