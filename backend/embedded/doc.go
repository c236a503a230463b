// Package embedded is a backend on a server inside the process (miniredis), without a socket and
// without a client: for tests, examples, and locks within one process.
//
//	server := embedded.NewServer()
//	client, err := embedded.NewClient(server, nil) // one client of it
//	lease, err := client.NewLock("orders:42", nil).Lock(ctx)
//
// Each [NewClient] or [New] on one [Server] makes a client of its own, as two processes on one Redis
// server have it.
//
// # Time
//
// The server's clock is the process's: keys with a time to live expire by themselves. Inside a
// testing/synctest bubble it is the bubble's clock, so leases and watchdogs run in virtual
// time. [Server.Advance] moves the server's clock alone.
//
// # Losing a lock in a test
//
// [Server.Revoke] makes the holder of a lock lose it, without a second holder at any moment: see its
// example. In a testing/synctest bubble a holder also loses its lock after [Backend.Close], at the end
// of its lease: then every renewal fails, as if the network were down. Package hasptest has more faults.
//
// # Guarantees
//
// Everything is in memory and stays as long as the [Server] is referenced; nothing needs closing
// but the backends. There is one node: no cluster, no replicas, no sharded pub/sub, no gaps. What
// the server knows of Redis is what miniredis knows; in scripts the libraries struct and bit are
// missing, and error() with a table loses its text: return redis.error_reply(...) instead. Its
// numbers are Go's int, so it needs a platform of 64 bits.
//
// Scripts run one at a time, each from begin to end, as on any server. They share a Lua interpreter,
// and nothing that one of them changes there is left for the next.
package embedded
