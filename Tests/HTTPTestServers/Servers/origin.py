"""An HTTP/1.1 server for tests, in plain sockets, so that it can also misbehave.

Prints its port, then serves until it is killed. The path chooses the behaviour; `/journal` tells what was seen.
Options: --cert FILE --key FILE (TLS), --client-ca FILE (a client certificate is required).
"""

import argparse
import gzip
import json
import select
import socket
import ssl
import threading
import time

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--cert")
OPTIONS.add_argument("--key")
OPTIONS.add_argument("--client-ca")

journal = {"requests": [], "stream_ends": [], "connections": 0}
lock = threading.Lock()


def response(body=b"", status="200 OK", headers=()):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def read_request(reader):
    """Method, path, headers and body; None at the end of the connection."""
    line = reader.readline()
    if not line:
        return None
    method, path, _ = line.decode().split(" ", 2)
    headers = []
    while (field := reader.readline().strip()):
        name, value = field.decode().split(":", 1)
        headers.append((name.lower(), value.strip()))
    length = int(dict(headers).get("content-length", 0))
    return method, path, headers, reader.read(length)


def has_ended(connection, within=0):
    """Whether the peer closes within so many seconds (None: waits for it); what it sends meanwhile is thrown away."""
    if not select.select([connection], [], [], within)[0]:
        return False
    try:
        return connection.recv(4096) == b""
    except ssl.SSLWantReadError:
        return False
    except OSError:
        return True


def stream(connection, interval):
    """Endless text, and in the journal when the reader left (nanoseconds of the monotonic clock)."""
    try:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(chunk(b"data: token\n\n"))
        while not has_ended(connection, within=interval or None):
            if interval > 0:
                connection.sendall(chunk(b"data: token\n\n"))
    except OSError:
        pass
    with lock:
        journal["stream_ends"].append(time.monotonic_ns())


def endless(connection, head):
    connection.sendall(head)
    try:
        while True:
            connection.sendall(chunk(b"x" * 16384))
    except OSError:
        pass


def answer(connection, request, number_on_connection):
    """False: the connection ends."""
    method, path, headers, body = request
    path, _, query = path.removeprefix("http://localhost").partition("?")
    if path.startswith("/status/"):
        extra = [f"Location: {query}"] if query else []
        connection.sendall(response(b"status", f"{path[8:]} Status", extra))
    elif path == "/echo":
        told = {"method": method, "headers": headers, "body": body.decode("latin-1"), "query": query}
        connection.sendall(response(json.dumps(told).encode(), headers=["X-Number-On-Connection: %d" % number_on_connection]))
    elif path == "/journal":
        with lock:
            connection.sendall(response(json.dumps(journal).encode()))
    elif path == "/bytes":
        connection.sendall(response(b"x" * int(query)))
    elif path == "/chunked":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"x" * int(query)) + b"0\r\n\r\n")
    elif path == "/endless":
        endless(connection, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    elif path == "/headers":
        connection.sendall(response(b"", headers=["X-Filling: " + "x" * 1000] * int(query)))
    elif path == "/gzip":
        connection.sendall(response(gzip.compress(b"x" * int(query)), headers=["Content-Encoding: gzip"]))
    elif path == "/transfer-gzip":
        packed = gzip.compress(b"x" * int(query))
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + chunk(packed) + b"0\r\n\r\n")
    elif path == "/interim":
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\nX-Interim: yes\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n")
        connection.sendall(b"HTTP/1.1 201 Created\r\nX-Final: yes\r\nTransfer-Encoding: chunked\r\nTrailer: X-Trailer\r\n\r\n")
        connection.sendall(chunk(b"body") + b"0\r\nX-Trailer: yes\r\n\r\n")
    elif path == "/stream":
        stream(connection, float(query or 0.01))
        return False
    elif path == "/hang":
        while not has_ended(connection, within=None):
            pass
        with lock:
            journal["stream_ends"].append(time.monotonic_ns())
        return False
    elif path == "/stall":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbeginning")
        while not has_ended(connection, within=None):
            pass
        return False
    elif path == "/garbage":
        connection.sendall(b"this is no HTTP\r\n\r\n")
        return False
    elif path == "/cut":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbeginning")
        return False
    elif path == "/empty":
        return False
    elif path == "/drop-kept" and number_on_connection > 1:
        # The connection breaks after the request arrived, before a byte of the response.
        return False
    else:
        connection.sendall(response(b"hello"))
    return True


def serve(connection, context):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        if context is not None:
            connection = context.wrap_socket(connection, server_side=True)
        with lock:
            journal["connections"] += 1
        reader = connection.makefile("rb")
        number = 0
        while (request := read_request(reader)) is not None:
            number += 1
            if request[1] != "/journal":
                with lock:
                    journal["requests"].append(f"{request[0]} {request[1]}")
            if not answer(connection, request, number):
                break
    except (OSError, ValueError):
        pass
    finally:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.close()


def main():
    options = OPTIONS.parse_args()
    context = None
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
        if options.client_ca:
            context.load_verify_locations(options.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, context), daemon=True).start()


if __name__ == "__main__":
    main()
