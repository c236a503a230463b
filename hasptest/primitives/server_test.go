// Package primitives_test tests package primitives on the embedded server, which its module may not require, in virtual
// time.
package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

// server is an embedded server in virtual time, behind a link that does to each call what a test wants: latency, lost
// replies, scripts that run late. It is the backend of all its clients but those that have an ownLink.
type server struct {
	embedded *embedded.Server
	link     *embedded.Backend

	mu       sync.Mutex // also held while a script runs
	handlers map[*subscription]string
	calls    map[string]int // by script
	run      func(script *backend.Script, keys, args []string) (backend.Reply, error)

	// fault returns the fault of a call of the given script; nil: there are none.
	fault func(script string) fault

	// acks is what replicas answer to a WAIT.
	acks func(replicas int, timeout time.Duration) acks

	// seen is shown every call, and ran every script that has run, if they are not nil.
	seen func(script string, keys, args []string)
	ran  func(script string, keys, args []string, reply backend.Reply)
}

// fault is what a link does to one call.
type fault struct {
	before, after time.Duration // on the way to the server, and back
	lost          bool          // the reply never comes
	broken        bool          // the connection breaks instead of the reply
	early         bool          // it breaks at once, and the call arrives all the same
	panics        bool          // a hook of the driver does
	err           error         // the server's reply
}

// arrives returns what receives a value when the reply comes. Without latency there is no timer: when goroutines of a
// bubble find at the same time that their timers are over, Go's race detector crashes.
func (f fault) arrives() <-chan time.Time {
	if f.lost {
		return nil
	}
	if in := f.before + f.after; in > 0 {
		return time.After(in)
	}
	now := make(chan time.Time, 1)
	now <- time.Now()
	return now
}

// acks are what replicas answer to one WAIT.
type acks struct {
	n     int
	after time.Duration
	err   error // of WAIT
}

// allAck is a server whose replicas acknowledge at once.
func allAck(replicas int, _ time.Duration) acks { return acks{n: replicas} }

// noneAcks is a server whose replicas lag.
func noneAcks(_ int, timeout time.Duration) acks { return acks{after: timeout} }

// subscription is one of a client.
type subscription struct {
	backend.Subscription
	server  *server
	channel string
	handler backend.Handler
}

// another is the owner of what no client of the test holds.
const another = "00000000-0000-4000-8000-000000000000:1"

// virtual runs a test with a server of its own in virtual time, beside other tests.
func virtual(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newServer(t)) })
}

// served is virtual with a client of the server.
func served(t *testing.T, test func(t *testing.T, s *server, c *primitives.Client)) {
	t.Helper()
	virtual(t, func(t *testing.T, s *server) { test(t, s, s.client(t, nil)) })
}

// subtest is virtual for a test within another.
func subtest(t *testing.T, name string, test func(t *testing.T, s *server)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { virtual(t, test) })
}

// must returns a function that returns what a call returned, and requires that it did not fail. In a test that has failed
// it ends its goroutine: a call in the background fails then, as its context ends, and the test may be over.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil && t.Failed() {
			runtime.Goexit()
		}
		require.NoError(t, err)
		return v
	}
}

// errOf returns the error alone that a call returned.
func errOf[T any](_ T, err error) error { return err }

// wraps requires that an error wraps all of want.
func wraps(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, target := range want {
		require.ErrorIs(t, err, target)
	}
}

// beside starts a call, and returns what receives its error.
func beside(call func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	return ended
}

// leased starts an acquire, and returns what receives its lease; nil if it fails.
func leased(ctx context.Context, acquire lockFunc) <-chan *primitives.Lease {
	leases := make(chan *primitives.Lease, 1)
	go func() {
		lease, _ := acquire(ctx)
		leases <- lease
	}()
	return leases
}

// within returns a context that ends after some time, or with the test.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// newServer returns an empty server without faults.
func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{
		embedded: embedded.NewServer(), handlers: make(map[*subscription]string), calls: make(map[string]int),
		acks: allAck,
	}
	s.link = s.newLink(t)
	s.run = func(script *backend.Script, keys, args []string) (backend.Reply, error) {
		return s.link.Run(context.Background(), script, keys, args)
	}
	return s
}

func (s *server) newLink(t *testing.T) *embedded.Backend {
	t.Helper()
	link := must(embedded.New(s.embedded, nil))(t)
	t.Cleanup(func() { require.NoError(t, link.Close()) })
	return link
}

// client returns a client that is closed with the test, after which nothing may be under way.
func (s *server) client(t *testing.T, opts *primitives.Options) *primitives.Client {
	t.Helper()
	return s.over(t, s, opts)
}

// over is client for a backend on the server.
func (s *server) over(t *testing.T, b backend.Backend, o *primitives.Options) *primitives.Client {
	t.Helper()
	c := must(primitives.New(b, o))(t)
	t.Cleanup(func() {
		require.NoError(t, c.Close(context.Background()))
		if !t.Failed() {
			time.Sleep(time.Hour) // What is under way arrives.
		}
	})
	return c
}

// set changes what others may be reading.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// faults gives all further calls the same fault.
func (s *server) faults(f fault) { s.set(func() { s.fault = func(string) fault { return f } }) }

// called returns how often the script of that name was sent.
func (s *server) called(script string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[script]
}

// subscribed returns the number of subscriptions, but for those of watched.
func (s *server) subscribed() int {
	watched := len(s.watched())
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.handlers) - watched
}

// watched returns the channels by which clients watch the server.
func (s *server) watched() (channels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, channel := range s.handlers {
		if strings.HasSuffix(channel, ":watch") {
			channels = append(channels, channel)
		}
	}
	return channels
}

// endless is more calls of a script than any test makes.
const endless = 300_000

// Run implements backend.ScriptRunner.
func (s *server) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	s.mu.Lock()
	if s.calls[script.Name]++; s.calls[script.Name] == endless {
		go panic(script.Name + " is called for ever, while the test waits for what does not come")
	}
	if s.seen != nil {
		s.seen(script.Name, keys, args)
	}
	f := fault{}
	if s.fault != nil {
		f = s.fault(script.Name)
	}
	s.mu.Unlock()
	if f.panics {
		panic("hook")
	}
	keys, args = slices.Clone(keys), slices.Clone(args)
	outcomes := make(chan backend.Outcome, 1)
	go func() {
		time.Sleep(f.before)
		if f.err == nil {
			outcomes <- s.execute(script, keys, args)
		}
	}()
	if f.early {
		return backend.Reply{}, unknown(script, errors.New("connection reset"))
	}
	select {
	case <-f.arrives():
	case <-ctx.Done():
		return backend.Reply{}, unknown(script, ctx.Err())
	}
	switch {
	case f.err != nil:
		return backend.Reply{}, f.err
	case f.broken:
		return backend.Reply{}, unknown(script, errors.New("connection reset"))
	}
	o := <-outcomes
	return o.Reply, o.Err
}

func unknown(script *backend.Script, err error) error {
	if script.Retry.Writes() {
		return backend.Indeterminate(err)
	}
	return err
}

func (s *server) execute(script *backend.Script, keys, args []string) backend.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply, err := s.run(script, keys, args)
	if s.ran != nil && err == nil {
		s.ran(script.Name, keys, args, reply)
	}
	return backend.Outcome{Reply: reply, Err: err}
}

// RunThenWait implements backend.ReplicaWaiter. The calls go side by side, and one WAIT follows all.
func (s *server) RunThenWait(
	ctx context.Context, calls []backend.Call, replicas int, timeout time.Duration,
	report func(place int, outcome backend.Outcome),
) {
	outcomes := make([]backend.Outcome, len(calls))
	run := func(i int) {
		outcomes[i].Reply, outcomes[i].Err = s.Run(ctx, calls[i].Script, calls[i].Keys, calls[i].Args)
	}
	var others sync.WaitGroup
	for i := range calls[1:] {
		others.Go(func() { run(i + 1) })
	}
	run(0)
	others.Wait()
	n, err := 0, error(nil)
	if slices.ContainsFunc(outcomes, func(o backend.Outcome) bool { return o.Err == nil }) {
		n, err = s.wait(ctx, replicas, timeout)
	}
	for i, o := range outcomes {
		if o.Err == nil {
			o.Acked, o.Err = n, err
		}
		report(i, o)
	}
}

// wait is WAIT.
func (s *server) wait(ctx context.Context, replicas int, timeout time.Duration) (int, error) {
	s.mu.Lock()
	s.calls["WAIT"]++
	a := s.acks(replicas, timeout)
	s.mu.Unlock()
	select {
	case <-time.After(a.after):
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	if a.err != nil {
		return 0, fmt.Errorf("%w: %w", backend.ErrReplicas, a.err)
	}
	return a.n, nil
}

// Subscribe implements backend.Subscriber.
func (s *server) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	return s.subscribe(ctx, s.link, channel, handler)
}

// subscribe has messages arrive after a millisecond.
func (s *server) subscribe(
	ctx context.Context, link *embedded.Backend, channel string, handler backend.Handler,
) (*subscription, error) {
	inner, err := link.Subscribe(ctx, channel, func(e backend.Event) {
		time.Sleep(time.Millisecond)
		handler(e)
	})
	if err != nil {
		return nil, err
	}
	sub := &subscription{inner, s, channel, handler}
	s.set(func() { s.handlers[sub] = channel })
	return sub, nil
}

// Cancel implements backend.Subscription.
func (sub *subscription) Cancel() {
	sub.Subscription.Cancel()
	sub.server.set(func() { delete(sub.server.handlers, sub) })
}

func (s *server) Capabilities() backend.Capabilities { return s.link.Capabilities() }

func (s *server) Close() error { return nil }

// ownLink is a further backend on a server, with a connection of its own for messages, which can be cut.
type ownLink struct {
	*server
	link *embedded.Backend
	subs []*subscription
}

func (s *server) newOwnLink(t *testing.T) *ownLink {
	t.Helper()
	return &ownLink{server: s, link: s.newLink(t)}
}

// cut unsubscribes all.
func (l *ownLink) cut() {
	for _, sub := range l.subs {
		sub.Subscription.Cancel()
	}
}

// heal subscribes all again.
func (l *ownLink) heal(t *testing.T) {
	t.Helper()
	for _, sub := range l.subs {
		inner := must(l.link.Subscribe(t.Context(), sub.channel, sub.handler))(t)
		sub.Subscription = inner
	}
}

// Subscribe implements backend.Subscriber.
func (l *ownLink) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	sub, err := l.subscribe(ctx, l.link, channel, handler)
	if err == nil {
		l.set(func() { l.subs = append(l.subs, sub) })
	}
	return sub, err
}

// do runs a command and returns what it replies: texts, nothing for nil.
func (s *server) do(words ...string) (texts []string) {
	reply, err := s.embedded.Do(words...)
	if err != nil {
		panic(err)
	}
	items, isArray := reply.Items()
	if isArray != nil {
		items = []backend.Reply{reply}
	}
	for _, item := range items {
		if n, err := item.Int(); err == nil {
			texts = append(texts, strconv.FormatInt(n, 10))
		} else if text, err := item.Text(); err == nil {
			texts = append(texts, text)
		}
	}
	return texts
}

// first returns the first of texts, or "".
func first(texts []string) string { return strings.Join(texts[:min(1, len(texts))], "") }

// holder returns who holds the lock, the plain lock or the mutex of that key.
func (s *server) holder(key string) string {
	if first(s.do("TYPE", key)) == "string" {
		return first(s.do("GET", key))
	}
	return first(append(s.do("GET", "hasp_mutex:{"+key+"}"), s.do("HKEYS", key)...))
}

// hold has the lock of that key held.
func (s *server) hold(key, owner string, lease time.Duration) {
	s.do("HSET", key, owner, "1")
	s.do("PEXPIRE", key, strconv.FormatInt(lease.Milliseconds(), 10))
}

// steal gives a lock that is held to another, for the rest of its lease.
func (s *server) steal(key string) {
	left := first(s.do("PTTL", key))
	s.lose(key)
	s.do("HSET", key, another, "1")
	s.do("PEXPIRE", key, left)
}

// lose takes what has those keys away from those who hold it.
func (s *server) lose(keys ...string) { s.do(append([]string{"DEL"}, keys...)...) }

// permits returns how many permits the semaphore of that key has.
func (s *server) permits(key string) string { return first(s.do("GET", key)) }

// waiting returns who waits for the fair lock called x.
func (s *server) waiting() []string { return s.do("LRANGE", "redisson_lock_queue:{x}", "0", "-1") }

// holding returns how many hold the counting semaphore called x.
func (s *server) holding() int { return s.running("x") }

// takenPermits returns how many permits of the permit semaphore called x have leases that run.
func (s *server) takenPermits() int { return s.running("{x}:timeout") }

// running returns how many members of a sorted set have a time that has not come.
func (s *server) running(key string) int {
	return len(s.do("ZRANGEBYSCORE", key, "("+strconv.FormatInt(time.Now().UnixMilli(), 10), "+inf"))
}

// adderRequest is what those have answered who were asked for the sum of an adder.
type adderRequest struct{ sum, answered string }

// requests returns the requests to adders whose answers nobody has taken.
func (s *server) requests() (all []adderRequest) {
	for _, key := range s.do("KEYS", "*:semaphore") {
		all = append(all, s.request(strings.TrimSuffix(key, ":semaphore")))
	}
	return all
}

// request returns the request of that key.
func (s *server) request(key string) adderRequest {
	return adderRequest{first(s.do("GET", key+":counter")), first(s.do("GET", key+":semaphore"))}
}

// rate counts the grants of a rate limiter.
type rate struct {
	interval time.Duration
	grants   []rateGrant
}

type rateGrant struct {
	at time.Time
	n  int
}

// limit makes the rate limiter of that name.
func (s *server) limit(name string, permits int, interval time.Duration) *rate {
	s.do("HSET", name, "rate", strconv.Itoa(permits), "interval", strconv.FormatInt(interval.Milliseconds(), 10), "type", "0")
	r := &rate{interval: interval}
	s.ran = func(script string, _, args []string, reply backend.Reply) {
		if parts, _ := reply.Items(); script == "rate_acquire" && len(parts) > 0 {
			if taken, _ := parts[0].Bool(); taken {
				n, _ := strconv.Atoi(args[0])
				r.grants = append(r.grants, rateGrant{time.Now(), n})
			}
		}
	}
	return r
}

// most returns the most permits that were granted in any window of one interval, of which the end does not count.
func (r *rate) most() (most int) {
	for i, first := range r.grants {
		sum := 0
		for _, g := range r.grants[i:] {
			if g.at.Sub(first.at) < r.interval {
				sum += g.n
			}
		}
		most = max(most, sum)
	}
	return most
}
