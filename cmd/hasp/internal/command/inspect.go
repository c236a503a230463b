package command

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

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
