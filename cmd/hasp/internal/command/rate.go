package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/primitives"
)

func (p *program) rate() *cobra.Command {
	limit, n, r := primitives.Limit{}, 0, &runner{program: p, code: exitNotAcquired}
	c := &cobra.Command{
		Use: "rate NAME --permits N --per DURATION", Short: "Take permits of a rate, or exit with 75", Args: names(1, 1),
	}
	c.Flags().IntVar(&limit.Permits, "permits", 0, "how many permits become free in --per")
	spanVar(c, &limit.Interval, "per", "", "the time in which they become free, one after the other")
	c.Flags().IntVar(&limit.Burst, "burst", 0, "how many can be taken at once (default --permits)")
	c.Flags().IntVarP(&n, "n", "n", 1, "how many to take")
	r.addOptionalWait(c, "wait until they are free")
	_, _ = c.MarkFlagRequired("permits"), c.MarkFlagRequired("per")
	c.RunE = r.online(func(c *cobra.Command, conn *connect.Conn, args []string) error {
		t := conn.Client.NewThrottle(args[0], limit, &primitives.ThrottleOptions{Unavailable: primitives.Refuse()})
		return r.acquired(c.Context(), func(ctx context.Context) error {
			d, err := t.Allow(ctx, n)
			if err == nil && !d.Allowed {
				again := max(d.RetryAfter.Round(time.Millisecond), time.Millisecond)
				err = fmt.Errorf("%q has too few free permits: try again in %s%.0w", args[0], again, primitives.ErrNotAcquired)
			}
			return err
		}, func(ctx context.Context) error { return t.Wait(ctx, n) })
	})
	return c
}
