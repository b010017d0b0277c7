"""Answers each line in capitals, until a line says quit."""

import contextlib
import socket
import sys

with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    print("listening", flush=True)
    while True:
        conn, _ = server.accept()
        # A connection that is reset is not the last one.
        with contextlib.suppress(OSError), conn, conn.makefile("rwb") as stream:
            for line in stream:
                stream.write(line.upper())
                stream.flush()
                if line == b"quit\n":
                    sys.exit()
