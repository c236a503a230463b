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
// the server knows of Redis is what miniredis knows. Its numbers are Go's int, so it needs a platform of
// 64 bits.
//
// Scripts run one at a time, each from begin to end, as on any server. They share a Lua interpreter,
// and nothing that one of them changes there is left for the next. Of their flags, only no-writes has an effect.
//
// # Lua
//
// Numbers, texts that are numbers, and cjson are what a server has, with the digits of Redis 7.2 and Valkey 8.
// These differ:
//
//	script                              here                    on a server
//	settings of cjson                   missing                 such as cjson.encode_sparse_array
//	cjson.decode                        only JSON in UTF-8      also 0x10, 01, nan, control bytes, any bytes
//	cjson.encode, cmsgpack.pack, pairs  keys in order of entry  in no order
//	struct.size("z")                    an error                0
//	string.lower, string.upper          all letters of UTF-8    only a to z
//	string.find(text, "", start)        1, 0                    start, start - 1
//	string.gsub(..., table or function) a number has 17 digits  14
//	0 * -1                              0                       -0
//	5 % 0, 5 % math.huge                nan, 5                  -nan, -nan
//	1 % 0.1                             0.09999999999999995     0
//	texts of Lua's own errors           gopher-lua's            Lua's
//	pcall(error, "text")                a line before the text  the text
//	string.format("%q", "a\nb")         \n                      a backslash and the end of the line
//	redis.setresp(3)                    replies stay RESP2      replies of RESP3
//	loadstring(code)                    17 digits in code       14
//
// luagen finds what is missing in a script with "---@since embedded". [CoverLua] shows the lines of scripts that
// tests run.
package embedded
