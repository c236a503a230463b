package command

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/primitives"
)

// latchAction does something with a latch.
type latchAction func(ctx context.Context, c *cobra.Command, l *primitives.CountDownLatch, n int64) error

func (p *program) latch() *cobra.Command {
	r := &runner{program: p}
	c := &cobra.Command{
		Use:   "latch NAME init N|down [N]|wait|get",
		Short: "Wait until as many have counted down as the latch was set to",
	}
	r.addWait(c, "n")
	actions := map[string]latchAction{"init": initLatch, "down": countDown, "wait": r.awaitLatch, "get": printCount}
	var do latchAction
	n := int64(1)
	c.Args = func(c *cobra.Command, args []string) (err error) {
		if len(args) < 2 {
			return usage("the name, and one of init N, down, wait and get")
		}
		do = actions[args[1]]
		counts := args[1] == "init" || args[1] == "down"
		switch {
		case do == nil:
			return usage("%q is none of init, down, wait and get", args[1])
		case len(args) == 2 && args[1] == "init":
			return usage("init needs a number")
		case len(args) > 3, len(args) == 3 && !counts:
			return usage("%q behind %s", args[len(args)-1], args[1])
		case args[1] != "wait" && (r.wait.limit >= 0 || r.wait.secs >= 0 || r.wait.try):
			return usage("only wait waits")
		case len(args) == 3:
			if n, err = strconv.ParseInt(args[2], 10, 64); err != nil || n < 1 {
				return usage("%q is no number of 1 or more", args[2])
			}
		}
		return validName(args[0])
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		conn, err := p.open(primitives.Options{})
		if err != nil {
			return err
		}
		defer leave(conn)
		return do(c.Context(), c, conn.Client.NewCountDownLatch(args[0]), n)
	}
	return c
}

func initLatch(ctx context.Context, c *cobra.Command, l *primitives.CountDownLatch, n int64) error {
	set, err := l.InitCount(ctx, n)
	if err == nil && !set {
		err = &exitError{exitFailed, fmt.Errorf("%q is set already, and keeps its count", c.Flags().Arg(0))}
	}
	return err
}

// countDown counts down n times, at most to 0, and prints what is left.
func countDown(ctx context.Context, c *cobra.Command, l *primitives.CountDownLatch, n int64) (err error) {
	left := int64(1)
	for i := int64(0); i < n && left > 0; i++ {
		if left, err = l.CountDown(ctx); err != nil {
			return fmt.Errorf("after %d of %d: %w", i, n, err)
		}
	}
	fmt.Fprintln(c.OutOrStdout(), left)
	return nil
}

func printCount(ctx context.Context, c *cobra.Command, l *primitives.CountDownLatch, _ int64) error {
	n, err := l.Count(ctx)
	if err == nil {
		fmt.Fprintln(c.OutOrStdout(), n)
	}
	return err
}

// awaitLatch waits until the count is 0, as long as the flags say.
func (r *runner) awaitLatch(ctx context.Context, _ *cobra.Command, l *primitives.CountDownLatch, _ int64) error {
	try := func(ctx context.Context) (*primitives.Lease, error) {
		n, err := l.Count(ctx)
		if err == nil && n > 0 {
			err = fmt.Errorf("the count is %d: %w", n, primitives.ErrNotAcquired)
		}
		return nil, err
	}
	_, err := r.acquired(ctx, try, func(ctx context.Context) (*primitives.Lease, error) { return nil, l.Wait(ctx) })
	return err
}
