// Package extend is for authors of primitives. It has the parts of which primitives are made: the
// waiting loop, the watchdog that renews leases and reports their loss, and the dispatcher that
// sends the calls of many goroutines together. The primitives of package primitives are made of the same
// parts, and a CountDownLatch uses nothing else.
//
// It is an extension API: it may change before version 1.0, and CHANGELOG.md lists all changes.
// Users of primitives do not need it.
//
// A primitive has an [Object], which the [Core] of its users' client makes, and scripts, from which
// luagen makes Go functions. Each of its methods is one [Call]. There are four kinds of methods:
//
//   - a method that needs only the reply of a script runs it with [Object.Runner];
//   - a method that waits for a condition gives an [Attempt] to [Object.Wait], which tries again when a
//     message comes, when a message may have been missed, and at the next poll at the latest;
//   - a method that makes an owner hold the object, for as long as its lease is renewed, gets the lease
//     from [Leases];
//   - a method whose outcome counts even after its caller has left runs the script with a [Request],
//     which has a [LateHandler].
//
// With this primitive, processes wait until one of them has opened a door:
//
//	type Door struct {
//		object extend.Object
//		want   extend.WaitSpec
//	}
//
//	func NewDoor(client *primitives.Client, name string) *Door {
//		d := &Door{object: client.Core().NewObject("door", name, "string")}
//		d.want = extend.WaitSpec{
//			Channel:   extend.SideName("door", d.object.Key()),
//			FreeUnits: func(string) int { return extend.AllUnits }, // An open door admits all waiters.
//		}
//		return d
//	}
//
//	func (d *Door) Open(ctx context.Context) error {
//		_, err := extend.Call(ctx, &d.object, d.object.Validate(), "open", func() (bool, error) {
//			publish := d.object.Core().Capabilities().Publish()
//			return DoorOpen(ctx, d.object.Runner(), d.object.Key(), publish, d.want.Channel)
//		})
//		return err
//	}
//
//	func (d *Door) Wait(ctx context.Context) error {
//		_, err := extend.Call(ctx, &d.object, d.object.Validate(), "wait for", func() (bool, error) {
//			return true, d.object.Wait(ctx, d.want, d)
//		})
//		return err
//	}
//
//	func (d *Door) Try(ctx context.Context) (extend.Answer, error) {
//		open, err := DoorIsOpen(ctx, d.object.Runner(), d.object.Key())
//		return extend.Answer{Granted: open, Free: extend.AllUnits}, err
//	}
//
// luagen makes DoorOpen, which publishes, and DoorIsOpen. The folder examples/ownprimitive has a
// whole primitive that waits, publishes and has leases.
//
// # What an author must do
//
// Everything in a script that can fail, publishing included, comes before its first write. A
// release names the owner, and may be repeated. A script that changes a condition for which callers
// wait publishes a message: without it, the waiters notice at their next poll. The keys of one
// object must be in one slot of a cluster: use [SideName].
package extend
