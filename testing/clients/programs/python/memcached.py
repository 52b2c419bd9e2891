"""What users of Python's memcached clients see.

memcached.py CLIENT PORT [USER PASSWORD] [CA]

CLIENT: pymemcache (text), pymemcache-tls (text under TLS, CA is the authority's certificate), bmemcached (binary, SASL if
there are a user and a password, under TLS if there is a CA; PORT can be a socket file's path). Prints `ok` at the end.
memcached 1.6 passes it too.
"""

import ssl
import sys


def same(got, wanted, what):
    if got != wanted:
        raise SystemExit(f"{what}: got {got!r}, not {wanted!r}")


def with_pymemcache(port, context):
    from pymemcache.client.base import Client, PooledClient
    from pymemcache.exceptions import MemcacheClientError

    client = Client(("127.0.0.1", port), tls_context=context, timeout=60, connect_timeout=60)
    client.flush_all()
    same(client.set("a", "one", noreply=False), True, "set")
    same(client.get("a"), b"one", "get")
    same(client.get("none"), None, "get of nothing")
    same(client.add("a", "two", noreply=False), False, "add of what is there")
    same(client.add("b", "two", noreply=False), True, "add")
    same(client.replace("none", "x", noreply=False), False, "replace of nothing")
    same(client.replace("b", "three", noreply=False), True, "replace")
    same(client.append("b", "+", noreply=False), True, "append")
    same(client.prepend("b", "-", noreply=False), True, "prepend")
    same(client.get_many(["a", "b", "none"]), {"a": b"one", "b": b"-three+"}, "get_many")
    same(client.set_many({"c": "1", "d": "2", "e": "3"}, noreply=False), [], "set_many")
    same(client.get_many(["c", "d", "e"]), {"c": b"1", "d": b"2", "e": b"3"}, "what set_many has set")
    value, number = client.gets("a")
    same(value, b"one", "gets")
    same(client.cas("a", "four", number), True, "cas")
    same(client.cas("a", "five", number), False, "cas with an old number")
    same(client.cas("none", "five", number), None, "cas of nothing")
    client.set("n", "41", noreply=False)
    same(client.incr("n", 1), 42, "incr")
    same(client.decr("n", 43), 0, "decr")
    same(client.incr("none", 1), None, "incr of nothing")
    same(client.touch("a", 1000, noreply=False), True, "touch")
    same(client.delete("a", noreply=False), True, "delete")
    same(client.delete("a", noreply=False), False, "delete of nothing")
    client.set("quiet", "yes", noreply=True)
    same(client.get("quiet"), b"yes", "set without an answer")
    same(client.set("gone", "x", expire=-1, noreply=False), True, "set that has expired")
    same(client.get("gone"), None, "what has expired")
    try:
        client.get("k" * 251)
        raise SystemExit("a key of 251 bytes was taken")
    except MemcacheClientError:
        pass
    if b"pid" not in client.stats():
        raise SystemExit("stats without pid")
    same(client.version().startswith(b"1.6"), True, "version")
    client.close()
    pool = PooledClient(("127.0.0.1", port), tls_context=context, max_pool_size=4)
    same([pool.set(f"p{i}", str(i), noreply=False) for i in range(50)], [True] * 50, "a pool's sets")
    same(pool.get_many([f"p{i}" for i in range(50)]), {f"p{i}": b"%d" % i for i in range(50)}, "a pool's gets")


def with_bmemcached(port, user, password, context):
    import bmemcached

    server = port if port.startswith("/") else f"127.0.0.1:{port}"
    client = bmemcached.Client((server,), user, password, compression=None, tls_context=context)
    same(client.flush_all(), True, "flush_all")
    same(client.set("a", "one"), True, "set")
    same(client.get("a"), "one", "get")
    same(client.get("none"), None, "get of nothing")
    same(client.add("a", "two"), False, "add of what is there")
    same(client.replace("none", "x"), False, "replace of nothing")
    same(client.set_multi({"b": "1", "c": "2", "d": "3"}), [], "set_multi")
    same(client.get_multi(["b", "c", "d", "none"]), {"b": "1", "c": "2", "d": "3"}, "get_multi")
    value, number = client.gets("a")
    same(value, "one", "gets")
    same(client.cas("a", "two", number), True, "cas")
    same(client.cas("a", "three", number), False, "cas with an old number")
    same(client.incr("n", 1, default=41), 41, "incr of nothing")
    same(client.incr("n", 1), 42, "incr")
    same(client.decr("n", 2), 40, "decr")
    same(client.set("number", 17), True, "a number, whose type is in the flags")
    same(client.get("number"), 17, "the number")
    same(client.delete("a"), True, "delete")
    same(client.get("a"), None, "what was deleted")
    same(len(client.stats()), 1, "stats")
    client.disconnect_all()


def main():
    client, port, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    if client == "bmemcached":
        user, password, ca = (rest + [None, None, None])[:3]
        with_bmemcached(port, user, password, ssl.create_default_context(cafile=ca) if ca else None)
    else:
        context = ssl.create_default_context(cafile=rest[0]) if client == "pymemcache-tls" else None
        with_pymemcache(int(port), context)
    print("ok")


main()
