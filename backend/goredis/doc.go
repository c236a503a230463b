// Package goredisbackend is the backend over a ready client of github.com/redis/go-redis/v9: a
// single server, Sentinel, or a cluster.
//
//	conn := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
//	client, err := goredisbackend.NewClient(conn, nil)
//	lease, err := client.NewLock("orders:42", nil).Lock(ctx)
//
// [NewClient] makes a client of primitives. [New] makes the backend alone: for options of the backend,
// or for a library that takes a backend.
//
// Scripts use the application's connection pool. Subscriptions get one connection of their own for
// each node, outside the pool. The backend never closes the client.
//
// # Blocking commands
//
// A blocking command, such as BLPOP or XREAD with BLOCK, holds a connection of the pool for as long
// as it waits. If such commands hold all of them (Options.PoolSize), renewals wait for a connection
// like everything else, and leases are lost while the server is well. So give blocking commands a
// client of their own, or make PoolSize larger than the number of them that wait at a time; their
// number alone is too little. The rueidis and valkey adapters do not share this: their drivers
// block on other connections than those of scripts (ClientOption.BlockingPoolSize).
//
// # Failover
//
// Behind Sentinel the driver moves its pool to a new primary, but not its subscriptions: while the
// old primary keeps running, they stay there. So at each ping of a subscription's connection
// (fanout.Options.PingEvery) the backend asks where the primary is now, by the client's own dialer:
// it asks a sentinel, connects, and closes the connection at once. This needs no permission on the
// server and no connection of the pool; it costs each process that waits for something one
// connection every 4 s. The answer is the connection's remote address. With an Options.Dialer whose
// connections have the same remote address for all servers, as some proxies do, the backend does not
// notice a failover in which the old primary keeps running. With a dialer whose connections to one
// server have several remote addresses, the backend makes its subscriptions again for nothing.
//
// In a cluster the backend asks for the list of slots instead (CLUSTER SLOTS).
//
// # Guarantees
//
// The driver retries commands by itself, up to Options.MaxRetries times; for what the backend
// sends it does not. Scripts go to primaries, even if ClusterOptions send reads to replicas. A
// [redis.Ring] is refused, because it spreads keys over servers that know nothing of each other. Before version 9.23
// the driver leaves each connection open, for good, that the server refuses, such as for a wrong password.
//
// # Race detector
//
// Version 9.23 of the driver writes to Options.MaintNotificationsConfig while other connections of the same client
// begin, if the server has no maintenance notifications. The race detector finds that in tests whose calls wait for
// replicas. With Mode maintnotifications.ModeDisabled there, the driver does not write.
//
// # Errors
//
// The driver does not stop reading when a context ends, so a call whose context can end runs in a
// goroutine of its own; left behind, it ends by Options.ReadTimeout, and keeps its pool connection
// until then. With Options.ContextTimeoutEnabled, but not in a cluster, it stops at a context's deadline: then a caller
// that is alone sends the call of a Throttle itself, which saves two wake-ups. A hook ([redis.Hook]) that panics does so
// in the caller, if that still waits; else its panic is lost.
//
// Where nothing answers, the driver looks for a connection for as long as its options ask for: with
// Sentinel for some 20 s, unless Options.DialerRetries is 1. The backend waits 5 s for each of two
// tries, and then returns [backend.ErrUnavailable]. It returns the same if the pool has no
// connection to give (redis.ErrPoolTimeout): nothing was sent, and the caller may try again. In a
// cluster the driver's own bounds apply.
//
// A panic of a hook on behalf of a subscription costs its connection, like any failure there.
package goredisbackend
