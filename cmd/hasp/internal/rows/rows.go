// Package rows writes objects for people: hasp inspect prints the rows, hasp watch joins them, and the page of hasp serve
// shows them. Texts that others have stored are quoted if they have control characters.
package rows

import (
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives/inspect"
)

// Row is one thing that is known of an object.
type Row struct {
	Name  string // of what it is, such as holder
	Owner string // that it is about; "": none
	Text  string
	Ages  string // what changes with time alone: the rest of a lease, or how long a waiter has been silent

	Holder *inspect.Holder // nil: it is not about one
}

// String returns the row without its name.
func (r Row) String() string { return r.Owner + r.Text + r.Ages }

// Of returns the rows of an object: its holders first.
func Of(o inspect.Object) (all []Row) {
	add := func(name, format string, args ...any) {
		all = append(all, Row{Name: name, Text: fmt.Sprintf(format, args...)})
	}
	if o.Held != nil && *o.Held == 0 {
		add("holder", "none")
	}
	for _, h := range o.Holders {
		if all = append(all, holder(h)); h.Metadata != "" {
			add("metadata", "%s", Plain(h.Metadata))
		}
	}
	if more := int64(len(o.Holders)); o.Held != nil && *o.Held > more {
		add("holder", "and %d others", *o.Held-more)
	}
	if o.Queue != nil {
		add("waiting", "%d", o.Queue.Length)
		for _, w := range o.Queue.First {
			all = append(all, Row{Name: "waiter", Owner: Plain(w.Owner), Ages: since(", silent for ", w.Silent)})
		}
	}
	if o.Token != nil {
		add("token", "%d", *o.Token)
	}
	if o.Rate != nil {
		add("rate", "%d in %s%s", o.Rate.Permits, o.Rate.Interval, map[bool]string{true: ", of each client"}[o.Rate.PerClient])
	}
	switch {
	case o.Free != nil && o.Total != nil:
		add("permits", "%d of %d free", *o.Free, *o.Total)
	case o.Free != nil:
		add("free", "%d", *o.Free)
	}
	if o.Value != "" {
		add("value", "%s", Plain(o.Value))
	}
	if o.OwedUntil != nil {
		add("all free", "%s", o.OwedUntil.UTC().Format(time.RFC3339Nano))
	}
	if o.KeptUntil != nil {
		add("kept until", "%s", o.KeptUntil.UTC().Format(time.RFC3339Nano))
	}
	if o.LastRun != nil {
		add("last run", "%s", o.LastRun.UTC().Format(time.RFC3339))
	}
	return all
}

func holder(h inspect.Holder) Row {
	r := Row{Name: "holder", Owner: Plain(h.Owner), Ages: since(", lease ", h.Remaining), Holder: &h}
	if h.Revoked {
		r.Owner, r.Text = "", "revoked"
	}
	if h.Mode != "" {
		r.Text += ", " + h.Mode
	}
	if h.Host != "" {
		r.Text += fmt.Sprintf(", on %s, process %d", Plain(h.Host), h.PID)
	}
	if h.Since != nil {
		r.Text += ", since " + h.Since.UTC().Format(time.RFC3339)
	}
	return r
}

// since returns a text with a duration, if it is known.
func since(text string, d *time.Duration) string {
	if d == nil {
		return ""
	}
	return text + d.Round(time.Millisecond).String()
}

// Kind returns the most probable kind of an object, and the other ones that it may have.
func Kind(o inspect.Object) string {
	text, before, end := string(o.Kind), " (or ", ""
	for _, other := range o.Possible {
		if other != o.Kind {
			text, before, end = text+before+string(other), ", ", ")"
		}
	}
	return text + end
}

// Plain returns a text that cannot control a terminal.
func Plain(text string) string {
	if quoted := fmt.Sprintf("%q", text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
