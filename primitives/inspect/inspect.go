// Package inspect shows what the server stores of objects of package primitives, such as the holders of a lock,
// their leases and its waiters. It only reads, and knows no more than the server stores: a field that is nil is unknown.
//
// The server's user needs the permissions of a reader, which docs/operate/acl.md lists. [MissingRights] asks for them.
package inspect

import (
	"cmp"
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/extend"
)

// Kind is a kind of object. Its text is the name of the kind in errors.
type Kind string

// The kinds that objects of package primitives, and of Redisson, have on a server.
const (
	Lock              Kind = "lock" // also a FencedLock and a SpinLock
	FairLock          Kind = "fair lock"
	Mutex             Kind = "mutex"
	PlainLock         Kind = "plain lock"
	ReadWriteLock     Kind = "read-write lock"
	Election          Kind = "election"
	PeriodicJob       Kind = "periodic job"
	Memo              Kind = "memo" // one key of it, called NAME:KEY
	Semaphore         Kind = "semaphore"
	PermitSemaphore   Kind = "permit semaphore"
	CountingSemaphore Kind = "counting semaphore"
	RateLimiter       Kind = "rate limiter"
	Throttle          Kind = "throttle"
	CountDownLatch    Kind = "latch"
	PartsLatch        Kind = "parts latch"
	AtomicLong        Kind = "atomic long"
	AtomicDouble      Kind = "atomic double"
	IDGenerator       Kind = "id generator"
	Unknown           Kind = "unknown" // of another program, or of a kind that has no key
)

// Object is one object under a name, at one time. Fields that are nil, empty or zero are unknown, or mean nothing for
// its kind.
type Object struct {
	Name string `json:"name"`

	// Kind is the most probable kind. If the keys are the same for other kinds, Possible has those, and Kind.
	Kind     Kind   `json:"kind"`
	Possible []Kind `json:"possible,omitempty"`

	Keys []string `json:"keys"` // those that exist

	// Held is how many holders there are, of which Holders has some, at most ten of those that can be many. A permit of a
	// PermitSemaphore is a holder.
	Held    *int64   `json:"held,omitempty"`
	Holders []Holder `json:"holders,omitempty"`

	Queue *Queue `json:"queue,omitempty"` // nil: unknown; the server stores no waiters of a Lock
	Token *int64 `json:"token,omitempty"` // the last fencing token

	Free  *int64 `json:"free,omitempty"`  // permits
	Total *int64 `json:"total,omitempty"` // permits: free and held ones
	Rate  *Rate  `json:"rate,omitempty"`

	Value string `json:"value,omitempty"` // of a number, a latch or an id generator: the next id

	// OwedUntil is when all permits of a Throttle are free, if nobody takes any until then. How many are free now depends
	// on its Limit, which the server does not store.
	OwedUntil *time.Time `json:"owed_until,omitempty"`
	LastRun   *time.Time `json:"last_run,omitempty"`   // for which a PeriodicJob was last completed
	KeptUntil *time.Time `json:"kept_until,omitempty"` // the result of a Memo's key
	Expires   *time.Time `json:"expires,omitempty"`    // the main key, by the server's clock; nil: it has no expiry
}

// Holder is an owner that holds an object.
type Holder struct {
	Owner string `json:"owner"`          // of a PermitSemaphore in hexadecimal: the id of the permit
	Mine  bool   `json:"mine"`           // of the client that asked; else of another client, or of Redisson
	Mode  string `json:"mode,omitempty"` // read or write, of a ReadWriteLock

	// Revoked says that [primitives.Lock.Revoke] keeps the object until the lease has ended. Owner is zeros then.
	Revoked bool `json:"revoked,omitempty"`

	// Until is when the lease ends, by the server's clock, and Remaining how long that is. nil: no expiry, or unknown.
	Until     *time.Time     `json:"until,omitempty"`
	Remaining *time.Duration `json:"remaining_ns,omitempty"`

	// Since is the time of the grant, of which the fencing token is made. nil: the holder is of Redisson, or has no such token.
	Since    *time.Time `json:"since,omitempty"`
	Host     string     `json:"host,omitempty"`
	PID      int        `json:"pid,omitempty"`
	Metadata string     `json:"metadata,omitempty"` // of an Election the leader's Value, after its ID if it has set one
}

// Queue has those that wait, by what the server stores: some may have left without their last message.
type Queue struct {
	Length int64    `json:"length"`
	First  []Waiter `json:"first,omitempty"` // at most ten
}

// Waiter is an owner that waits.
type Waiter struct {
	Owner  string         `json:"owner"`
	Mine   bool           `json:"mine"`
	Since  *time.Time     `json:"since,omitempty"`     // it waits
	Silent *time.Duration `json:"silent_ns,omitempty"` // the time since its last sign
}

// Rate is the rate of a RateLimiter.
type Rate struct {
	Permits   int64         `json:"permits"`
	Interval  time.Duration `json:"interval_ns"`
	PerClient bool          `json:"per_client"`
}

// Describe returns the objects that exist under a name. Kinds with keys of their own, such as a Mutex, exist next to
// others of that name. It takes one round trip, and a second one for readers. The answer is old when it comes: use it
// for messages, not to decide. A key of another program is an object of the kind Unknown. Without any key, Describe
// returns no objects, and no error. It returns a [*primitives.FieldError] for a name that objects cannot have, and else
// the errors of a query such as [primitives.Lock.Holder].
func Describe(ctx context.Context, client *primitives.Client, name string) ([]Object, error) {
	all, _, err := describe(ctx, client, name, (*reading).keys)
	return all, err
}

// describe is Describe by some of a name's keys, with the server's time.
func describe(
	ctx context.Context, client *primitives.Client, name string, keys func(*reading) []string,
) (all []Object, now time.Time, err error) {
	o := objectOf(client, name)
	all, err = extend.Call(ctx, &o, cmp.Or(o.Validate(), o.ValidateTag()), "inspect", func() ([]Object, error) {
		r := &reading{client: client.ID(), name: name, key: o.Key(), runner: o.Runner()}
		if err := r.read(ctx, keys(r)...); err != nil {
			return nil, err
		}
		all, err := r.objects(ctx)
		now = r.now
		for _, o := range all {
			o.date(now)
		}
		return all, err
	})
	return all, now, err
}

// objectOf returns what is called name, whatever it is.
func objectOf(client *primitives.Client, name string) extend.Object {
	return client.Core().NewObject("object", name, "").WithRights(rights())
}

// MissingRights asks the server which permissions its user lacks to read, list and watch objects of a name, as
// [primitives.Lock.MissingRights] does.
func MissingRights(ctx context.Context, client *primitives.Client, name string) ([]string, error) {
	o := objectOf(client, name)
	return extend.Call(ctx, &o, o.Validate(), "query the permissions for", func() ([]string, error) { return o.MissingRights(ctx) })
}
