// Package lease has what an owner gets that holds an object on the server: see [Lease]. The objects of
// package primitives return it, and so do those of other authors.
//
// Users need only [Lease], [ReleaseError] and the errors, which package primitives has under the same
// names. The rest is for package [github.com/hasp-go/hasp/primitives/extend], whose holds are the
// targets of leases, and for objects that consist of several objects. It may change before version 1.0.
package lease
