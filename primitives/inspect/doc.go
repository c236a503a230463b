// Package inspect shows what the server stores of objects of package primitives, such as the holders of a lock,
// their leases and its waiters. It only reads, and knows no more than the server stores: a field that is nil is unknown.
//
// The server's user needs the permissions of a reader, which docs/operate/acl.md lists. [MissingRights] asks for them.
package inspect
