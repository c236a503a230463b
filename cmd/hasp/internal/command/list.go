package command

import (
	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

func (p *program) list() *cobra.Command {
	output, opts := "", inspect.ListOptions{}
	c := &cobra.Command{Use: "list [PATTERN]", Short: "Print the objects whose names match a pattern, such as 'job-*'"}
	c.Flags().StringVar(&output, "output", "text", "text, or json: one object a line")
	offer(c, "output", "text", "json")
	c.Flags().BoolVar(&opts.Plain, "plain", false, "also keys that may be of other programs, such as numbers")
	c.Args = func(_ *cobra.Command, patterns []string) error {
		switch {
		case len(patterns) > 1:
			return usage("more than one pattern: quote it, as in hasp list 'job-*'")
		case output != "text" && output != "json":
			return usage("--output %s is neither text nor json", output)
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, patterns []string) error {
		conn, err := p.open(primitives.Options{})
		if err != nil {
			return err
		}
		defer leave(conn)
		for o, err := range inspect.List(c.Context(), conn.Client, append(patterns, "")[0], &opts) {
			if err != nil {
				return err
			}
			if err := printObjects(c.OutOrStdout(), output, []inspect.Object{o}); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
