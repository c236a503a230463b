package upgrade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

var later map[string]acquire

func tryRate(ctx context.Context, c *primitives.Client, name string) string {
	l := c.NewRateLimiter(name, nil)
	_, err := l.InitRate(ctx, primitives.Rate{Permits: 2, Interval: time.Hour})
	if err = errors.Join(err, l.TryAcquire(ctx, 1)); errors.Is(err, primitives.ErrNotAcquired) {
		return "refused"
	}
	return said("granted", err)
}

func tryJob(ctx context.Context, c *primitives.Client, name string) string {
	work := func(context.Context, *primitives.Lease) error { return nil }
	ran, err := c.NewPeriodicJob(name, time.Hour, nil).TryDo(ctx, time.Now().Truncate(24*time.Hour), work)
	return said(fmt.Sprint(ran), err)
}
