package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

func (p *program) watch() *cobra.Command {
	c := &cobra.Command{Use: "watch NAME...", Short: "Print what happens to objects, until a signal"}
	output := observes(c)
	c.RunE = p.online(func(c *cobra.Command, conn *connect.Conn, names []string) error {
		w := &watcher{client: conn.Client, output: *output, out: c.OutOrStdout(), errors: c.ErrOrStderr()}
		ended := make(chan error, len(names))
		for _, name := range names {
			go func() { ended <- w.watch(c.Context(), name) }()
		}
		return <-ended
	})
	return c
}

// watcher prints events, a line each.
type watcher struct {
	client      *primitives.Client
	output      string
	out, errors io.Writer

	mu sync.Mutex // has one event printed at a time
}

// watch prints what happens under a name, until an error stays. It has printed that error, too.
func (w *watcher) watch(ctx context.Context, name string) error {
	var last error
	for event, err := range inspect.Watch(ctx, w.client, name) {
		last = err
		if err := w.print(event, err); err != nil {
			return err
		}
	}
	return &exitError{code: codeOf(last)}
}

// print prints an event, and the error that comes with it.
func (w *watcher) print(e inspect.Event, failed error) error {
	line := eventText(e)
	if w.output == "json" {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		line = string(text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if failed != nil {
		fmt.Fprintln(w.errors, "hasp: "+oneLine(failed))
	}
	_, err := fmt.Fprintln(w.out, line)
	return err
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
			e.Object.Queue = nil // How many wait changes often, and says little to one of them.
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
	at, about := "-", plain(e.Owner)
	if !e.At.IsZero() {
		at = e.At.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	if e.Kind == inspect.Seen || e.Kind == inspect.Changed {
		about = summary(e.Object)
	}
	return strings.TrimRight(strings.Join([]string{at, plain(e.Object.Name), string(e.Kind), about}, "\t"), "\t")
}

// summary returns an object in one line.
func summary(o inspect.Object) string {
	parts := []string{string(o.Kind)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	for _, h := range o.Holders {
		since := ""
		if h.Since != nil {
			since = " since " + h.Since.UTC().Format(time.RFC3339)
		}
		add("holder %s%s", plain(h.Owner), since)
	}
	if o.Held != nil && *o.Held != int64(len(o.Holders)) {
		add("%d holders", *o.Held)
	}
	if o.Queue != nil && o.Queue.Length > 0 {
		add("%d waiting", o.Queue.Length)
	}
	amounts(o, func(name, format string, args ...any) { add(name+" "+format, args...) })
	return strings.Join(parts, ", ")
}
