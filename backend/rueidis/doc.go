// Package rueidisbackend is the backend over a ready client of github.com/redis/rueidis: a single
// server, Sentinel, or a cluster.
//
//	conn, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
//	client, err := rueidisbackend.NewClient(conn, nil)
//	lease, err := client.NewLock("orders:42", nil).Lock(ctx)
//
// [NewClient] makes a client of primitives. [New] makes the backend alone: for options of the backend,
// or for a library that takes a backend.
//
// Scripts share the application's connections. Subscriptions get one connection of their own for
// each node, taken from the client's pool for blocking commands (ClientOption.BlockingPoolSize);
// a client that speaks RESP2 opens two. The backend never closes the client. The driver cannot unsubscribe safely: the
// backend leaves channels that nobody uses to the connection, and replaces it each ten seconds
// (fanout.Options.IdleTimeout) while there are some, for a moment by one connection more.
//
// While the application has all connections of that pool, subscriptions cannot be made, and waiters
// poll. The driver cannot be made to stop waiting for a connection: one goroutine for each node
// does, on behalf of all, until the pool yields one or the client is closed. It is all that can be
// left after Close.
//
// A subscription's connection follows failovers in which the old primary keeps running: the backend
// looks at each ping (fanout.Options.PingEvery) whether the client has left the node, and in a
// cluster asks another node for the list of slots (CLUSTER SLOTS).
//
// The client of a single server keeps a connection whose server has become a replica behind the same address, and each
// write fails with READONLY there. Then the backend dials by the pool for blocking commands, and its commands
// go there for 10 s, after which it tries the client's connections again. For your own commands set
// ClientOption.ConnLifetime.
//
// Calls that wait for replicas have connections out of that pool too, each for 10 s. No connection is put back: the
// driver would unsubscribe with a PING behind, and ends the process if a server refuses that, such as one that cannot
// save its data.
//
// # Guarantees
//
// What the driver would send a second time by itself, because ClientOption.ConnLifetime ended a
// connection while a reply was outstanding, is not sent: its outcome is unknown
// ([backend.ErrIndeterminate]). The price: over a link whose round trip
// takes 0.9 s or more, a script cannot open a new connection. In one case the driver still sends a
// script again: a connection that has reached ConnLifetime breaks within the second in which it
// waits for its last replies.
//
// A client whose options send every command to replicas is of no use here. Options that send
// read-only commands there are: all scripts go to primaries.
//
// # Errors
//
// The driver ends a connection whose replies take longer than ClientOption.ConnWriteTimeout; calls
// then return an unknown outcome. Calls return promptly when their context ends, with two
// exceptions: while 1024 commands are in flight on a silent connection
// ([rueidis.ClientOption.RingScaleEachConn]); and while the driver connects, which takes up to
// Dialer.Timeout and may be on behalf of another call: cancellation is not heard then, and a
// deadline not always.
//
// A call that begins after the client was closed returns [backend.ErrClosed], one that was in
// flight an unknown outcome: the driver has the same error for both. The driver closes a cluster's
// connections in the background, so calls may succeed for a moment yet.
package rueidisbackend
