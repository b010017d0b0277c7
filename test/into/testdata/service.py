"""A service that prints the requests that it gets, and misbehaves where its path says so."""

import socket
import sys
import threading
import time


def send(conn, status, headers, body):
    head = f"HTTP/1.1 {status}\r\n" + "".join(h + "\r\n" for h in headers)
    conn.sendall(head.encode() + b"\r\n" + body)


def serve(conn):
    stream = conn.makefile("rb")
    while True:
        line = stream.readline(65536)
        if not line:
            return
        print("request", line.decode("latin-1").strip(), flush=True)
        length, header = 0, line
        while header not in (b"\r\n", b""):
            header = stream.readline(65536)
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            if name.lower() == b"authorization" or b"det_" in value or b"auth=" in value:
                print("credential", header.decode("latin-1").strip(), flush=True)
        path = line.split()[1]
        stream.read(length)
        if path.endswith(b"/hang"):
            time.sleep(3600)
        elif path.endswith(b"/endless"):
            send(conn, "200 OK", ["Connection: close"], b"")
            while True:
                conn.sendall(bytes(65536))
        elif path.endswith(b"/header"):
            while True:
                conn.sendall(b"HTTP/1.1 200 OK\r\nX: " + bytes(65536))
        elif path.endswith(b"/switch"):
            send(conn, "101 Switching Protocols", ["Connection: Upgrade", "Upgrade: h2c"], b"GET /smuggled HTTP/1.1\r\n\r\n")
        elif path.endswith(b"/elsewhere"):
            send(conn, "302 Found", ["Location: https://elsewhere.example/", "Set-Cookie: auth=planted; Path=/", "Content-Length: 0"], b"")
        elif b"/page?" in path or path.endswith(b"/worker.js"):
            kind = "text/html" if b"?" in path else "text/javascript"
            cookies = ["Set-Cookie: auth=planted; Path=/", "Set-Cookie: det_csrf=planted; Path=/; Domain=localhost"]
            body = sys.argv[2].encode() if b"?" in path else b"// nothing"
            send(conn, "200 OK", [f"Content-Type: {kind}", "Service-Worker-Allowed: /", f"Content-Length: {len(body)}", *cookies], body)
        else:
            send(conn, "200 OK", ["Content-Length: 5"], b"hello")


def guard(conn):
    try:
        serve(conn)
    except OSError:
        pass
    finally:
        conn.close()


with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024) as server:
    print("listening", flush=True)
    while True:
        threading.Thread(target=guard, args=(server.accept()[0],), daemon=True).start()
