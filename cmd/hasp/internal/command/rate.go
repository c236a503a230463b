package command

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/primitives"
)

func (p *program) rate() *cobra.Command {
	limit, n, wait := primitives.Limit{}, 0, false
	c := &cobra.Command{
		Use: "rate NAME --permits N --per DURATION", Short: "Take permits of a rate, or exit with 75", Args: oneName,
	}
	c.Flags().IntVar(&limit.Permits, "permits", 0, "how many permits become free in --per")
	c.Flags().DurationVar(&limit.Interval, "per", 0, "the time in which they become free, one after the other")
	c.Flags().IntVar(&limit.Burst, "burst", 0, "how many can be taken at once (default --permits)")
	c.Flags().IntVarP(&n, "n", "n", 1, "how many to take")
	c.Flags().BoolVar(&wait, "wait", false, "wait until they are free")
	_, _ = c.MarkFlagRequired("permits"), c.MarkFlagRequired("per")
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, args []string) error {
		t := conn.Client.NewThrottle(args[0], limit, &primitives.ThrottleOptions{Unavailable: primitives.Refuse})
		if wait {
			return t.Wait(c.Context(), n)
		}
		d, err := t.Allow(c.Context(), n)
		if err == nil && !d.Allowed {
			again := max(d.RetryAfter.Round(time.Millisecond), time.Millisecond)
			err = &exitError{exitNotAcquired, fmt.Errorf("%q has too few free permits: try again in %s", args[0], again)}
		}
		return err
	})
	return c
}

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
