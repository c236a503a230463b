package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/conformance/harness"
)

// situation is something that a soak must get into on a harness that has what it needs.
type situation struct {
	name  string
	needs []harness.Need
}

// soakSituations are those that need no primitive in particular; [Primitive.Reaches] has the others.
func soakSituations() []situation {
	return []situation{
		{name: "broken connection"},
		{name: "call given up"},
		{name: "contention"},
		{name: "gap", needs: []harness.Need{harness.PubSub}},
		{name: "lost reply"},
		{name: "message", needs: []harness.Need{harness.PubSub}},
		{name: "no connection"},
		{name: "retry without a message"},
		{name: "subscription", needs: []harness.Need{harness.PubSub}},
		{name: "server's ASK", needs: []harness.Need{harness.Migrate}},
		{name: "server's MOVED", needs: []harness.Need{harness.Migrate}},
		{name: "server's NOSCRIPT", needs: []harness.Need{harness.ClientList}},
		{name: "server's OOM", needs: []harness.Need{harness.ClientList}},
	}
}

// mild reports whether f is for those without leases, too.
func (f fault) mild() bool { return !f.forgets && !f.steps }

// reachable returns the names of the situations that a soak of works can get into on h.
func reachable(h *harness.Harness, works []*workload) (names []string) {
	leased := leased(works)
	for _, w := range leased {
		names = append(names, w.reaches...)
	}
	for _, s := range soakSituations() {
		if harness.Lacks(h, s.needs) == "" {
			names = append(names, s.name)
		}
	}
	for _, f := range faults() {
		if harness.Lacks(h, f.needs) == "" && (len(leased) > 0 || f.mild()) {
			names = append(names, "fault "+f.name, "grant after "+f.name)
		}
	}
	return names
}

// table lists the counts by name, in lines.
func (s *Situations) table() string {
	counts := s.copy()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&text, "%10d %s\n", counts[name], name)
	}
	return text.String()
}

// tally counts the error replies that servers gave, among them those that drivers keep for
// themselves.
type tally struct {
	h       *harness.Harness
	reached *Situations
	seen    map[string]int64
}

// read adds the errors since the last time. What a server does not answer is not counted: one that
// is down, or has no such statistics.
func (l *tally) read(ctx context.Context) {
	replies, err := l.h.Primaries(ctx, "INFO", "everything")
	if err != nil {
		return
	}
	now := map[string]int64{}
	for _, reply := range replies {
		text, _ := reply.Text()
		maps.Copy(now, errorCounts(text))
	}
	for name, n := range now {
		_, code, _ := strings.Cut(name, " ")
		if l.seen != nil && code != "ERR" { // That is what drivers ask of old servers.
			l.reached.addN("server's "+code, int(n-l.seen[name]))
		}
	}
	if l.seen == nil {
		l.seen = now
	}
	maps.Copy(l.seen, now)
}

// errorCounts returns how often a server's process gave which error, by the process and the code.
func errorCounts(info string) map[string]int64 {
	process, counts := "", map[string]int64{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "run_id" {
			process = value
		}
		code, isError := strings.CutPrefix(name, "errorstat_")
		count, isCount := strings.CutPrefix(value, "count=")
		if n, err := strconv.ParseInt(count, 10, 64); isError && isCount && err == nil {
			counts[process+" "+code] = n
		}
	}
	return counts
}
