// Package conformance judges backends by the contract of package backend, and primitives by their
// promises. It is for authors of adapters and of primitives:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, &conformance.Harness{New: ..., Do: ..., Capabilities: ...})
//	}
//
// Package servers beside this one starts servers and makes the faults of a network;
// docs/adding-a-backend.md builds an adapter and its harness.
//
// A case that fails prints the clause of the contract that was broken. What a harness cannot do is
// skipped with the reason, and the [Report] lists it, so that a build can fail on a skip that it
// did not expect. What a backend declares that it cannot do is checked to be refused.
//
// Cases return errors instead of failing a test ([Case.Check]), so that the suite itself can be
// judged: each case of a backend has a mutant, broken in one way, that must fail it. The mutants are in
// conformance/matrix, which may import adapters.
package conformance
