"""A forward proxy for tests: absolute-form requests and CONNECT, with no, Basic or NTLM authentication.

Prints its port, then serves until it is killed. `GET /journal` (to the proxy itself) tells what was seen.
Options: --basic USER:PASSWORD, --ntlm USER, --refuse STATUS, --silent, --cert FILE --key FILE (TLS to the proxy).
Names are looked up by the proxy; `*.test` leads to 127.0.0.1.
"""

import argparse
import base64
import json
import socket
import ssl
import struct
import threading

from sockets import connect, copy

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--basic")
OPTIONS.add_argument("--ntlm")
OPTIONS.add_argument("--refuse")
OPTIONS.add_argument("--silent", action="store_true")
OPTIONS.add_argument("--cert")
OPTIONS.add_argument("--key")

journal = {"requests": [], "headers": [], "ntlm": []}


def read_head(reader):
    line = reader.readline().decode()
    headers = []
    while (field := reader.readline().strip()):
        name, value = field.decode().split(":", 1)
        headers.append((name.lower(), value.strip()))
    return line.split(" "), headers


def ntlm_challenge():
    """Type 2 of MS-NLMP §2.2.1.2: Unicode, NTLM, extended session security, an empty target."""
    flags = 0x00000001 | 0x00000200 | 0x00080000 | 0x00800000
    name = struct.pack("<HHI", 0, 0, 56)
    info = b"\x00\x00\x00\x00"
    return b"NTLMSSP\x00" + struct.pack("<I", 2) + name + struct.pack("<I", flags) + b"12345678" + bytes(8) + struct.pack(
        "<HHI", len(info), len(info), 56) + bytes(8) + info


def ntlm_user(message):
    length, _, offset = struct.unpack("<HHI", message[36:44])
    unicode = struct.unpack("<I", message[60:64])[0] & 1
    return message[offset:offset + length].decode("utf-16-le" if unicode else "latin-1")


def authenticate(options, connection, value):
    """Whether the request may pass; otherwise it is answered."""
    if options.basic:
        if value == "Basic " + base64.b64encode(options.basic.encode()).decode():
            return True
        challenge = 'Basic realm="test"'
    elif options.ntlm:
        challenge = "NTLM"
        if value.startswith("NTLM "):
            message = base64.b64decode(value[5:])
            kind = struct.unpack("<I", message[8:12])[0]
            journal["ntlm"].append(kind)
            if kind == 3:
                return ntlm_user(message) == options.ntlm
            challenge = "NTLM " + base64.b64encode(ntlm_challenge()).decode()
    else:
        return True
    body = b"authenticate yourself"
    connection.sendall(
        f"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: {challenge}\r\nX-From: proxy\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return False


def serve(connection, options, context):
    try:
        if context is not None:
            connection = context.wrap_socket(connection, server_side=True)
        reader = connection.makefile("rb", buffering=0)
        while True:
            words, headers = read_head(reader)
            if len(words) < 3:
                return
            method, target, _ = words
            fields = dict(headers)
            if target == "/journal":
                body = json.dumps(journal).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                continue
            journal["requests"].append(f"{method} {target}")
            journal["headers"].append(fields)
            body = reader.read(int(fields.get("content-length", 0))) if method != "CONNECT" else b""
            if options.silent:
                reader.read(1)
                return
            if options.refuse:
                connection.sendall(f"HTTP/1.1 {options.refuse} Refused\r\nContent-Length: 0\r\n\r\n".encode())
                continue
            if not authenticate(options, connection, fields.get("proxy-authorization", "")):
                continue
            break
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            upstream = connect(host.strip("[]"), int(port))
            connection.sendall(b"HTTP/1.1 200 Connection established\r\nX-From: proxy\r\n\r\n")
        else:
            place, _, path = target.removeprefix("http://").partition("/")
            host, _, port = place.partition(":")
            upstream = connect(host, int(port or 80))
            lines = [f"{method} /{path} HTTP/1.1"] + [f"{n}: {v}" for n, v in headers if not n.startswith("proxy-")]
            upstream.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        threading.Thread(target=copy, args=(upstream, connection), daemon=True).start()
        copy(connection, upstream)
    except (OSError, ValueError, struct.error):
        pass
    finally:
        connection.close()


def main():
    options = OPTIONS.parse_args()
    context = None
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, options, context), daemon=True).start()


if __name__ == "__main__":
    main()
