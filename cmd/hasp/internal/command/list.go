package command

import (
	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/primitives/inspect"
)

func (p *program) list() *cobra.Command {
	opts := inspect.ListOptions{}
	c := &cobra.Command{Use: "list [PATTERN]", Short: "Print the objects whose names match a pattern, such as 'job-*'"}
	output := addOutput(c)
	addPlain(c, &opts.Plain)
	c.Args = func(_ *cobra.Command, patterns []string) error {
		if len(patterns) > 1 {
			return usage("more than one pattern: quote it, as in hasp list 'job-*'")
		}
		return nil
	}
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, patterns []string) error {
		for o, err := range inspect.List(c.Context(), conn.Client, append(patterns, "")[0], &opts) {
			if err == nil {
				err = printObject(c.OutOrStdout(), *output, o)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return c
}

// addPlain adds the flag for what looks like the data of other programs.
func addPlain(c *cobra.Command, plain *bool) {
	c.Flags().BoolVar(plain, "plain", false, "also texts that may be of other programs: numbers, plain locks, latches without --parts, semaphores")
}
