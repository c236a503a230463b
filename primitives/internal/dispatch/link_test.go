package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
)

var (
	write = backend.NewScript("write", "return 1", 1, backend.RetryNever)
	read  = backend.NewScript("read", "return 2", 1, backend.RetryReadOnly)
)

// link is a backend whose every batch takes a while, and answers each call with its key.
type link struct {
	takes time.Duration
	do    func(ctx context.Context, c backend.Call) (backend.Reply, error) // nil: answers

	mu      sync.Mutex
	batches [][]string // the keys of each
}

func (l *link) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	keys := make([]string, len(calls))
	for i, c := range calls {
		keys[i] = c.Keys[0]
	}
	l.mu.Lock()
	l.batches = append(l.batches, keys)
	l.mu.Unlock()
	if !wait(ctx, l.takes) {
		for i := range calls {
			report(i, backend.Outcome{Err: backend.Indeterminate(ctx.Err())})
		}
		return
	}
	for i, c := range calls {
		reply, err := l.answer(ctx, c)
		report(i, backend.Outcome{Reply: reply, Err: err})
	}
}

func (l *link) answer(ctx context.Context, c backend.Call) (backend.Reply, error) {
	if l.do != nil {
		return l.do(ctx, c)
	}
	return backend.StringReply(c.Keys[0]), nil
}

func (l *link) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	outcome := backend.RunAll(ctx, l, []backend.Call{{Script: script, Keys: keys, Args: args}})[0]
	return outcome.Reply, outcome.Err
}

// sent returns the keys of the batches so far.
func (l *link) sent() [][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([][]string(nil), l.batches...)
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// do runs r by d.
func do(ctx context.Context, d *dispatch.Dispatcher, r *dispatch.Request) (backend.Reply, error) {
	r.Dispatcher = d
	return r.Run(ctx, r.Script, r.Keys, r.Args)
}

// lateReceiver notes what it gets.
type lateReceiver struct {
	stays   atomic.Int32
	outcome *backend.Outcome
	late    chan backend.Outcome
}

func newLateReceiver() *lateReceiver { return &lateReceiver{late: make(chan backend.Outcome, 1)} }

func (h *lateReceiver) CallerLeft() { h.stays.Add(1) }

func (h *lateReceiver) HandleLate(r backend.ScriptRunner) {
	reply, err := r.Run(context.Background(), nil, nil, nil)
	h.outcome = &backend.Outcome{Reply: reply, Err: err}
}

func (h *lateReceiver) LateHandled() {
	h.stays.Add(-1)
	if h.outcome != nil {
		h.late <- *h.outcome
	}
}

// open returns a dispatcher that ends with the test.
func open(t *testing.T, b backend.ScriptRunner) *dispatch.Dispatcher {
	t.Helper()
	d := dispatch.New(b)
	t.Cleanup(d.Close)
	return d
}

func request(script *backend.Script, key string) *dispatch.Request {
	return &dispatch.Request{Script: script, Keys: []string{key}}
}

func requireEcho(t *testing.T, key string, reply backend.Reply, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Equal(t, backend.StringReply(key), reply)
}

// occupy has all senders busy for an hour, so what comes next goes together.
func occupy(t *testing.T, d *dispatch.Dispatcher) {
	t.Helper()
	for i := range 8 {
		go func() { _, _ = d.Run(t.Context(), write, []string{fmt.Sprint("busy", i)}, nil) }()
		synctest.Wait()
	}
	time.Sleep(5 * time.Millisecond) // Nothing is queued any more.
}

// virtual runs a test in virtual time, beside others.
func virtual(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// through is virtual with a dispatcher of a backend.
func through[B backend.ScriptRunner](t *testing.T, b B, test func(t *testing.T, b B, d *dispatch.Dispatcher)) {
	t.Helper()
	virtual(t, func(t *testing.T) { test(t, b, open(t, b)) })
}

// within returns a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// subtest is virtual for a test within another.
func subtest(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { virtual(t, test) })
}

// errOf returns the error alone that a call returned.
func errOf[T any](_ T, err error) error { return err }
