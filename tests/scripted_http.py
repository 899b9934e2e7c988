"""A server on this machine whose answers a test decides."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, dict[str, str], bytes]
Answering = Callable[[str, str, dict[str, str], bytes], Reply | None]


@contextmanager
def answering(answer: Answering) -> Iterator[str]:
    """Answer requests by method, path, headers by small names, and body, or not at all; give the server's address."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            """Answer."""
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", "0")))
            reply = answer(self.command, self.path, headers, body)
            if reply is None:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            status, sent, content = reply
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(content))} | sent).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(content)
            except OSError:  # whoever asked has read enough
                self.close_connection = True

        do_POST = do_GET  # noqa: N815

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()
