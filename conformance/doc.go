// Package conformance judges backends by the contract of package backend, and primitives by their
// promises. It is for authors of both.
//
// The author of an adapter runs everything over it, in one test:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, &conformance.Harness{New: ..., Do: ..., Capabilities: ...})
//	}
//
// Function Harness of package servers makes the harness of a server that it starts.
// docs/adding-a-backend.md builds an adapter and its test.
//
// The author of a primitive declares it once, as an [engine.Primitive], and runs what follows from
// that, over any backend:
//
//	func TestDoor(t *testing.T) { conformance.RunPrimitive(t, harness, door) }
//
// docs/adding-a-primitive.md declares one.
//
// # The house
//
//	conformance        the door: Run and its parts, the report, the list of primitives
//	|
//	|-- contract       cases for each clause of package backend
//	|
//	|-- exclusive      declarations: what a primitive promises, its model, its operations, and the few
//	|   fairlock       cases that only it needs. lock has what the declarations of locks share
//	|   readwrite ...
//	|-- adder          cases and properties of its own: it is not declared
//	|-- engine         what follows from a declaration; these are declared in its terms
//	|-- history        records what went on side by side, and asks whether a model explains it
//	|
//	|-- harness        what an author hands over, a case, and what a case works with
//	|-- must           ends a case at its first fault
//	|
//	|-- servers        real servers for tests: alone, with TLS, replicas, Sentinel, clusters
//	|   '-- proxy      the faults of a network, between a client and a server
//	|
//	'-- matrix         every adapter on every server: a module of its own, since it imports them
//	    |-- cells      adapters, servers, topologies and child processes, for the folders beside it
//	    |-- virtual    the suite on the embedded server, in virtual time
//	    |-- mutants    broken backends, which the cases must find
//	    |-- processes  processes that are killed or stopped
//	    |-- crowds     many waiters and many locks; what they cost is counted
//	    |-- permits    processes that are killed while they hold permits
//	    |-- fair       the queue of a fair lock: its order, crashed waiters, its costs
//	    |-- mutex      the line of a mutex: order, crashed waiters, lost messages, a server's clock
//	    |-- limiter    windows of a rate limiter, in an hour of virtual time and of many clients
//	    |-- readwrite  readers and writers that crash, and what was reported of Redisson's
//	    |-- counting   counting semaphores: clocks that disagree, processes that are killed, crowds
//	    |-- joint      red locks and multi locks, whose servers fail in turn
//	    |-- hasptest   the faults of package hasptest
//	    |-- replicas   a replica that lags
//	    |-- rights     the commands and keys that a server's user needs
//	    |-- repro      programs that once showed a defect
//	    '-- redisson   a real Redisson client on the same objects
//
// None but the matrix imports the door. arch_test.go in the root of the repository has the rules.
//
// # What follows from a declaration
//
//   - Properties: one action after the other, from several clients, beside an exact model
//     ([RunProperties]).
//   - Histories: schedules that clients run at once, explained by the model or not ([RunHistories]).
//   - Cases: a walk beside the model, keys of another kind, bad input, waiting, answers that are lost
//     ([RunPrimitives]), and what leases promise, if there are any.
//   - Faults, of what has leases: work goes on after each. Of our primitives three have such cases
//     ([RunFaults]).
//   - Soaks: crowds at random, on many harnesses ([RunSoak]).
//
// # Reports
//
// A case that fails prints the clause that it is about. What a harness cannot do is skipped with the
// reason, and the [Report] lists it: a test should fail on a reason that it does not expect. What a
// backend declares that it cannot do must be refused.
//
// # Who judges the suite
//
// Cases return errors instead of failing a test ([Case.Check]), so that the suite can be judged, too.
// For each case of the contract there is a mutant, a backend broken in one way, which must fail it
// (conformance/matrix/mutants). Bugs that are put into the primitives must be found by the parts that
// are named with them (TestSeededBugs).
package conformance
