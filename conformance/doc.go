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
// docs/internals/adding-a-backend.md builds an adapter and its test.
//
// The author of a primitive declares it once, as an [engine.Primitive], and runs what follows from
// that, over any backend:
//
//	func TestDoor(t *testing.T) { conformance.RunPrimitive(t, harness, door) }
//
// docs/internals/adding-a-primitive.md declares one.
//
// # The house
//
//	conformance        the door: Run with its parts, the report, the list of primitives
//	|
//	|-- contract       cases for each clause of package backend
//	|
//	|-- exclusive      declarations: what a primitive promises, its model, its operations,
//	|-- fairlock       and the few cases that are its alone; lock is what those of locks share
//	|-- ...
//	|-- adder          cases of its own: it is not declared
//	|-- engine         what follows from a declaration; these are declared in its terms
//	|-- history        records what went on side by side, and asks whether a model explains it
//	|
//	|-- harness        what an author hands over, a case, and what a case works with
//	|-- must           ends a case at its first fault
//	|
//	|-- servers        real servers for tests: alone, with TLS, replicas, Sentinel, clusters
//	|   '-- proxy      the faults of a network, between a client and a server
//	|
//	|-- anylock        judges any lock, of whomever, by what people expect of one
//	|
//	'-- matrix         every adapter on every server: a module of its own, since it imports them
//
// None but the matrix imports the door. arch_test.go in the root of the repository has the rules;
// docs/internals/testing.md says what each folder of the matrix is for, and what follows from a declaration.
//
// # Reports
//
// A case that fails prints the clause that it is about. What a harness cannot do is skipped with the
// reason, and the [Report] lists it: a test should fail on a reason that it does not expect. What a
// backend declares that it cannot do must be refused. Cases return errors instead of failing a test ([Case.Check]).
package conformance
