// Package engine judges a primitive by its declaration, a [Primitive]. The packages next to it declare
// ours; docs/internals/adding-a-primitive.md shows how to declare another.
//
// # What it derives
//
// Properties: a machine takes one action after the other, and compares all that can be seen with an
// exact model. It runs in virtual time, where every time is known.
//
// Histories: several clients run a drawn schedule at once. Package history records what they saw, and
// porcupine looks for an order of it that the model explains.
//
// Cases: a walk of the machine over sound links, and what any such primitive promises: of keys of
// another kind, bad input, waiting; of leases, what a cluster and a silent link may do to them.
//
// Faults and soaks: histories while something goes wrong with the server, or on the way to it. Fault
// cases are for what has leases.
//
// All of them take Step, the one model: the machine with the time and the answer of each script, a
// history with the answers that callers got, and without times.
//
// # The parts of a machine
//
// The world is what all primitives share: clients, their links, the server's clock, and two spies on
// each link. The machine adds the objects, each with its state, and four things that it follows to their
// end:
//
//   - calls: what a caller asked, the scripts that were sent for it, and what it returned;
//   - claims: what an owner has asked for, and until when its holder may trust it;
//   - leases: what callers were given, and must give back;
//   - takes: what was taken that has no owner, such as permits.
//
// The way of a script, and what sees it:
//
//	a call of an operation           the caller; in the end judged by its last script's answer
//	   |                ^
//	primitives.Client   |            what is judged
//	   |                |
//	first spy: sent     answered     whose script it is; what its caller learned
//	   |                |
//	link: held, slow    lost, late   requests, replies and connections fail here
//	   |                |
//	second spy: ran ----'            one script at a time: Step must allow the server's answer
//	   |
//	backend of the harness, server
//
// So the machine knows what the server has done even if the link loses the answer. After each action it
// looks: at the keys and how long they last, at what was published (in a walk in the end), at each
// lease, and for a caller who waits although there is what it waits for. In the end all clients close,
// and no subscription may stay.
//
// # Names
//
// A script is known by its name, which luagen takes from its file; one about the end of an object's
// life, by the method of [Lived] that sends it.
package engine
