package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/primitives"
)

func (p *program) once() *cobra.Command {
	every, offset := time.Duration(0), time.Duration(0)
	c := &cobra.Command{Use: "once", Short: "Run a command on one of several hosts in each period"}
	r := p.addRunner(c)
	r.code = exitNotAcquired
	spanVar(c, &every, "every", "", "the length of a period")
	spanVar(c, &offset, "offset", "", "when periods begin: with 24h and 3h at 03:00 UTC")
	r.addOptionalWait(c, "wait while another host runs the command, and run it if that fails")
	_ = c.MarkFlagRequired("every")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if offset >= every {
			return usage("--offset %s is not below --every %s", offset, every)
		}
		at := due(time.Now(), every, offset)
		return r.connected(c, func(ctx context.Context, client *primitives.Client, signals <-chan os.Signal) error {
			job := client.NewPeriodicJob(r.name, every, nil)
			var err error
			stop := r.say(ctx, client, r.name)
			defer stop()
			work := func(_ context.Context, run primitives.JobRun) error {
				stop()
				err = r.under(run.Lease, signals)
				return err
			}
			failed := r.acquired(ctx, func(ctx context.Context) error {
				_, err := job.TryDo(ctx, at, work)
				return err
			}, func(ctx context.Context) error {
				_, err := job.Do(ctx, at, work)
				return err
			})
			switch {
			case err != nil:
				return err
			case errors.Is(failed, primitives.ErrNotAcquired) && r.wait == 0 && ctx.Err() == nil:
				return nil
			}
			return failed
		})
	}
	return c
}

// due returns the time for which a caller was started by a schedule: the beginning of the period, which is counted from
// 1970. Most schedules begin at whole minutes, so clocks that differ by less than half a minute do not matter.
func due(now time.Time, every, offset time.Duration) time.Time {
	into := time.Duration(now.Round(min(every, time.Minute)).Add(-offset).UnixNano()) % every
	return now.Round(min(every, time.Minute)).Add(-into)
}

func (p *program) elect() *cobra.Command {
	observe, value := false, ""
	c := &cobra.Command{Use: "elect", Short: "Run a command while this host leads, again after each loss"}
	r := p.addRunner(c)
	r.wait, r.patient = forever, true
	parse := c.Args
	c.Flags().BoolVar(&observe, "observe", false, "run nothing, and print leaders as they change")
	c.Flags().StringVar(&value, "value", "", "a text that others see, such as an address")
	c.Args = func(c *cobra.Command, args []string) error {
		if !observe {
			return parse(c, args)
		}
		r.name = strings.Join(args, "")
		return names(1, 1)(c, args)
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return r.connected(c, func(ctx context.Context, client *primitives.Client, signals <-chan os.Signal) error {
			e := client.NewElection(r.name, &primitives.ElectionOptions{Value: value})
			if observe {
				return printLeaders(ctx, c, e)
			}
			stop, ended := r.say(ctx, client, r.name), false
			err := e.Run(ctx, func(_ context.Context, lease *primitives.Lease) error {
				stop()
				defer func() { stop, ended = r.say(ctx, client, r.name), ctx.Err() != nil }()
				return r.under(lease, signals)
			})
			if err == nil && !ended { // A signal came while it waited, or the command has ended by itself.
				err = ctx.Err()
			}
			return err
		})
	}
	return c
}

func printLeaders(ctx context.Context, c *cobra.Command, e *primitives.Election) error {
	for leader, err := range e.Observe(ctx) {
		switch {
		case errors.Is(err, primitives.ErrNoLeader):
			fmt.Fprintln(c.OutOrStdout(), "-")
		case errors.Is(err, primitives.ErrUnavailable):
			fmt.Fprintln(c.ErrOrStderr(), "hasp: "+oneLine(err))
		case err != nil:
			return err
		default:
			fmt.Fprintf(c.OutOrStdout(), "%s\t%s\t%s\n", leader.ID, leader.Since.Format(time.RFC3339), leader.Value)
		}
	}
	return nil
}

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
