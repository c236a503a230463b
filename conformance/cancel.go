package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// prompt is how soon a call must return after its context ended: far more than scheduling costs,
// far less than the time-outs and deadlines that a driver may wait for instead.
const prompt = 4 * time.Second

// cancelCases are about contexts: R7.
func cancelCases() []Case {
	link := []need{needsLink}
	return []Case{
		{Name: "EndedContextSendsNothing", Clause: "R7", check: checkEndedContext},
		{Name: "CancelReturnsPromptly", Clause: "R7", needs: link, check: checkCancel},
		{
			Name: "CancelBeforeADeadlineReturnsPromptly", Clause: "R7",
			needs: link, check: checkCancelWithDeadline,
		},
		{Name: "DeadlineReturnsPromptly", Clause: "R7", needs: link, check: checkDeadline},
		{Name: "CancelledReadReturnsPromptly", Clause: "R7", needs: link, check: checkCancelRead},
		{Name: "CancelWhileConnectingReturns", Clause: "R7", needs: link, check: checkConnecting},
		{Name: "CancelledRunsAtMostOnce", Clause: "R7", needs: link, check: checkLate},
	}
}

func checkEndedContext(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script, key := e.incr(backend.Never), e.key("n")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for range 20 {
		_, err = b.Run(ended, script, []string{key}, nil)
		if !errors.Is(err, context.Canceled) || backend.MayHaveRun(err) {
			return fmt.Errorf("got error %w, want a definite one that wraps context.Canceled", err)
		}
	}
	// What was sent after all would run before or soon after this.
	if err := e.recovers(ctx, b); err != nil {
		return err
	}
	return e.wantCount(ctx, key, 0)
}

// silent runs a script while its connection goes silent: the server runs it, and its reply is lost.
// It returns the run's error.
func (e *env) silent(
	ctx context.Context, retry backend.Retry, bound bounder,
) (runErr, err error) {
	in, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	script, key := e.script("return 1", 1, retry), e.key("n")
	// Drivers spread calls over a few connections, and make each when it is first used.
	for range 64 {
		if _, err := in.Backend.Run(ctx, script, []string{key}, nil); err != nil {
			return nil, err
		}
	}
	ran := in.Link.LoseReply(func(words []string) bool { return runsScript(words, key) })
	defer in.Link.Restore()
	return promptly(prompt, "Run", func() error {
		// Bound here: were it to end before the call, nothing would be sent.
		callCtx, cancel := bound(ran)
		defer cancel()
		_, err := in.Backend.Run(callCtx, script, []string{key}, nil)
		return err
	})
}

// bounder makes a call's context, given what is closed once the server has run its script. Before
// that a driver may still be busy with the connection, and send nothing if the context ends.
type bounder func(ran <-chan struct{}) (context.Context, context.CancelFunc)

// cancelledOnceRun makes contexts that are cancelled when the script has run.
func cancelledOnceRun(ctx context.Context) bounder {
	return func(ran <-chan struct{}) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			select {
			case <-ran:
				cancel()
			case <-ctx.Done():
			}
		}()
		return ctx, cancel
	}
}

// soonEnded is when the contexts of calls that are to be under way end. It leaves a slow machine
// the time to send.
const soonEnded = 200 * time.Millisecond

// cancelled returns a context that is cancelled soon.
func cancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(soonEnded, cancel)
	return ctx, cancel
}

// wantBoth checks the error of a write whose context ended while it was under way.
func wantBoth(runErr, want error) error {
	if !errors.Is(runErr, want) || !errors.Is(runErr, backend.ErrIndeterminate) {
		return fmt.Errorf("got error %w, want one that wraps %w and ErrIndeterminate", runErr, want)
	}
	return nil
}

func checkCancel(ctx context.Context, e *env) error {
	// No deadline at all: drivers take another path with one.
	runErr, err := e.silent(ctx, backend.Never, cancelledOnceRun(context.WithoutCancel(ctx)))
	if err != nil {
		return err
	}
	return wantBoth(runErr, context.Canceled)
}

func checkCancelWithDeadline(ctx context.Context, e *env) error {
	runErr, err := e.silent(ctx, backend.Never, cancelledOnceRun(ctx))
	if err != nil {
		return err
	}
	return wantBoth(runErr, context.Canceled)
}

func checkDeadline(ctx context.Context, e *env) error {
	runErr, err := e.silent(ctx, backend.Never, func(<-chan struct{}) (
		context.Context, context.CancelFunc,
	) {
		return context.WithTimeout(ctx, 5*soonEnded)
	})
	if err != nil {
		return err
	}
	return wantBoth(runErr, context.DeadlineExceeded)
}

func checkCancelRead(ctx context.Context, e *env) error {
	runErr, err := e.silent(ctx, backend.ReadOnly, cancelledOnceRun(ctx))
	if err == nil && !errors.Is(runErr, context.Canceled) {
		err = fmt.Errorf("got error %w, want one that wraps context.Canceled", runErr)
	}
	return err
}

// checkConnecting cancels a call for which the driver has to connect first. It may take as long as
// drivers let a connection take.
func checkConnecting(ctx context.Context, e *env) error {
	in, err := e.open(ctx)
	if err != nil {
		return err
	}
	script, key := e.incr(backend.Never), e.key("n")
	in.Link.Blackhole()
	runErr, err := promptly(3*prompt, "Run", func() error {
		callCtx, cancel := cancelled(ctx)
		defer cancel()
		_, err := in.Backend.Run(callCtx, script, []string{key}, nil)
		return err
	})
	in.Link.Restore()
	if err == nil && !errors.Is(runErr, context.Canceled) {
		err = fmt.Errorf("got error %w, want one that wraps context.Canceled", runErr)
	}
	return err
}

// lateCalls is how many calls checkLate cancels at least. One's context may end before anything is
// sent: when a driver connects first, or on a machine that stands still for a moment.
const lateCalls = 3

// checkLate cancels calls whose command is held up on its way.
func checkLate(ctx context.Context, e *env) error {
	in, err := e.open(ctx)
	if err != nil {
		return err
	}
	script, key := e.incr(backend.Never), e.key("n")
	if _, err := in.Backend.Run(ctx, script, []string{key}, nil); err != nil {
		return err
	}
	for calls, ran := int64(1), int64(0); calls <= lateCalls || ran == 0; calls++ {
		late := 2 * soonEnded
		if calls > lateCalls { // There may be a health check first.
			late = soonEnded * 2 / 5
		}
		runErr, err := e.runLate(ctx, in, script, key, late)
		if err != nil {
			return err
		}
		n, err := e.count(ctx, key)
		if err != nil {
			return err
		}
		if ran = n - 1; ran > calls {
			return fmt.Errorf("%d cancelled calls ran %d times; the last error was %w", calls, ran, runErr)
		}
		if ctx.Err() != nil {
			return errors.New("no call was cancelled after it had been sent")
		}
	}
	return nil
}

// runLate runs a script over a link that is late by so much, cancels it on its way, and returns when
// what was sent has run.
func (e *env) runLate(
	ctx context.Context, in *Instance, script *backend.Script, key string, late time.Duration,
) (runErr, err error) {
	in.Link.Delay(late)
	callCtx, cancel := cancelled(ctx)
	defer cancel()
	_, runErr = in.Backend.Run(callCtx, script, []string{key}, nil)
	in.Link.Restore()
	if err := e.recovers(ctx, in.Backend); err != nil {
		return nil, err
	}
	// A second sending would come from the driver's or the backend's retries, after the first.
	time.Sleep(2 * late)
	return runErr, nil
}
