package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/primitives"
)

func (p *program) latch() *cobra.Command {
	c := group("latch", "Wait until as many have counted down as the latch was set to")
	get := &cobra.Command{Use: "get NAME", Short: "Print the count, 0 also of a latch that is not set", Args: names(1, 1)}
	get.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, args []string) error {
		n, err := conn.NewCountDownLatch(args[0]).Count(c.Context())
		if err == nil {
			fmt.Fprintln(c.OutOrStdout(), n)
		}
		return err
	})
	c.AddCommand(p.latchInit(), p.latchDown(), p.latchWait(), get)
	return c
}

// counted returns what checks the arguments of a latch's command: its name, and a number, without which there may be
// least arguments.
func counted(n *int64, least int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) (err error) {
		switch {
		case len(args) < least:
			return usage("write %s", c.UseLine())
		case len(args) > 2:
			return usage("%q behind the number", args[2])
		case len(args) == 2:
			if *n, err = strconv.ParseInt(args[1], 10, 64); err != nil || *n < 1 {
				return usage("%q is no number of 1 or more", args[1])
			}
		}
		return validNames(args[0])
	}
}

func (p *program) latchInit() *cobra.Command {
	n, parts, ttl := int64(0), false, 24*time.Hour
	c := &cobra.Command{Use: "init NAME N", Short: "Set a latch to N, unless it is set", Args: counted(&n, 2)}
	c.Flags().BoolVar(&parts, "parts", false, "a barrier: down --part counts each part once, and the server remembers that all were counted")
	spanVar(c, &ttl, "ttl", "24h", "with --parts: how long the latch waits for the parts, and how long the server then remembers it")
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, args []string) error {
		set := conn.NewCountDownLatch(args[0]).InitCount
		if parts {
			l := conn.NewPartsLatch(args[0])
			set = func(ctx context.Context, n int64) (bool, error) { return l.Init(ctx, n, ttl) }
		}
		isNew, err := set(c.Context(), n)
		if err == nil && !isNew {
			err = &exitError{exitFailed, fmt.Errorf("%q is set already, and keeps its count", args[0])}
		}
		return err
	})
	return c
}

// latchDown returns the command that counts down n times, at most to 0, and prints what is left.
func (p *program) latchDown() *cobra.Command {
	n, part := int64(1), ""
	c := &cobra.Command{Use: "down NAME [N]", Short: "Count down, and print what is left", Args: counted(&n, 1)}
	c.Flags().StringVar(&part, "part", "", "of a latch of init --parts, which needs it: the part's id; repeating it changes nothing")
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, args []string) (err error) {
		count, left := conn.NewCountDownLatch(args[0]).CountDown, int64(1)
		if c.Flags().Changed("part") {
			l := conn.NewPartsLatch(args[0])
			count = func(ctx context.Context) (int64, error) { return l.CountDown(ctx, part) }
		}
		for i := int64(0); i < n && left > 0; i++ {
			if left, err = count(c.Context()); err != nil {
				return fmt.Errorf("after %d of %d: %w", i, n, err)
			}
		}
		fmt.Fprintln(c.OutOrStdout(), left)
		return nil
	})
	return c
}

// waitable is a latch of either kind.
type waitable interface {
	Wait(ctx context.Context) error
	WaitUntilSet(ctx context.Context) error
}

// latchWaiter waits for a latch.
type latchWaiter struct {
	waitable
	name            string
	left            func(ctx context.Context) (int64, error)
	parts, untilSet bool
}

func (p *program) latchWait() *cobra.Command {
	r, w := &runner{program: p}, latchWaiter{}
	c := &cobra.Command{Use: "wait NAME", Short: "Wait until the count is 0, as it is before init, too", Args: names(1, 1)}
	r.addWait(c, "n")
	c.Flags().BoolVar(&w.parts, "parts", false, "of a latch of init --parts: also wait for init")
	c.Flags().BoolVar(&w.untilSet, "until-set", false, "only wait for init; if the latch has opened before, for the init of the next round")
	c.MarkFlagsMutuallyExclusive("parts", "until-set")
	c.RunE = r.online(func(c *cobra.Command, conn *connect.Conn, args []string) error {
		l := conn.NewCountDownLatch(args[0])
		w.name, w.waitable, w.left = args[0], l, l.Count
		if w.parts {
			l := conn.NewPartsLatch(args[0])
			w.waitable, w.left = l, l.Left
		}
		return r.acquired(c.Context(), w.try, w.wait)
	})
	return c
}

// try returns nil if there is nothing to wait for, and else an error that wraps [primitives.ErrNotAcquired], without its
// text, which is of locks.
func (w *latchWaiter) try(ctx context.Context) error {
	n, err := w.left(ctx)
	switch {
	case errors.Is(err, primitives.ErrNoLatch):
		err = fmt.Errorf("%w%.0w", err, primitives.ErrNotAcquired)
	case err != nil:
	case w.untilSet && n == 0:
		err = fmt.Errorf("the latch %q is not set%.0w", w.name, primitives.ErrNotAcquired)
	case !w.untilSet && n > 0:
		err = fmt.Errorf("the latch %q is not open: the count is %d%.0w", w.name, n, primitives.ErrNotAcquired)
	}
	return err
}

func (w *latchWaiter) wait(ctx context.Context) error {
	if w.untilSet {
		return w.WaitUntilSet(ctx)
	}
	err := w.Wait(ctx)
	for errors.Is(err, primitives.ErrNoLatch) {
		if err = w.WaitUntilSet(ctx); err == nil {
			err = w.Wait(ctx)
		}
	}
	return err
}
