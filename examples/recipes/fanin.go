package recipes

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// Gather hands out the parts of a run, and returns nil when all of them are done, by whichever processes. Each
// run has a name of its own, since a latch does not know who has counted it down.
//
// It waits for at most limit. The latch lasts twice as long, so a run that is not done ends with
// [context.DeadlineExceeded] and not with nil: a latch that has expired looks like one that was counted down.
// A server that loses its data looks so, too. So collect the results, and count them, after Gather has returned.
func Gather(
	ctx context.Context, client *primitives.Client, run string, parts []string, limit time.Duration,
	handOut func(ctx context.Context, part string) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	latch := client.NewCountDownLatch("run:" + run)
	set, err := latch.InitCountWithTTL(ctx, int64(len(parts)), 2*limit)
	if err != nil {
		return err
	}
	if !set {
		return fmt.Errorf("run %q was started before", run)
	}
	for _, part := range parts { // after the latch is set: a count-down before that is lost
		if err := handOut(ctx, part); err != nil {
			return err
		}
	}
	return latch.Wait(ctx)
}

// DoPart does one part of a run and counts it down. A part that fails is not counted, so another process
// may do it. After an error that wraps [primitives.ErrIndeterminate] the part may have been counted: if it
// was not, Gather ends by its limit. Counting again could end it too early.
func DoPart(ctx context.Context, client *primitives.Client, run string, part func(ctx context.Context) error) error {
	if err := part(ctx); err != nil {
		return err
	}
	_, err := client.NewCountDownLatch("run:" + run).CountDown(ctx)
	return err
}
