package command

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/check"
	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/cmd/hasp/internal/rows"
	"github.com/hasp-go/hasp/primitives/inspect"
)

func (p *program) inspect() *cobra.Command {
	c := &cobra.Command{Use: "inspect NAME...", Short: "Print holders, waiters and permits of objects", Args: names(1, math.MaxInt)}
	output := addOutput(c)
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, names []string) error {
		found := 0
		for _, name := range names {
			all, err := inspect.Describe(c.Context(), conn.Client, name)
			for _, o := range all {
				if err == nil {
					err = printObject(c.OutOrStdout(), *output, o)
				}
			}
			if err != nil {
				return err
			}
			found += len(all)
		}
		if found == 0 {
			return &exitError{exitFailed, fmt.Errorf("the server has nothing under %s", strings.Join(names, ", "))}
		}
		return nil
	})
	return c
}

func addOutput(c *cobra.Command) *string {
	return choose(c, "output", "text, or json: one object a line", "text", "json")
}

// printAs prints a value as a line of JSON, or its text.
func printAs(w io.Writer, output string, v any, text string) error {
	if output == "json" {
		lines := json.NewEncoder(w)
		lines.SetEscapeHTML(false)
		return lines.Encode(v)
	}
	_, err := io.WriteString(w, text)
	return err
}

// printObject prints an object, as text in a line for each row.
func printObject(w io.Writer, output string, o inspect.Object) error {
	text := rows.Plain(o.Name) + ": " + rows.Kind(o) + "\n"
	for _, r := range rows.Of(o) {
		text += fmt.Sprintf("  %-9s %s\n", r.Name, r)
	}
	return printAs(w, output, o, text)
}

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
