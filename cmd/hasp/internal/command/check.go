package command

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/check"
	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
)

func (p *program) check() *cobra.Command {
	kinds := check.Kinds()
	c := &cobra.Command{Use: "check [NAME]", Short: "Find what of the server breaks a promise"}
	output := choose(c, "output", "text or json", "text", "json")
	c.Flags().StringSliceVar(&kinds, "kind", kinds, "kinds of objects that the user needs rights for")
	offer(c, "kind", check.Kinds()...)
	c.Args = func(c *cobra.Command, args []string) error {
		for _, kind := range kinds {
			if !slices.Contains(check.Kinds(), kind) {
				return usage("--kind %s is none of %s", kind, strings.Join(check.Kinds(), ", "))
			}
		}
		return names(0, 1)(c, args)
	}
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, args []string) error {
		facts := check.Gather(c.Context(), conn, p.prefix, strings.Join(args, ""), kinds)
		return printFindings(c, check.Judge(facts), *output)
	})
	return c
}

// printFindings prints a line for each finding. Its error has the exit code of a failed check.
func printFindings(c *cobra.Command, all []check.Finding, output string) error {
	table := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, f := range all {
		text := fmt.Sprintf("%s\t%s\t%s\t%s\t%s (%s)\n",
			f.State, f.What, f.Value, strings.Join(f.Nodes, " "), strings.Join(strings.Fields(f.Why), " "), f.Link)
		if err := printAs(table, output, f, text); err != nil {
			return err
		}
	}
	err := table.Flush()
	if err == nil && slices.ContainsFunc(all, func(f check.Finding) bool { return f.State == check.Fail }) {
		err = &exitError{code: exitFailed}
	}
	return err
}
