package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/primitives/inspect"
)

func (p *program) inspect() *cobra.Command {
	c := &cobra.Command{Use: "inspect NAME...", Short: "Print holders, waiters and permits of objects"}
	output := observes(c)
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, names []string) error {
		found := 0
		for _, name := range names {
			all, err := inspect.Describe(c.Context(), conn.Client, name)
			if err != nil {
				return err
			}
			found += len(all)
			if err := printObjects(c.OutOrStdout(), *output, all); err != nil {
				return err
			}
		}
		if found == 0 {
			return &exitError{exitFailed, fmt.Errorf("the server has nothing under %s", strings.Join(names, ", "))}
		}
		return nil
	})
	return c
}

// addOutput adds the flag for the form of the output.
func addOutput(c *cobra.Command) *string {
	return choose(c, "output", "text, or json: one object a line", "text", "json")
}

// observes makes c take names, and returns the flag for the form of its output.
func observes(c *cobra.Command) (output *string) {
	c.Args = func(_ *cobra.Command, names []string) error {
		if len(names) == 0 {
			return usage("no name: write %s NAME", c.CommandPath())
		}
		return validNames(names...)
	}
	return addOutput(c)
}

// printObjects prints objects in a form.
func printObjects(w io.Writer, output string, all []inspect.Object) error {
	for _, o := range all {
		text := textOf(o)
		if output == "json" {
			line, err := json.Marshal(o)
			if err != nil {
				return err
			}
			text = string(line) + "\n"
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

// textOf returns an object as lines. What others have stored is quoted if it has control characters.
func textOf(o inspect.Object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", plain(o.Name), o.Kind)
	if len(o.Possible) > 1 {
		fmt.Fprintf(&b, " (or %s)", kinds(o.Possible, o.Kind))
	}
	b.WriteByte('\n')
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s "+format+"\n", append([]any{name}, args...)...)
	}
	if o.Held != nil && *o.Held == 0 {
		line("holder", "none")
	}
	for _, h := range o.Holders {
		line("holder", "%s", holderText(h))
	}
	if more := len(o.Holders); o.Held != nil && *o.Held > int64(more) {
		line("holder", "and %d others", *o.Held-int64(more))
	}
	if o.Queue != nil {
		line("waiting", "%d", o.Queue.Length)
		for _, waiter := range o.Queue.First {
			line("", "%s%s", plain(waiter.Owner), silence(waiter.Silent))
		}
	}
	if o.Token != nil {
		line("token", "%d", *o.Token)
	}
	amounts(o, line)
	return b.String()
}

// amounts prints numbers and times by line.
func amounts(o inspect.Object, line func(name, format string, args ...any)) {
	if o.Rate != nil {
		line("rate", "%d in %s%s", o.Rate.Permits, o.Rate.Interval, map[bool]string{true: ", of each client"}[o.Rate.PerClient])
	}
	if o.Free != nil {
		line("free", "%d", *o.Free)
	}
	if o.Total != nil {
		line("permits", "%d", *o.Total)
	}
	if o.Value != "" {
		line("value", "%s", plain(o.Value))
	}
	if o.OwedUntil != nil {
		line("all free", "%s", o.OwedUntil.Format(time.RFC3339Nano))
	}
	if o.LastRun != nil {
		line("last run", "%s", o.LastRun.Format(time.RFC3339))
	}
}

// kinds returns the kinds but for one.
func kinds(all []inspect.Kind, but inspect.Kind) string {
	var names []string
	for _, kind := range all {
		if kind != but {
			names = append(names, string(kind))
		}
	}
	return strings.Join(names, ", ")
}

// holderText returns a holder as a line.
func holderText(h inspect.Holder) string {
	text := plain(h.Owner)
	if h.Revoked {
		text = "revoked"
	}
	if h.Mode != "" {
		text += ", " + h.Mode
	}
	if h.Host != "" {
		text += fmt.Sprintf(", on %s, process %d", plain(h.Host), h.PID)
	}
	if h.Since != nil {
		text += ", since " + h.Since.Format(time.RFC3339)
	}
	if h.Remaining != nil {
		text += ", lease " + h.Remaining.Round(time.Millisecond).String()
	}
	if h.Metadata != "" {
		text += ": " + plain(h.Metadata)
	}
	return text
}

// silence returns how long a waiter has been silent.
func silence(silent *time.Duration) string {
	if silent == nil {
		return ""
	}
	return ", silent for " + silent.Round(time.Millisecond).String()
}

// plain returns a text that cannot control a terminal.
func plain(text string) string {
	if quoted := fmt.Sprintf("%q", text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
