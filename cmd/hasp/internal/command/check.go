package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/check"
	"github.com/hasp-go/hasp/primitives"
)

func (p *program) check() *cobra.Command {
	output, kinds := "", check.Kinds()
	c := &cobra.Command{Use: "check [NAME]", Short: "Find what of the server breaks a promise", Args: cobra.MaximumNArgs(1)}
	c.Flags().StringVar(&output, "output", "text", "text or json")
	c.Flags().StringSliceVar(&kinds, "kind", kinds, "kinds of objects that the user needs rights for")
	offer(c, "output", "text", "json")
	offer(c, "kind", check.Kinds()...)
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, kind := range kinds {
			if !slices.Contains(check.Kinds(), kind) {
				return usage("--kind %s is none of %s", kind, strings.Join(check.Kinds(), ", "))
			}
		}
		name := strings.Join(args, "")
		switch {
		case output != "text" && output != "json":
			return usage("--output %s is neither text nor json", output)
		case len(args) > 0 && validName(name) != nil:
			return validName(name)
		}
		conn, err := p.open(primitives.Options{})
		if err != nil {
			return err
		}
		defer leave(conn)
		return printFindings(c, check.Judge(check.Gather(c.Context(), conn, p.prefix, name, kinds)), output)
	}
	return c
}

// printFindings prints a line for each finding. Its error has the exit code of a failed check.
func printFindings(c *cobra.Command, all []check.Finding, output string) (err error) {
	lines, table := json.NewEncoder(c.OutOrStdout()), tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	lines.SetEscapeHTML(false)
	for _, f := range all {
		if output == "json" {
			err = lines.Encode(f)
		} else {
			_, err = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s (%s)\n",
				f.State, f.What, f.Value, strings.Join(f.Nodes, " "), strings.Join(strings.Fields(f.Why), " "), f.Link)
		}
		if err != nil {
			return err
		}
	}
	if slices.ContainsFunc(all, func(f check.Finding) bool { return f.State == check.Fail }) {
		err = &exitError{code: exitFailed}
	}
	if failed := table.Flush(); failed != nil {
		return failed
	}
	return err
}
