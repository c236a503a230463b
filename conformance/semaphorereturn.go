package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// semaphoreReturnCases are about permits whose taker has given up or got no answer.
func semaphoreReturnCases() []Case {
	link := []need{needsLink}
	return []Case{
		{
			Name: "SemaphoreReleaseUnderADoneContext", Clause: "Semaphore.GivingBack",
			check: checkReleaseDone,
		},
		{
			Name: "SemaphoreCancelledAcquireComesBack", Clause: "Semaphore.GivingBack",
			needs: link, check: checkCancelledPermits,
		},
		{
			Name: "SemaphoreLostAnswers", Clause: "Semaphore.GivingBack",
			needs: link, check: checkLostPermits,
		},
	}
}

func checkReleaseDone(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	done, cancel := context.WithCancel(ctx)
	cancel()
	err = s.Release(done, 2)
	if err := errors.Join(
		matches(err, backend.ErrIndeterminate), matches(err, context.Canceled),
		matches(s.Acquire(done, 1), context.Canceled),
	); err != nil {
		return err
	}
	return eventually(ctx, "the release", func() (bool, error) {
		n, err := s.AvailablePermits(ctx)
		return n == 2, err
	})
}

// checkCancelledPermits gives up while the script is on its way: what it takes comes back.
func checkCancelledPermits(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	if err := errors.Join(s.Release(ctx, 3), s.Acquire(ctx, 1), s.Release(ctx, 1)); err != nil {
		return err
	}
	in.Link.Delay(300 * time.Millisecond)
	for left, take := range map[string]func(context.Context) error{
		"1": func(ctx context.Context) error { return s.Acquire(ctx, 2) },
		"2": func(ctx context.Context) error { return s.TryAcquire(ctx, 1) },
		"0": func(ctx context.Context) error { _, err := s.DrainPermits(ctx); return err },
	} {
		if err := e.takesForAMoment(ctx, s.Name(), left, take); err != nil {
			return fmt.Errorf("which leaves %s: %w", left, err)
		}
	}
	return nil
}

// takesForAMoment gives up while take is on its way to leave so many of three permits.
func (e *env) takesForAMoment(
	ctx context.Context, key, left string, take func(context.Context) error,
) error {
	if err := leaveInFlight(ctx, take); err != nil {
		return err
	}
	if err := e.awaitText(ctx, key, left); err != nil {
		return err
	}
	return e.awaitText(ctx, key, "3")
}

// leaveInFlight gives up take while it is under way. A driver that has to connect first may not have
// sent it by then; then it tries again.
func leaveInFlight(ctx context.Context, take func(context.Context) error) error {
	for {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		err := take(short)
		cancel()
		if err := matches(err, context.DeadlineExceeded); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if errors.Is(err, backend.ErrIndeterminate) {
			return nil
		}
	}
}

func (e *env) awaitText(ctx context.Context, key, text string) error {
	return eventually(ctx, fmt.Sprintf("%s to be %q", key, text), func() (bool, error) {
		reply, err := e.Do(ctx, key, "GET", key)
		return same(reply, backend.StringReply(text)), err
	})
}

// checkLostPermits loses the answer to each change: it was made once, and the error says that it may
// have been.
func checkLostPermits(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	if err := errors.Join(s.Release(ctx, 10), s.Acquire(ctx, 1)); err != nil {
		return err
	}
	free := 9
	for _, change := range []struct {
		call func() error
		by   int
	}{
		{func() error { return s.Acquire(ctx, 2) }, -2},
		{func() error { return s.Release(ctx, 3) }, 3},
		{func() error { return s.AddPermits(ctx, -4) }, -4},
	} {
		lost := in.Link.CutReply(func(words []string) bool { return runsScript(words, s.Name()) })
		if err := matches(change.call(), backend.ErrIndeterminate); err != nil {
			return err
		}
		<-lost
		free += change.by
		if err := e.wantText(ctx, s.Name(), fmt.Sprint(free)); err != nil {
			return err
		}
	}
	return nil
}
