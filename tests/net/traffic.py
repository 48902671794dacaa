#!/usr/bin/env python3
"""For the harness's own tests: `traffic.py receive SENDERS` and `traffic.py send ADDRESS BYTES` over plain TCP, and
`traffic.py owner`, the owner of a network."""
import socket
import sys
import time

PORT = 7001


def receive(senders):
    """Takes everything from `senders` connections and prints how many bytes that was."""
    total = 0
    with socket.create_server(("", PORT), backlog=senders) as server:
        print("listening", flush=True)
        connections = [server.accept()[0] for _ in range(senders)]
        for connection in connections:
            while data := connection.recv(1 << 16):
                total += len(data)
    print(total)


def send(address, count):
    with socket.create_connection((address, PORT)) as connection:
        connection.sendall(bytes(count))


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(int(sys.argv[2]))
    elif sys.argv[1] == "send":
        send(sys.argv[2], int(sys.argv[3]))
    else:  # owner: makes a network with one program in it, says so, and waits to be killed
        from netns import Network
        network = Network(2)
        network.start(1, ["sleep", "600"])
        print(network.prefix, network.directory, flush=True)
        time.sleep(600)
