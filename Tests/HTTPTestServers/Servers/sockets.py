"""What the proxies share."""

import socket


def connect(host, port):
    """A connection to a target; names are looked up here, and `*.test` leads to 127.0.0.1."""
    return socket.create_connection(("127.0.0.1" if host.endswith(".test") else host, port))


def copy(source, target):
    """Copies until one side ends, and ends both."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
