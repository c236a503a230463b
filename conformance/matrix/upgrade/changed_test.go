package upgrade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// This file is compiled in the other version's checkout, too, unless that is the first commit, which has the file in
// testdata instead.

// later are kinds that the first commit lacks.
var later = map[string]acquire{
	"plain": locker(func(c *primitives.Client, name string) primitives.Locker { return c.NewPlainLock(name, nil) }),
}

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
