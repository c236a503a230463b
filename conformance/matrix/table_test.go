package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
)

// table collects what the cells of the matrix report.
type table struct {
	began time.Time

	mu      sync.Mutex
	text    map[string]map[string]string // by server and topology, then by adapter
	reasons map[string]int               // why something was skipped: in how many cells
}

// results is the table of this run.
var results = newTable()

func newTable() *table {
	return &table{
		began: time.Now(), text: map[string]map[string]string{}, reasons: map[string]int{},
	}
}

// missing notes that the cell's server is not there.
func (m *table) missing(c cell, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(c, "none")
	m.reasons[reason]++
}

// add notes what the cell reports.
func (m *table) add(c cell, r conformance.Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(c, fmt.Sprintf("%d/%d/%d", len(r.Passed), len(r.Failed), len(r.Skipped)))
	for _, reason := range r.Reasons() {
		m.reasons[reason]++
	}
}

func (m *table) set(c cell, text string) {
	_, version, _ := servers.Find(c.kind)
	row := c.kind.String() + " " + version + "\t" + c.topology.name
	if m.text[row] == nil {
		m.text[row] = map[string]string{}
	}
	m.text[row][c.adapter.name] = text
}

// String returns a row for each server and topology, and a column for each adapter.
func (m *table) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "server\ttopology")
	for _, a := range adapters() {
		_, _ = fmt.Fprint(w, "\t", a.name)
	}
	for _, row := range slices.Sorted(maps.Keys(m.text)) {
		_, _ = fmt.Fprint(w, "\n", row)
		for _, a := range adapters() {
			text := m.text[row][a.name]
			if text == "" {
				text = "-"
			}
			_, _ = fmt.Fprint(w, "\t", text)
		}
	}
	_ = w.Flush()
	out.WriteString("\npassed/failed/skipped cases; none: no such server here; -: not in this part " +
		"of the matrix\n")
	for _, reason := range slices.Sorted(maps.Keys(m.reasons)) {
		_, _ = fmt.Fprintf(&out, "skipped in %d cells: %s\n", m.reasons[reason], reason)
	}
	_, _ = fmt.Fprintf(&out, "it took %v\n", time.Since(m.began).Round(time.Second))
	return out.String()
}

func TestTable(t *testing.T) {
	t.Parallel()
	m := newTable()
	one := cell{adapters()[0], servers.Redict, topologies()[0]}
	other := cell{adapters()[2], servers.Redict, topologies()[0]}
	m.add(one, conformance.Report{
		Passed: []string{"A", "B"}, Failed: []string{"C"}, Skipped: map[string]string{"D": "why"},
	})
	m.missing(other, "no redict")
	text := m.String()
	require.Regexp(t, `Redict [0-9.]* +Standalone +2/1/1 +- +none`, text)
	require.Contains(t, text, "skipped in 1 cells: why\n")
	require.Contains(t, text, "skipped in 1 cells: no redict\n")
}
