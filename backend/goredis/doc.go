// Package goredisbackend is the backend over a ready client of github.com/redis/go-redis/v9: a
// single server, Sentinel, or a cluster.
//
//	conn := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
//	b, err := goredisbackend.New(conn, nil)
//	client, err := primitives.New(b, nil)
//
// Scripts use the application's connection pool. Subscriptions get one connection of their own for
// each node, outside the pool. The backend never closes the client.
//
// # Guarantees
//
// The driver retries commands by itself, up to Options.MaxRetries times; for what the backend
// sends it does not. Scripts go to primaries, whatever ClusterOptions say of reading. A
// [redis.Ring] is refused, because it spreads keys over servers that know nothing of each other.
//
// # Errors
//
// The driver does not stop reading when a context ends, so a call that its context may end runs
// in a goroutine of its own; left behind, it ends by Options.ReadTimeout, and keeps its pool
// connection until then. With a context that cannot end, calls last as long as the driver waits:
// with Sentinel, where nothing answers, for some 20 s, unless Options.DialerRetries is 1.
package goredisbackend
