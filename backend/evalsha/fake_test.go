package evalsha_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

var (
	errEOF = errors.New("EOF")

	write  = backend.NewScript("write", "return 1", 1, backend.RetryNever)
	repeat = backend.NewScript("repeat", "return 2", 1, backend.RetryRepeatable)
	read   = backend.NewScript("read", "return 3", 1, backend.RetryReadOnly)
	plain  = &backend.Script{Name: "plain", Keys: 1, Retry: backend.RetryReadOnly, Command: "PTTL"}
)

func serverError(text string) error { return backend.ParseServerError(text) }

// step is the fake driver's answer to one Send.
type step struct {
	err    error
	during func() // runs before the answer
}

// fake is a driver that answers by a list of steps, then with success, and notes what it is asked.
type fake struct {
	mu      sync.Mutex
	steps   []step
	loadErr []error
	calls   []string
}

func (f *fake) Send(_ context.Context, cmd evalsha.Command) (backend.Reply, error) {
	f.mu.Lock()
	f.calls = append(f.calls, cmd.Name)
	next := step{}
	if len(f.steps) > 0 {
		next, f.steps = f.steps[0], f.steps[1:]
	}
	f.mu.Unlock()
	if next.during != nil {
		next.during()
	}
	if next.err != nil {
		return backend.Reply{}, next.err
	}
	return backend.StringReply(cmd.Script.Name), nil
}

func (f *fake) load(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
	if len(f.loadErr) == 0 {
		return nil
	}
	err := f.loadErr[0]
	f.loadErr = f.loadErr[1:]
	return err
}

func (f *fake) Load(_ context.Context, s *backend.Script, key string) error {
	return f.load("load " + s.Name + " " + key)
}

func (f *fake) LoadAll(_ context.Context, s *backend.Script) error {
	return f.load("load all " + s.Name)
}

func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// fails returns one step for each error.
func fails(errs ...error) []step {
	steps := make([]step, len(errs))
	for i, err := range errs {
		steps[i].err = err
	}
	return steps
}

// run runs script on a fake driver with these steps.
func run(
	t *testing.T, ctx context.Context, script *backend.Script, steps ...step,
) (*fake, backend.Reply, error) {
	t.Helper()
	f := &fake{steps: steps}
	reply, err := evalsha.New(f, nil).Run(ctx, script, []string{"k"}, []string{"a"})
	return f, reply, err
}

func requireDone(t *testing.T, script *backend.Script, reply backend.Reply, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Equal(t, backend.StringReply(script.Name), reply)
}

func TestPanicReachesTheCaller(t *testing.T) {
	t.Parallel()
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		require.PanicsWithValue(t, "hook", func() { evalsha.Promptly(ctx, func() int { panic("hook") }) })
	}
	caught := evalsha.Catch(func() int { panic("hook") })
	require.PanicsWithValue(t, "hook", func() { caught.Get() })
}

// A panic that nobody waits for any more does not end the process.
func TestPanicOfWhatWasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		go func() { synctest.Wait(); cancel() }()
		_, ok := evalsha.Promptly(ctx, func() int { <-release; panic("hook") })
		require.False(t, ok)
		close(release)
		synctest.Wait()
	})
}
