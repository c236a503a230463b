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
		Use: "rate NAME --permits N --per DURATION", Short: "Take permits of a rate, or exit with 75", Args: oneName,
	}
	c.Flags().IntVar(&limit.Permits, "permits", 0, "how many permits become free in --per")
	spanVar(c, &limit.Interval, "per", "", "the time in which they become free, one after the other")
	c.Flags().IntVar(&limit.Burst, "burst", 0, "how many can be taken at once (default --permits)")
	c.Flags().IntVarP(&n, "n", "n", 1, "how many to take")
	r.addOptionalWait(c, "wait until they are free")
	_, _ = c.MarkFlagRequired("permits"), c.MarkFlagRequired("per")
	c.RunE = r.online(func(c *cobra.Command, conn *connect.Conn, args []string) error {
		t := conn.Client.NewThrottle(args[0], limit, &primitives.ThrottleOptions{Unavailable: primitives.Refuse})
		return r.acquired(c.Context(), func(ctx context.Context) error {
			d, err := t.Allow(ctx, n)
			if err == nil && !d.Allowed {
				again := max(d.RetryAfter.Round(time.Millisecond), time.Millisecond)
				err = refusal(fmt.Sprintf("%q has too few free permits: try again in %s", args[0], again))
			}
			return err
		}, func(ctx context.Context) error { return t.Wait(ctx, n) })
	})
	return c
}

// refusal is a [primitives.ErrNotAcquired], whose own text is of locks.
type refusal string

// Error implements error.
func (text refusal) Error() string { return string(text) }

// Is implements what errors.Is asks.
func (refusal) Is(target error) bool { return target == primitives.ErrNotAcquired }

// oneName returns the error of arguments that are not one name.
func oneName(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usage("no name")
	case 1:
		return validNames(args[0])
	}
	return usage("%q behind the name", args[1])
}
