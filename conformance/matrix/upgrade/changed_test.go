package upgrade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

func tryRate(ctx context.Context, c *primitives.Client, name string) string {
	l := c.NewRateLimiter(name, primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse()})
	_, err := l.InitRate(ctx, primitives.Rate{Permits: 2, Interval: time.Hour})
	d, allowErr := l.Allow(ctx, 1)
	return said(map[bool]string{true: "granted", false: "refused"}[d.Allowed], errors.Join(err, allowErr))
}

func tryJob(ctx context.Context, c *primitives.Client, name string) string {
	work := func(context.Context, primitives.JobRun) error { return nil }
	ran, err := c.NewPeriodicJob(name, time.Hour, nil).TryDo(ctx, time.Now().Truncate(24*time.Hour), work)
	return said(fmt.Sprint(ran), err)
}
