package evalsha_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	f := &fake{}
	r := evalsha.New(f, &evalsha.Options{Cluster: true})
	any := backend.NewScript("any", "return 1", -1, backend.RetryNever)
	done, cancel := context.WithCancel(t.Context())
	cancel()

	require.ErrorContains(t, errOf(r.Run(t.Context(), write, nil, nil)), "wrong number of keys: 0")
	require.ErrorContains(t, errOf(r.Run(t.Context(), any, nil, nil)), "wrong number of keys: 0")
	require.ErrorContains(t, errOf(r.Run(t.Context(), write, []string{"a", "{a}"}, nil)), "wrong number of keys: 2")
	require.ErrorIs(t, errOf(r.Run(t.Context(), any, []string{"a", "b"}, nil)), backend.ErrCrossSlot)
	_, err := r.Run(done, write, []string{"a"}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, backend.MayHaveRun(err))
	require.Empty(t, f.asked())

	require.NoError(t, errOf(r.Run(t.Context(), any, []string{"a", "{a}b"}, nil)))
	r.Close()
	require.ErrorIs(t, errOf(r.Run(t.Context(), write, []string{"a"}, nil)), backend.ErrClosed)
	require.Len(t, f.asked(), 1)
}

// TestLoadsMissingScript: a missing script is loaded where it was sent, then everywhere, and then given up; a plain command
// never. A load that is refused for good ends that.
func TestLoadsMissingScript(t *testing.T) {
	t.Parallel()
	missing := serverError("NOSCRIPT No matching script.")
	compiling, acl := serverError("ERR Error compiling script"), serverError("NOPERM User u has no permissions to run the 'script|load' command")
	renamed := serverError("ERR unknown command 'SCRIPT', with args beginning with: 'LOAD' ") // As behind some proxies.
	for name, c := range map[string]struct {
		missing int     // how often it is
		loads   []error // of each load; nil: it succeeds
		asked   string  // E: EVALSHA
		is      error   // nil: none
		away    bool    // it is ErrUnavailable
	}{
		"Once":        {missing: 1, asked: "E load E"},
		"Twice":       {missing: 2, asked: "E load E all E"},
		"InVain":      {missing: 3, asked: "E load E all E", is: missing, away: true},
		"LostLoad":    {missing: 2, loads: []error{errEOF}, asked: "E load E all E"},
		"LostLoads":   {missing: 9, loads: []error{errEOF, errEOF}, is: missing, away: true},
		"LOADING":     {missing: 9, loads: []error{serverError("LOADING x"), serverError("LOADING x")}, is: missing, away: true},
		"LoadMissing": {missing: 9, loads: []error{missing, missing}, is: missing, away: true},
		"Compiling":   {missing: 9, loads: []error{compiling}, asked: "E load", is: missing},
		"NOPERM":      {missing: 9, loads: []error{acl}, asked: "E load", is: backend.ErrNoPermission},
		"Renamed":     {missing: 9, loads: []error{renamed}, asked: "E load", is: backend.ErrNotSupported},
		"Closed":      {missing: 9, loads: []error{backend.ErrClosed, backend.ErrClosed}, is: missing},
	} {
		for script, command := range map[*backend.Script]string{write: "EVALSHA", repeat: "EVALSHA", read: "EVALSHA_RO", plain: "PTTL"} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{steps: fails(slices.Repeat([]error{missing}, c.missing)...), loadErr: c.loads}
				reply, err := evalsha.New(f, nil).Run(t.Context(), script, []string{"k"}, nil)
				if script == plain {
					require.NotContains(t, fmt.Sprint(f.asked()), "load", name)
					return
				}
				if c.asked != "" {
					asked := strings.NewReplacer("E", command, "load", "load "+script.Name+" k", "all", "load all "+script.Name).Replace(c.asked)
					require.Equal(t, asked, strings.Join(f.asked(), " "), name)
				}
				if c.is == nil {
					requireDone(t, script, reply, err)
					return
				}
				require.ErrorIs(t, err, c.is, name)
				if c.loads != nil {
					require.ErrorContains(t, err, c.loads[0].Error(), "the cause")
				}
				require.Equal(t, c.away, errors.Is(err, backend.ErrUnavailable), name)
				require.False(t, backend.MayHaveRun(err), name)
			})
		}
	}
}

func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script *backend.Script
		lost   int // replies lost
		sent   int
		ok     bool
	}{
		{write, 1, 1, false},
		{repeat, 1, 2, true},
		{repeat, 2, 3, true},
		{repeat, 3, 3, false},
		{read, 2, 3, true},
		{read, 3, 3, false},
		{plain, 2, 3, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			lost := make([]error, c.lost)
			for i := range lost {
				lost[i] = errEOF
			}
			f, reply, err := run(t, t.Context(), c.script, fails(lost...)...)
			require.Len(t, f.asked(), c.sent, "%s, of which %d are lost", c.script.Name, c.lost)
			if c.ok {
				requireDone(t, c.script, reply, err)
				return
			}
			require.ErrorIs(t, err, errEOF)
			require.Equal(t, c.script.Retry.Writes(), errors.Is(err, backend.ErrIndeterminate))
			require.Equal(t, c.script.Retry.Writes(), backend.MayHaveRun(err))
		})
	}
}

// A later try that certainly did not run leaves the earlier one as unknown as it was.
func TestUnknownStaysUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := fails(errEOF)
		for range 1000 {
			steps = append(steps, step{err: evalsha.NotSent(errors.New("dial"))})
		}
		_, _, err := run(t, t.Context(), repeat, steps...)
		require.ErrorIs(t, err, backend.ErrIndeterminate)
		require.NotErrorIs(t, err, backend.ErrUnavailable)
		_, _, err = run(t, t.Context(), repeat, fails(errEOF, backend.ErrClosed)...)
		require.ErrorIs(t, err, backend.ErrIndeterminate)
	})
}

// forLong is the same answer for as long as anybody asks.
func forLong(err error) []step { return fails(slices.Repeat([]error{err}, 1000)...) }

func TestUnavailable(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{
		serverError("MOVED 1 a:1"), serverError("ASK 1 a:1"), serverError("TRYAGAIN x"),
		serverError("LOADING x"), serverError("BUSY x"), serverError("CLUSTERDOWN x"),
		serverError("MASTERDOWN x"), serverError("READONLY x"), serverError("NOAUTH x"), evalsha.NotSent(errEOF),
	} {
		synctest.Test(t, func(t *testing.T) {
			f, reply, err := run(t, t.Context(), write, fails(refusal, refusal)...)
			requireDone(t, write, reply, err)
			require.Len(t, f.asked(), 3)

			_, _, err = run(t, t.Context(), write, forLong(refusal)...)
			require.ErrorIs(t, err, backend.ErrUnavailable)
			require.ErrorIs(t, err, refusal)
			require.False(t, backend.MayHaveRun(err))

			_, _, err = run(t, t.Context(), read, append(fails(errEOF), forLong(refusal)...)...)
			require.ErrorIs(t, err, backend.ErrUnavailable, "what only read wrote nothing")

			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, _, err = run(t, ctx, write, forLong(refusal)...)
			require.ErrorIs(t, err, backend.ErrUnavailable)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 100*time.Millisecond, time.Since(began))
		})
	}
}

func TestNotUnavailable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		errEOF, serverError("WRONGTYPE x"),
		evalsha.NotSent(backend.ErrClosed), fmt.Errorf("%w: x", backend.ErrReply),
	} {
		for _, script := range []*backend.Script{write, repeat, read} {
			synctest.Test(t, func(t *testing.T) {
				f, _, got := run(t, t.Context(), script, forLong(err)...)
				require.ErrorIs(t, got, err)
				require.ErrorContains(t, got, "script "+script.Name+": ")
				lost := err == errEOF //nolint:errorlint // The very value.
				require.Equal(t, lost && script == read, errors.Is(got, backend.ErrUnavailable))
				require.Equal(t, lost && script != read, errors.Is(got, backend.ErrIndeterminate))
				require.Equal(t, lost && script != write, len(f.asked()) > 1, "the others are final")
			})
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := run(t, ctx, write, step{err: evalsha.NotSent(context.Canceled), during: cancel})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, backend.ErrUnavailable, "nothing was tried")
	_, _, err = run(t, t.Context(), write, fails(serverError("NOTOWNER x script: on @user_script:12."))...)
	require.EqualError(t, err, "script write.lua:12: NOTOWNER x")
}

// TestFailsFast has one script that fails fast, and runners whose scripts all do: only a redirect and a missing script
// are worth a second try.
func TestFailsFast(t *testing.T) {
	t.Parallel()
	fast, patient := *write, &evalsha.Options{RefusedFor: time.Hour}
	fast.FailFast = true
	for name, c := range map[string]struct {
		script *backend.Script
		opts   *evalsha.Options
	}{"Script": {&fast, patient}, "Runner": {write, &evalsha.Options{RefusedFor: -1}}} {
		for refusal, commands := range map[error]int{
			evalsha.NotSent(errEOF): 1, serverError("LOADING x"): 1, serverError("READONLY x"): 1,
			serverError("MOVED 1 x"): 2, serverError("ASK 1 x"): 2, serverError("NOSCRIPT x"): 5,
		} {
			synctest.Test(t, func(t *testing.T) {
				f, began := &fake{steps: fails(refusal, refusal, refusal)}, time.Now()
				_, err := evalsha.New(f, c.opts).Run(t.Context(), c.script, []string{"k"}, nil)
				require.ErrorIs(t, err, backend.ErrUnavailable)
				require.Len(t, f.asked(), commands, "%s: %v", name, refusal)
				require.Less(t, time.Since(began), 100*time.Millisecond)
			})
		}
	}
}

func TestClosedEndsTheTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		r := evalsha.New(f, nil)
		f.steps = []step{{err: serverError("LOADING x"), during: r.Close}}
		require.ErrorContains(t, errOf(r.Run(t.Context(), write, []string{"k"}, nil)), "LOADING")
		require.Len(t, f.asked(), 1)
	})
}

// TestServerWithoutEvalshaRO: a script that only reads falls back to EVALSHA once where the server does not know
// EVALSHA_RO, or takes the clock for a write. Others have nothing to fall back to.
func TestServerWithoutEvalshaRO(t *testing.T) {
	t.Parallel()
	unknown := serverError("ERR unknown command `EVALSHA_RO`, with args beginning with: `x`, ")
	refused := serverError("ERR Write commands are not allowed in read-only scripts")
	clock := backend.NewScript("clock", "return redis.call('time')", 1, backend.RetryReadOnly)
	for _, c := range []struct {
		script *backend.Script
		steps  []step
		asked  string
		err    error
	}{
		{read, fails(unknown), "EVALSHA_RO EVALSHA", nil},
		{read, fails(unknown, unknown), "EVALSHA_RO EVALSHA", unknown},
		{read, fails(refused), "EVALSHA_RO", refused},
		{clock, fails(refused), "EVALSHA_RO EVALSHA", nil},
		{write, fails(unknown), "EVALSHA", unknown},
		{repeat, fails(unknown), "EVALSHA", unknown},
		{plain, fails(unknown), "PTTL", unknown},
	} {
		f, _, err := run(t, t.Context(), c.script, c.steps...)
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.asked, strings.Join(f.asked(), " "))
	}

	const callers = 20 // Each learns it at the same time; after that it is known for good.
	all := make(chan struct{})
	var arrived, group sync.WaitGroup
	arrived.Add(callers)
	go func() { arrived.Wait(); close(all) }()
	f := &fake{}
	for range callers {
		f.steps = append(f.steps, step{unknown, func() { arrived.Done(); <-all }})
	}
	r := evalsha.New(f, nil)
	for range callers {
		group.Go(func() { require.NoError(t, errOf(r.Run(t.Context(), read, []string{"k"}, nil))) })
	}
	group.Wait()
	require.Len(t, f.asked(), 2*callers)
	require.NoError(t, errOf(r.Run(t.Context(), read, []string{"k"}, nil)))
	require.Equal(t, "EVALSHA", f.asked()[2*callers])
}

// TestClaimOfACall has the caller leave after a refusal.
func TestClaimOfACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		claim, done := new(backend.Claim), make(chan error, 1)
		require.True(t, claim.Begin())
		f := &fake{steps: fails(serverError("BUSY x"))}
		go func() {
			_, err := evalsha.New(f, nil).Run(backend.WithClaim(t.Context(), claim), write, []string{"k"}, nil)
			done <- err
		}()
		synctest.Wait()
		require.ErrorContains(t, claim.Err(), "BUSY x")
		require.True(t, claim.Cancel())
		require.ErrorIs(t, <-done, context.Canceled)
		require.Len(t, f.asked(), 1)
	})
}

// TestRefusedFor: how long a refused command is offered again.
func TestRefusedFor(t *testing.T) {
	t.Parallel()
	for set, want := range map[time.Duration]time.Duration{0: 3 * time.Second, 20 * time.Second: 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f, began := &fake{steps: fails(slices.Repeat([]error{evalsha.NotSent(errEOF)}, 1000)...)}, time.Now()
			_, err := evalsha.New(f, &evalsha.Options{RefusedFor: set}).Run(t.Context(), write, []string{"k"}, nil)
			require.ErrorIs(t, err, backend.ErrUnavailable)
			require.ErrorIs(t, err, errEOF)
			require.False(t, backend.MayHaveRun(err))
			require.InDelta(t, want, time.Since(began), float64(time.Second))
			require.Less(t, len(f.asked()), 10*int(want/time.Second))
		})
	}
}

// errOf returns the error alone that a call returned.
func errOf[T any](_ T, err error) error { return err }

// TestScanSendsACursorOnce: to another server a cursor means something else. The first step has none.
func TestScanSendsACursorOnce(t *testing.T) {
	t.Parallel()
	for fails, sent := range map[string][]string{"0": {"0", "0", "7"}, "7": {"0", "7"}} {
		synctest.Test(t, func(t *testing.T) {
			var cursors []string
			node := func(_ context.Context, cmd evalsha.Command) (backend.Reply, error) {
				cursor, next := cmd.Keys[0], map[string]string{"0": "7", "7": "0"}
				if cursors = append(cursors, cursor); cursor == fails && !slices.Contains(cursors[:len(cursors)-1], fails) {
					return backend.Reply{}, errEOF
				}
				return backend.ArrayReply([]backend.Reply{backend.StringReply(next[cursor]), backend.ArrayReply(nil)}), nil
			}
			var err error
			nodes := func(context.Context) ([]evalsha.Node, error) { return []evalsha.Node{node}, nil }
			for _, err = range evalsha.New(&fake{}, nil).Scan(t.Context(), nodes, "*", 10) {
			}
			require.Equal(t, fails == "7", errors.Is(err, errEOF))
			require.Equal(t, sent, cursors)
		})
	}
}
