// Package servers starts real redis-server and valkey-server processes for tests, alone, as a
// cluster or as a primary with a replica, and puts a proxy before them that makes the faults of a
// network. It is for authors of backends and primitives, and needs no client library.
//
//	server := servers.Start(t, servers.Valkey, nil)
//	proxy := servers.StartProxy(t, server.Addr(), nil)
//	... connect the driver under test to proxy.Addr() ...
//	lost := proxy.CutReply(servers.Command("EVALSHA"))
//	... the script runs, and its reply never comes ...
//	<-lost.Hit()
//
// It needs Unix. All servers listen on loopback, on free ports, in temporary folders of their own,
// and persist nothing unless told to. They end with the test, and on Linux also when the test's
// process dies. Functions named Start take the test and fail it; those named Launch return an
// error, and what they return must be closed.
//
// The binaries are looked for on PATH; HASP_REDIS_SERVER and HASP_VALKEY_SERVER name others. A test
// whose server is missing is skipped, or fails if HASP_REQUIRE_SERVERS is 1. The script install.sh
// in this folder installs them where it can.
package servers
