"""Small sites of a test's own."""

import contextlib
import http.server
import threading


@contextlib.contextmanager
def serving(handler):
    """The site's address, at a free port of 127.0.0.1; handler is called for each request as http.server does."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
