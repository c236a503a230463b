package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/primitives"
)

func (p *program) once() *cobra.Command {
	every, wait := time.Duration(0), false
	c := &cobra.Command{Use: "once", Short: "Run a command on one of several hosts in each period"}
	r := p.addRunner(c)
	c.Flags().DurationVar(&every, "every", 0, "the length of a period")
	c.Flags().BoolVar(&wait, "wait", false, "wait while another host runs the command, and run it if that fails")
	_ = c.MarkFlagRequired("every")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return r.connected(c, func(ctx context.Context, client *primitives.Client, signals <-chan os.Signal) error {
			job := client.NewPeriodicJob(r.name, every, nil)
			do := job.TryDo
			if wait {
				do = job.Do
			}
			var err error
			_, failed := do(ctx, nominal(time.Now(), every), func(_ context.Context, run primitives.JobRun) error {
				err = r.under(run.Lease, signals)
				return err
			})
			switch {
			case err != nil:
				return err
			case errors.Is(failed, primitives.ErrNotAcquired) && ctx.Err() == nil:
				return nil
			}
			return failed
		})
	}
	return c
}

// nominal returns the time for which a caller was started by a schedule: most begin at whole minutes. So clocks that
// differ by less than half a minute do not matter.
func nominal(now time.Time, every time.Duration) time.Time { return now.Round(min(every, time.Minute)) }

func (p *program) elect() *cobra.Command {
	observe, value := false, ""
	c := &cobra.Command{Use: "elect", Short: "Run a command while this host leads, again after each loss"}
	r := p.addRunner(c)
	parse := c.Args
	c.Flags().BoolVar(&observe, "observe", false, "run nothing, and print leaders as they change")
	c.Flags().StringVar(&value, "value", "", "a text that others see, such as an address")
	c.Args = func(c *cobra.Command, args []string) error {
		if !observe {
			return parse(c, args)
		}
		if len(args) != 1 {
			return usage("--observe takes a name, and no command")
		}
		r.name = args[0]
		return validNames(r.name)
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return r.connected(c, func(ctx context.Context, client *primitives.Client, signals <-chan os.Signal) error {
			e := client.NewElection(r.name, &primitives.ElectionOptions{Value: value})
			if observe {
				return printLeaders(ctx, c, e)
			}
			return e.Run(ctx, func(_ context.Context, lease *primitives.Lease) error { return r.under(lease, signals) })
		})
	}
	return c
}

// printLeaders prints leaders as they change, a line each.
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
