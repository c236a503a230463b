// Package servers starts real redis-server, valkey-server and redict-server processes for tests:
// alone, with TLS, replicated, watched by Sentinel, or as a cluster. Package proxy next to it makes
// the faults of a network before them. Both are for authors of backends and primitives, and need no
// client library; package redisson has a Java one share their data. [Harness] is all that an author needs to have a backend judged on one server.
//
// All servers listen on loopback, on free ports, in temporary folders of their own, and persist
// nothing unless asked to. They end with the test, and on Linux with the test's process, however that ends.
//
// Faults of servers that need no method of their own are commands and settings:
//
//	Do("CONFIG", "SET", "maxmemory", "1")              // OOM for what writes, until set to 0
//	Do("CONFIG", "SET", "min-replicas-to-write", "1")  // NOREPLICAS where there is none
//	Do("REPLICAOF", "127.0.0.1", port)                 // READONLY, as after a failover
//	Restart(KeepData)                                  // LOADING, with these in Options.Config:
//	"key-load-delay": "1000", "loading-process-events-interval-bytes": "1024" // 1 ms for each key
//
// The binaries are looked for on PATH; HASP_REDIS_SERVER and HASP_VALKEY_SERVER name others. A test whose server is
// missing is skipped; it fails if HASP_REQUIRE_SERVERS is 1 and the server is Redis or Valkey. The script install.sh in
// this folder installs those two where it can; "install.sh -b redict-server" installs Redict from Debian's backports.
package servers
