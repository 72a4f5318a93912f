#include "cli/ui/peer.h"

#include "tests/unit/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static const char table[] =
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	"   0: 0100007F:B24D 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0\n"
	"   1: 0100007F:9C40 0100007F:B24D 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0 20 4 30 10 -1\n"
	"   2: 0100007F:B24D 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 20 4 30 10 -1\n"
	"   3: 0200007F:9C41 0100007F:B24D 01 00000000:00000000 00:00000000 00000000  1002        0 4 1 0 20 4 30 10 -1\n";
static const char table6[] =
	"  sl  local_address                         remote_address                        st tx_queue ...   uid\n"
	"   0: 00000000000000000000000001000000:9C42 00000000000000000000000001000000:B24D 01 00000000:00000000 00:00000000 "
	"00000000  1003        0 5\n"
	"   1: 0000000000000000FFFF00000100007F:9C43 0000000000000000FFFF00000100007F:B24D 01 00000000:00000000 00:00000000 "
	"00000000  1004        0 6\n";
enum { PORT = 0xb24d, NOBODY = -1 };

static int owner(const char *text, const char *address, uint16_t port)
{
	uid_t uid;
	return peer_find(str_of(text), str_of(address), port, &uid) ? (int)uid : NOBODY;
}

static void test_peer__is_whose_socket_is_at_the_other_end(void **state _unused_)
{
	assert_int_equal(owner(table, "127.0.0.1:40000", PORT), 1001);
	assert_int_equal(owner(table, "127.0.0.2:40001", PORT), 1002);
	assert_int_equal(owner(table6, "[::1]:40002", PORT), 1003);
	assert_int_equal(owner(table6, "127.0.0.1:40003", PORT), 1004);
}

static void test_peer__is_nobody_where_address_or_port_differ(void **state _unused_)
{
	assert_int_equal(owner(table, "127.0.0.1:40001", PORT), NOBODY);
	assert_int_equal(owner(table, "127.0.0.2:40000", PORT), NOBODY);
	assert_int_equal(owner(table, "127.0.0.1:40000", PORT + 1), NOBODY);
	assert_int_equal(owner(table6, "[::2]:40002", PORT), NOBODY);
}

static void test_peer__is_nobody_where_the_address_is_none(void **state _unused_)
{
	static const char *const addresses[] = {"", ":", "127.0.0.1", "127.0.0.1:", "[::1:40002", "[", "]:40000", "x:40000",
		":40000", "[:40000", "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20:1"};
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		assert_int_equal(owner(table, addresses[i], PORT), NOBODY);
	}
	assert_int_equal(owner("", "127.0.0.1:40000", PORT), NOBODY);
	assert_int_equal(owner("garbage\n\n: : :\n", "127.0.0.1:40000", PORT), NOBODY);
}

static void test_peer__of_ourselves_may_come(void **state _unused_)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}}, from;
	socklen_t size = sizeof(at);
	char address[64];
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	assert_false(bind(listener, (struct sockaddr *)&at, size) || listen(listener, 1));
	assert_false(getsockname(listener, (struct sockaddr *)&at, &size));
	assert_false(connect(client, (struct sockaddr *)&at, size));
	assert_false(getsockname(client, (struct sockaddr *)&from, &size));
	snprintf(address, sizeof(address), "127.0.0.1:%u", ntohs(from.sin_port));
	assert_true(peer_may_come(str_of(address), ntohs(at.sin_port)));
	close(client);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peer__is_whose_socket_is_at_the_other_end),
		cmocka_unit_test(test_peer__is_nobody_where_address_or_port_differ),
		cmocka_unit_test(test_peer__is_nobody_where_the_address_is_none),
		cmocka_unit_test(test_peer__of_ourselves_may_come),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
