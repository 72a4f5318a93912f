/* meson.build links this file to find out whether gRPC core links with the libraries found. */
#include <grpc/grpc.h>

int main(void)
{
	grpc_init();
	return grpc_is_initialized() ? 0 : 1;
}
