"""A SOCKS5 proxy for tests (RFC 1928), with no or user name authentication (RFC 1929).

Prints its port, then serves until it is killed, and writes a line for each connection: the target as it was named.
Options: --user USER:PASSWORD, --refuse CODE. Names are looked up by the proxy; `*.test` leads to 127.0.0.1.
"""

import argparse
import socket
import struct
import threading

from sockets import connect, copy

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--user")
OPTIONS.add_argument("--refuse", type=int)


def read_target(reader):
    kind = reader.read(4)[3]
    if kind == 1:
        host = socket.inet_ntoa(reader.read(4))
    elif kind == 3:
        host = reader.read(reader.read(1)[0]).decode()
    else:
        host = socket.inet_ntop(socket.AF_INET6, reader.read(16))
    return host, struct.unpack(">H", reader.read(2))[0]


def serve(connection, options):
    try:
        reader = connection.makefile("rb", buffering=0)
        reader.read(reader.read(2)[1])
        connection.sendall(b"\x05\x02" if options.user else b"\x05\x00")
        if options.user:
            reader.read(1)
            user = reader.read(reader.read(1)[0]).decode()
            password = reader.read(reader.read(1)[0]).decode()
            matches = f"{user}:{password}" == options.user
            connection.sendall(b"\x01\x00" if matches else b"\x01\x01")
            if not matches:
                return
        host, port = read_target(reader)
        print(f"{host}:{port}", flush=True)
        if options.refuse:
            connection.sendall(b"\x05" + bytes([options.refuse]) + b"\x00\x01" + bytes(6))
            return
        upstream = connect(host, port)
        connection.sendall(b"\x05\x00\x00\x01" + bytes(6))
        threading.Thread(target=copy, args=(upstream, connection), daemon=True).start()
        copy(connection, upstream)
    except (OSError, IndexError, TypeError, struct.error):
        pass
    finally:
        connection.close()


def main():
    options = OPTIONS.parse_args()
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, options), daemon=True).start()


if __name__ == "__main__":
    main()
