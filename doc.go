// Package hasp is the root of a library of distributed synchronization primitives that run on the
// Redis-protocol driver an application already has. It holds no code. What to import:
//
//   - primitives: the locks, semaphores, latches and counters, over any backend.
//   - backend/rueidis, backend/valkey, backend/goredis: backends over a ready client of that driver,
//     each a module of its own, so a program gets the one driver that it uses.
//   - backend/embedded: a backend with a server inside the process, for tests and examples.
//
// What to read, or use, beyond that:
//
//   - backend: the contract between primitives and drivers, in numbered clauses. Packages fanout and
//     evalsha below it are for authors of backends.
//   - primitives/lease: what the holder of a lock gets. Package primitives has its types under the same names.
//   - primitives/extend: what primitives are made of, for authors of their own.
//   - conformance: the test suite that a backend must pass.
//   - luagen: the command that turns an annotated Lua script into a typed Go function which runs on
//     any backend; the scripts of primitives are made by it.
//   - bench: compares drivers, and other libraries, on the same work.
//   - examples: programs to start from; quickstart needs no server.
//   - docs: the design and its reasons, the contract, the guarantees.
package hasp
