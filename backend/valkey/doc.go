// Package valkeybackend is the backend over a ready client of github.com/valkey-io/valkey-go: a
// single server, Sentinel, or a cluster.
//
//	conn, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
//	client, err := valkeybackend.NewClient(conn, nil)
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
// The client is a fork of rueidis, and this package is generated from package rueidisbackend,
// whose guarantees hold here too.
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
// ([valkey.ClientOption.RingScaleEachConn]); and while the driver connects, which takes up to
// Dialer.Timeout and may be on behalf of another call: cancellation is not heard then, and a
// deadline not always.
package valkeybackend

//go:generate go run ./internal/gen
