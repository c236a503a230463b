package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Leased is a primitive that one owner at a time acquires for a lease: how [LeaseCases] uses it. Its
// name is the first key of its scripts.
type Leased struct {
	// Name begins the numbers of its clauses, such as Name+".Lease". Promises are their texts.
	Name     string
	Promises map[string]string

	// Prefix begins the names of its cases.
	Prefix string

	// Acquire waits until it holds what is called name. TryAcquire does not wait. A lease of 0 means
	// the watchdog's.
	Acquire, TryAcquire func(
		ctx context.Context, c *primitives.Client, name string, lease time.Duration,
	) (*primitives.Lease, error)

	// Foreign lets another program hold what is free, without a message when that ends, and returns
	// the owner. A lease of 0 has no end.
	Foreign func(ctx context.Context, e *harness.Env, name string, lease time.Duration) (owner string)

	// Lose takes it away from whoever holds it, without a message.
	Lose func(ctx context.Context, e *harness.Env, name string)

	// Holder returns who holds it by the server, and for how much longer; "" if nobody does. It fails
	// if the server has more than one hold.
	Holder func(ctx context.Context, e *harness.Env, name string) (owner string, left time.Duration)

	// Channel is where releases are published, and Token the key that a grant writes its token to, for
	// a name in braces.
	Channel, Token func(name string) string
}

// leaseCase is a case of every primitive with leases.
type leaseCase struct {
	name, clause string // without what the primitive adds
	needs        []harness.Need
	cast         castFunc
	run          func(ctx context.Context, a, b user)
}

// castFunc makes the two clients of a case.
type castFunc func(ctx context.Context, l leases) (a, b user)

var (
	link   = []harness.Need{harness.Faults}
	pubsub = []harness.Need{harness.PubSub}
	record = []harness.Need{harness.Record}
)

// LeaseCases returns what every primitive with leases promises.
func LeaseCases(l Leased) (cases []harness.Case) {
	all := slices.Concat(holdCases, renewalCases, waitingCases, faultCases, givingBackCases)
	for _, c := range all {
		clause := l.Name + "." + c.clause
		cases = append(cases, harness.Case{
			Name: l.Prefix + c.name, Clause: clause, Text: l.Promises[clause], Needs: c.needs,
			Alone: slices.Contains(alone, c.name),
			Run: func(ctx context.Context, e *harness.Env) {
				a, b := c.cast(ctx, leases{l, e})
				c.run(ctx, a, b)
			},
		})
	}
	return cases
}

// AwaitFree waits until nobody holds it by the server, for up to limit: less than its lease.
func (l Leased) AwaitFree(ctx context.Context, e *harness.Env, name string, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	harness.Eventually(ctx, name+" to be free", func() bool {
		owner, _ := l.Holder(ctx, e, name)
		return owner == ""
	})
}

// leases is what one of the cases works with.
type leases struct {
	Leased
	*harness.Env
}

// user is a client, and the name of what it acquires.
type user struct {
	leases
	client *primitives.Client
	link   harness.Link
	name   string
}

// user makes a client.
func (l leases) user(ctx context.Context, o primitives.Options) user {
	c, in := NewClient(ctx, l.Env, &o)
	return user{leases: l, client: c, link: in.Link, name: l.Key("lock")}
}

// users makes clients with options.
func users(o primitives.Options) castFunc {
	return func(ctx context.Context, l leases) (a, b user) { return l.user(ctx, o), l.user(ctx, o) }
}

var (
	plain  = users(primitives.Options{})
	steady = users(primitives.Options{WatchdogLease: steadyLease})

	// byMessages are clients whose waiters are woken by messages alone, or by the end of a lease.
	byMessages = users(primitives.Options{PollInterval: Never})
)

// warm makes clients as cast does. The first has acquired a few times, so that the scripts are loaded
// and the driver is connected, and removed the traces.
func warm(cast castFunc) castFunc {
	return func(ctx context.Context, l leases) (a, b user) {
		a, b = cast(ctx, l)
		for range 16 {
			unlock(ctx, a.acquire(ctx))
		}
		l.Command(ctx, "DEL", l.Token(a.name))
		return a, b
	}
}

// granted waits until the server has granted it since warm: then its token exists.
func (u user) granted(ctx context.Context) {
	harness.Eventually(ctx, "the grant", func() bool {
		return must.Get(u.Command(ctx, "EXISTS", u.Token(u.name)).Int()) == 1
	})
}

// of returns u with another name.
func (u user) of(name string) user { u.name = name; return u }

// acquire acquires for a lease of the watchdog's.
func (u user) acquire(ctx context.Context) *primitives.Lease {
	return must.Get(u.Acquire(ctx, u.client, u.name, 0))
}

// try acquires without waiting.
func (u user) try(ctx context.Context) (*primitives.Lease, error) {
	return u.TryAcquire(ctx, u.client, u.name, 0)
}

// refused fails unless another holds it.
func (u user) refused(ctx context.Context) {
	must.Refuse[*primitives.Lease]("TryAcquire", primitives.ErrNotAcquired)(u.try(ctx))
}

func unlock(ctx context.Context, lease *primitives.Lease) { must.Do(lease.Unlock(ctx)) }

// free waits until nobody holds it.
func (u user) free(ctx context.Context) { u.AwaitFree(ctx, u.Env, u.name, harness.Patience/6) }

// wantHolder fails unless owner holds it by the server, for at least and at most so much longer.
func (u user) wantHolder(ctx context.Context, owner string, least, most time.Duration) {
	holder, left := u.Holder(ctx, u.Env, u.name)
	must.If(holder != owner, "%q holds %s, want %q", holder, u.name, owner)
	must.If(left < least || left > most, "%v remain, want %v to %v", left, least, most)
}

// waiting is an acquire beside the case.
type waiting struct {
	lease *primitives.Lease // once done has got nil
	done  <-chan error
}

// later acquires beside the case.
func (u user) later(ctx context.Context) *waiting {
	w := new(waiting)
	w.done = must.Beside(func() { w.lease = u.acquire(ctx) })
	return w
}

// soon returns what the acquire returns, for which it has far less time than a lease lasts.
func (w *waiting) soon() (*primitives.Lease, error) {
	err := harness.Promptly(harness.Patience/4, "the acquire", func() error { return <-w.done })
	return w.lease, err
}

// unlock unlocks what is acquired soon.
func (w *waiting) unlock(ctx context.Context) { unlock(ctx, must.Get(w.soon())) }

// awaitWaiters waits until so many clients wait for a message, if there are messages.
func (u user) awaitWaiters(ctx context.Context, n int64) {
	if u.Capabilities.PubSub {
		u.AwaitSubscribers(ctx, u.Channel(u.name), n)
	}
}

// wraps fails unless the error of what wraps all of want.
func wraps(what string, err error, want ...error) {
	must.In(what, func() { must.Wrap(err, want...) })
}

// runs matches scripts on the name.
func (u user) runs(words []string) bool { return harness.RunsScript(words, u.name) }

// Lost calls call while the reply to the next script on key is lost, and fails unless the error says
// that the outcome is unknown.
func Lost(ctx context.Context, link harness.Link, key string, call func() error) {
	lost := link.CutReply(func(words []string) bool { return harness.RunsScript(words, key) })
	err := call()
	harness.Await(ctx, "the loss of a reply", lost)
	must.Wrap(err, backend.ErrIndeterminate)
}

// SentOnce calls call, and fails if a script on key was not sent once, where that can be seen.
func SentOnce(ctx context.Context, e *harness.Env, key string, call func()) {
	if e.Record == nil {
		call()
		return
	}
	most, counts := 0, map[string]int{}
	for _, words := range sent(ctx, e, call) {
		if len(words) > 3 && words[3] == key {
			counts[words[1]]++
			most = max(most, counts[words[1]])
		}
	}
	must.If(most != 1, "the script was sent %d times", most)
}

// sent returns the commands that were sent while call ran.
func sent(ctx context.Context, e *harness.Env, call func()) [][]string {
	stop := must.Get(e.Record(ctx))
	err := must.Catch(call)
	commands, stopErr := stop()
	must.Do(errors.Join(err, stopErr))
	return commands
}
