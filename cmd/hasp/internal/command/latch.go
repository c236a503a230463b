package command

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/primitives"
)

func (p *program) latch() *cobra.Command {
	r := &runner{program: p}
	c := &cobra.Command{
		Use:   "latch NAME init N|down [N]|wait|get",
		Short: "Wait until as many have counted down as the latch was set to",
	}
	r.addWait(c, "n")
	n := int64(1)
	c.Args = func(c *cobra.Command, args []string) (err error) {
		if len(args) < 2 {
			return usage("the name, and one of init N, down, wait and get")
		}
		counts := args[1] == "init" || args[1] == "down"
		switch {
		case !counts && args[1] != "wait" && args[1] != "get":
			return usage("%q is none of init, down, wait and get", args[1])
		case len(args) == 2 && args[1] == "init":
			return usage("init needs a number")
		case len(args) > 3, len(args) == 3 && !counts:
			return usage("%q behind %s", args[len(args)-1], args[1])
		case args[1] != "wait" && r.wait != forever:
			return usage("only wait waits")
		case len(args) == 3:
			if n, err = strconv.ParseInt(args[2], 10, 64); err != nil || n < 1 {
				return usage("%q is no number of 1 or more", args[2])
			}
		}
		return validNames(args[0])
	}
	c.RunE = r.online(func(c *cobra.Command, conn *connect.Conn, args []string) error {
		l := conn.Client.NewCountDownLatch(args[0])
		switch args[1] {
		case "init":
			return initLatch(c, l, n)
		case "down":
			return countDown(c, l, n)
		case "wait":
			return r.awaitLatch(c, l)
		}
		return printCount(c, l)
	})
	return c
}

func initLatch(c *cobra.Command, l *primitives.CountDownLatch, n int64) error {
	set, err := l.InitCount(c.Context(), n)
	if err == nil && !set {
		err = &exitError{exitFailed, fmt.Errorf("%q is set already, and keeps its count", c.Flags().Arg(0))}
	}
	return err
}

// countDown counts down n times, at most to 0, and prints what is left.
func countDown(c *cobra.Command, l *primitives.CountDownLatch, n int64) (err error) {
	left := int64(1)
	for i := int64(0); i < n && left > 0; i++ {
		if left, err = l.CountDown(c.Context()); err != nil {
			return fmt.Errorf("after %d of %d: %w", i, n, err)
		}
	}
	fmt.Fprintln(c.OutOrStdout(), left)
	return nil
}

func printCount(c *cobra.Command, l *primitives.CountDownLatch) error {
	n, err := l.Count(c.Context())
	if err == nil {
		fmt.Fprintln(c.OutOrStdout(), n)
	}
	return err
}

// awaitLatch waits until the count is 0, as long as the flags say.
func (r *runner) awaitLatch(c *cobra.Command, l *primitives.CountDownLatch) error {
	return r.acquired(c.Context(), func(ctx context.Context) error {
		n, err := l.Count(ctx)
		if err == nil && n > 0 {
			err = refusal(fmt.Sprintf("the count is %d", n))
		}
		return err
	}, l.Wait)
}
