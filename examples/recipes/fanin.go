package recipes

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// Gather hands out the parts of a run, and returns nil when all of them are done, by whichever processes. The
// parts differ from each other, and each run has a name of its own.
//
// It waits for at most limit. If the server lost the run, Gather returns [primitives.ErrNoLatch].
func Gather(
	ctx context.Context, client *primitives.Client, run string, parts []string, limit time.Duration,
	handOut func(ctx context.Context, part string) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	latch := client.NewPartsLatch("run:" + run)
	set, err := latch.Init(ctx, int64(len(parts)), 2*limit)
	if err != nil {
		return err
	}
	if !set {
		return fmt.Errorf("run %q was started before", run)
	}
	for _, part := range parts { // after the latch is set: a count-down before that fails
		if err := handOut(ctx, part); err != nil {
			return err
		}
	}
	return latch.Wait(ctx)
}

// DoPart does one part of a run and counts it down. A part that fails is not counted, so another process
// may do it. After any error DoPart may be called again: a part counts once.
func DoPart(
	ctx context.Context, client *primitives.Client, run, part string, work func(ctx context.Context) error,
) error {
	if err := work(ctx); err != nil {
		return err
	}
	_, err := client.NewPartsLatch("run:"+run).CountDown(ctx, part)
	return err
}
