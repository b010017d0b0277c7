import os, socket, sys, threading

try:
    conn = socket.create_connection(("localhost", int(sys.argv[1])), timeout=10)
except OSError as err:
    sys.exit(err.strerror or str(err))
conn.settimeout(None)


def write(data):
    while data:
        data = data[os.write(1, data):]


def send():
    while data := os.read(0, 65536):
        conn.sendall(data)
    conn.shutdown(socket.SHUT_WR)


write(b"\n")
threading.Thread(target=send, daemon=True).start()
while data := conn.recv(65536):
    write(data)
