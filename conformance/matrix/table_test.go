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
	"github.com/hasp-go/hasp/conformance/matrix/cells"
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
	return &table{began: time.Now(), text: map[string]map[string]string{}, reasons: map[string]int{}}
}

// missing notes that the cell's server is not there.
func (m *table) missing(c cells.Cell, reason string) { m.set(c, "none", reason) }

// add notes what the cell reports.
func (m *table) add(c cells.Cell, r conformance.Report) {
	m.set(c, fmt.Sprintf("%d/%d/%d", len(r.Passed), len(r.Failed), len(r.Skipped)), r.Reasons()...)
}

func (m *table) set(c cells.Cell, text string, reasons ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, version, _ := servers.Find(c.Kind)
	row := c.Kind.String() + " " + version + "\t" + c.Topology.Name
	if m.text[row] == nil {
		m.text[row] = map[string]string{}
	}
	m.text[row][c.Adapter.Name] = text
	for _, reason := range reasons {
		m.reasons[reason]++
	}
}

// String returns a row for each server and topology, and a column for each adapter.
func (m *table) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	row := func(head string, text func(adapter string) string) {
		_, _ = fmt.Fprint(w, head)
		for _, a := range cells.Adapters() {
			_, _ = fmt.Fprint(w, "\t", text(a.Name))
		}
		_, _ = fmt.Fprintln(w)
	}
	row("server\ttopology", func(adapter string) string { return adapter })
	for _, head := range slices.Sorted(maps.Keys(m.text)) {
		row(head, func(adapter string) string {
			if text := m.text[head][adapter]; text != "" {
				return text
			}
			return "-"
		})
	}
	_ = w.Flush()
	out.WriteString("passed/failed/skipped cases; none: no such server here; -: not in this part " +
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
	cell := func(adapter int) cells.Cell {
		return cells.Cell{
			Adapter: cells.Adapters()[adapter], Kind: servers.Redict, Topology: cells.Topologies()[0],
		}
	}
	m.add(cell(0), conformance.Report{
		Passed: []string{"A", "B"}, Failed: []string{"C"}, Skipped: map[string]string{"D": "why"},
	})
	m.missing(cell(2), "no redict")
	text := m.String()
	require.Regexp(t, `Redict [0-9.]* +Standalone +2/1/1 +- +none`, text)
	require.Contains(t, text, "skipped in 1 cells: why\n")
	require.Contains(t, text, "skipped in 1 cells: no redict\n")
}
