package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// This file is compiled in the other version's checkout, too, unless that is the first commit, which has the file in
// testdata instead.

// later are kinds that the first commit lacks.
var later = map[string]acquire{
	"plain": locker(func(c *primitives.Client, name string) takes { return c.NewPlainLock(name, nil) }),
	"memo":  memo,
}

// memo runs work for the key behind the name's colon. It stores nothing.
func memo(ctx context.Context, c *primitives.Client, name string, try bool) (hold, error) {
	of, key, _ := strings.Cut(name, ":")
	m := primitives.NewMemo[int](c, of, nil)
	do := m.Do
	if try {
		do = m.TryDo
	}
	return working(ctx, func(ctx context.Context, until func(context.Context, int64) error) error {
		_, _, err := do(ctx, key, func(ctx context.Context, run primitives.MemoRun) (int, error) {
			return 0, until(ctx, run.Lease.Token())
		})
		return err
	})
}

func tryRate(ctx context.Context, c *primitives.Client, name string) string {
	l := c.NewRateLimiter(name, primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
	_, err := l.InitRate(ctx, primitives.Rate{Permits: 2, Interval: time.Hour})
	d, allowErr := l.Allow(ctx, 1)
	return said(map[bool]string{true: "granted", false: "refused"}[d.Allowed], errors.Join(err, allowErr))
}

func tryJob(ctx context.Context, c *primitives.Client, name string) string {
	work := func(context.Context, primitives.JobRun) error { return nil }
	ran, err := c.NewPeriodicJob(name, time.Hour, nil).TryDo(ctx, time.Now().Truncate(24*time.Hour), work)
	return said(fmt.Sprint(ran), err)
}
