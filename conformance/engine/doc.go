// Package engine judges a primitive by its declaration, a [Primitive]. The packages next to it declare
// ours; docs/internals/adding-a-primitive.md shows how to declare another.
//
// docs/internals/testing.md lists what it derives: properties, histories, cases, faults and soaks. All of them take Step,
// the one model: the machine with the time and the answer of each script, a history with the answers that callers got,
// and without times.
//
// # The parts of a machine
//
// The world is what all primitives share: clients, their links, the server's clock, and two spies on each link. The
// machine adds the objects, each with its state, and four things that it follows to their end:
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
// So the machine knows what the server has done even if the link loses the answer. After each action it looks: at the
// keys and how long they last, at what was published (in a walk in the end), at each lease, and for a caller who
// waits although there is what it waits for. In the end all clients close, and no subscription may stay.
//
// # Names
//
// A script is known by its name, which luagen takes from its file; one about the end of an object's
// life, by the method of [Lived] that sends it.
package engine
