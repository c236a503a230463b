package command

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/cmd/hasp/internal/rows"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

func (p *program) watch() *cobra.Command {
	c := &cobra.Command{Use: "watch NAME...", Short: "Print what happens to objects, until a signal", Args: names(1, math.MaxInt)}
	output := addOutput(c)
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, names []string) error {
		var printing sync.Mutex
		ended := make(chan error, len(names))
		for _, name := range names {
			go func() { ended <- watch(c, conn.Client, name, *output, &printing) }()
		}
		return <-ended
	})
	return c
}

// watch prints what happens under a name, until an error stays. It has printed that error, too.
func watch(c *cobra.Command, client *primitives.Client, name, output string, printing *sync.Mutex) error {
	var last error
	for event, err := range inspect.Watch(c.Context(), client, name) {
		last = err
		printing.Lock()
		if err != nil {
			fmt.Fprintln(c.ErrOrStderr(), "hasp: "+oneLine(err))
		}
		err = printAs(c.OutOrStdout(), output, event, eventText(event))
		printing.Unlock()
		if err != nil {
			return err
		}
	}
	return &exitError{code: codeOf(last)}
}

// say prints at -v for whom a command waits, and again when that has changed, until stop is called. It reads as hasp watch
// does, once a second, and begins after a second: most commands do not wait for that long.
func (r *runner) say(ctx context.Context, client *primitives.Client, name string) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	if r.verbose && r.wait != 0 {
		go sayHolders(ctx, client, name)
	}
	return stop
}

func sayHolders(ctx context.Context, client *primitives.Client, name string) {
	if last := ""; pause(ctx, time.Second) {
		for e, err := range inspect.Watch(ctx, client, name) {
			e.Object.Queue, e.Object.Token, e.Object.Held = nil, nil, nil // They say little to one of the waiters.
			line := cmp.Or(oneLine(err), summary(e.Object))
			if line != last && line != string(e.Object.Kind) {
				fmt.Fprintf(os.Stderr, "hasp: waiting for %q: %s\n", name, line)
				last = line
			}
		}
	}
}

// eventText returns an event as fields with tabs between them: the time, the name, the kind of event, and what it is about.
func eventText(e inspect.Event) string {
	at, about := "-", rows.Plain(e.Owner)
	if !e.At.IsZero() {
		at = e.At.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	if e.Kind == inspect.Seen || e.Kind == inspect.Changed {
		about = summary(e.Object)
	}
	return strings.TrimRight(strings.Join([]string{at, rows.Plain(e.Object.Name), string(e.Kind), about}, "\t"), "\t") + "\n"
}

// summary returns an object in one line, without what changes with time alone.
func summary(o inspect.Object) string {
	text := string(o.Kind)
	for _, r := range rows.Of(o) {
		text += ", " + r.Name + " " + r.Owner + r.Text
	}
	return text
}
