// Package hasptest is for tests of code that uses hasp: a server inside the test's process, and faults
// that come when the test says so.
//
//	s := hasptest.New(t)    // ends with the test
//	client := s.Client(nil) // for the code under test
//
// The test then calls one of these, while the code under test holds a lock or before it asks for one:
//
//   - [Server.Lose], [Server.TryLose]: the holder of a lock loses it;
//   - [Server.FailAcquires]: the next request to acquire is not sent;
//   - [Server.LoseAnswers]: the next request to acquire is executed, and its answer is lost;
//   - [Server.LoseAnswersOf]: the same for a release, for the CountDown of a latch, or for your own scripts;
//   - [Server.Away]: for some time no server can be reached;
//   - [Server.SetLatency]: each request takes some time;
//   - [Server.Crash]: a client's process is gone.
//
// Each returns at once. Faults concern all clients and backends of the [Server]; one that they must not
// concern is made by embedded.New(s.Embedded(), nil). docs/testing-your-code.md has a recipe for each.
//
// # Acquiring
//
// A request to acquire is a script of hasp by which locks of all kinds, semaphores and rate limiters acquire.
// FailAcquires and LoseAnswers affect no other requests, and none of your own scripts, whatever their names. Lock
// sends such a request for its first try and for each later one while it waits.
//
// # Time
//
// Inside a testing/synctest bubble all of it runs in virtual time: make the Server there. In real time
// a holder learns only after a part of its lease that it lost its lock; a short
// [primitives.Options.WatchdogLease] makes such tests fast.
//
// # Guarantees
//
// A [Backend] meets the contract of package backend, faults included. What the server knows of Redis is
// what package embedded says. Failures are reported by Errorf and Fatalf of the test that [New] was given.
package hasptest
