// Package backend is the contract between hasp's primitives and the drivers that carry them: run a
// script, subscribe to a channel. Its doc comments are the contract's text, in numbered clauses: R1
// to R12 for running scripts, S1 to S6 for subscribing, B1 to L1 for what a backend may offer
// beyond. "Must" binds every backend, "may" allows, "should" binds where the server can do it. Each
// clause has cases in package conformance, by its number.
//
// Applications import an adapter (backend/rueidis, backend/valkey, backend/goredis,
// backend/embedded) and hand what it makes to package primitives. Authors of adapters implement
// [Backend]; packages evalsha, fanout and adapter have the parts that adapters share.
//
// # Errors
//
// Adapters classify errors and decide nothing: a server's error reply is a [*ServerError], an
// unknown outcome wraps [ErrIndeterminate], what certainly was not sent wraps neither. [MayHaveRun]
// sums that up for a caller that has to clean up. Context errors stay matchable.
package backend
