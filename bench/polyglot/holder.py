"""Holds the lock of redis-py as main.go holds those of Go: holder.py LIBRARY SERVER REFEREE DELAY"""
import os
import socket
import sys
import threading
import time

import redis

from redispy import hold

library, server, referee, delay = sys.argv[1:]
host, port = server.rsplit(":", 1)
delays = {"sleep": float(delay) / 1000} if delay != "0" else {}  # by default 100 ms


def turns():
    conn = socket.socket(socket.AF_UNIX)
    conn.connect(referee)
    lines = conn.makefile("rw")
    client = redis.Redis(host=host, port=int(port))

    def tell(text):
        lines.write(text + "\n")
        lines.flush()

    def say(text):
        tell(text)
        return lines.readline() == "go\n"

    def work():
        say("in")
        time.sleep(0.001)
        say("out")

    tell(f"{library} {os.getpid()}")
    while say("begin"):
        try:
            hold(client, "mutex:polyglot", work, **delays)
        except redis.exceptions.RedisError as error:
            say(f"error {type(error).__name__}: {error}")
        time.sleep(0.005)


loops = [threading.Thread(target=turns) for _ in range(2)]
for loop in loops:
    loop.start()
for loop in loops:
    loop.join()
