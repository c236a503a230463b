def hold(server, name, work, **delay):
    with server.lock(name, timeout=2, **delay):
        work()
