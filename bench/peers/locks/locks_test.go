// Package locks has package anylock judge hasp's locks and others: each is a subject of a few lines. "make locks" writes
// their table.
package locks

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/anylock"
	"github.com/hasp-go/hasp/conformance/servers"
)

const (
	table = "testdata/locks.md"
	page  = "../../../docs/comparison.md"
)

// row is a lock of the table. Locks with one title differ by how they are used: hasp's by their drivers.
type row struct {
	title, how string
	module     string // that has its version
	subject    anylock.Subject
	missing    string // why it cannot be judged here
	report     *anylock.Report
}

// judged reports whether there is a report, in which nothing is untried because the machine was too busy.
func (r *row) judged() bool {
	return r.report != nil && !slices.ContainsFunc(r.report.Results, func(one anylock.Result) bool {
		return one.Outcome == anylock.NotTried && !slices.Contains(untried, one.Why)
	})
}

// untried is why something cannot be tried on any machine: of etcd and PostgreSQL.
var untried = []string{"no server that speaks RESP", "the lease does not end"}

// name is the subtest's.
func (r *row) name() string {
	return regexp.MustCompile(`\W+`).ReplaceAllString(r.title+" "+r.how, "_")
}

func rows() []*row { return slices.Concat(ours(), redisRows(), etcdRows(), []*row{postgresRow()}) }

// TestLocks judges all locks, some at once, and writes the table.
func TestLocks(t *testing.T) {
	if os.Getenv("HASP_LOCKS") == "" {
		t.Skip("make locks judges all locks")
	}
	all := rows()
	t.Run("of", func(t *testing.T) {
		for _, r := range all {
			t.Run(r.name(), func(t *testing.T) {
				t.Parallel()
				for n := 0; n < 3 && r.missing == "" && !r.judged(); n++ {
					t.Run(fmt.Sprint(n), func(t *testing.T) { r.report = anylock.Judge(t, r.subject) })
				}
				require.True(t, r.missing != "" || r.judged(), "run it again, on a machine that is less busy")
			})
		}
	})
	if t.Failed() || slices.ContainsFunc(all, func(r *row) bool { return r.missing == "" && !r.judged() }) {
		return // -run has chosen some.
	}
	for _, r := range all {
		r.title += version(t, r.module)
	}
	text := head() + body(all, brokenIn(read(t, table))) + tail(all)
	whole := strings.Replace(read(t, page), read(t, table), text, 1)
	require.Contains(t, whole, text)
	write(t, page, whole)
	write(t, table, text)
	t.Log("\n" + text)
}

func head() (text string) {
	text = "|lock"
	for _, p := range anylock.Properties() {
		text += "|" + p.Name
	}
	return text + "|\n|---" + strings.Repeat("|:-:", len(anylock.Properties())) + "|\n"
}

// body returns the rows. Locks of one title and the same outcomes, on all drivers, share one.
func body(all []*row, before map[string]bool) (text string) {
	for i := 0; i < len(all); {
		same, cells := 1, all[i].cells(before)
		for i+same < len(all) && all[i+same].title == all[i].title && all[i+same].cells(before) == cells {
			same++
		}
		for range same {
			if same < len(drivers) {
				text += "|" + all[i].label() + cells + "|\n"
			}
			i++
		}
		if same == len(drivers) {
			text += "|" + all[i-1].title + cells + "|\n"
		}
	}
	return text
}

// label is the row's first cell.
func (r *row) label() string { return strings.TrimSuffix(r.title+", "+r.how, ", ") }

var signs = map[anylock.Outcome]string{
	anylock.Holds: "✓", anylock.Broken: "**✗**", anylock.NotOffered: "", anylock.NotTried: "?",
}

// cells returns the outcomes. What an earlier run showed to be broken in the same version is so, even if chance has not
// shown it again. hasp's own rows have no version.
func (r *row) cells(before map[string]bool) (text string) {
	for _, p := range anylock.Properties() {
		outcome := anylock.NotTried
		if r.report != nil {
			outcome = r.report.Of(p.Name).Outcome
		}
		if outcome == anylock.Holds && r.module != "" && before[r.label()+"|"+p.Name] {
			outcome = anylock.Broken
		}
		text += "|" + signs[outcome]
	}
	return text
}

// brokenIn returns what is broken in a table: labels and properties.
func brokenIn(table string) map[string]bool {
	all, heads := map[string]bool{}, []string(nil)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if heads == nil {
			heads = cells
		}
		for i, cell := range cells {
			if cell == signs[anylock.Broken] {
				all[cells[1]+"|"+heads[i]] = true
			}
		}
	}
	return all
}

// tail says when the table was made, on which servers, and why something was not tried.
func tail(all []*row) string {
	var reasons []string
	for _, r := range all {
		if r.missing != "" {
			reasons = append(reasons, r.title+": "+r.missing)
		} else {
			for _, result := range r.report.Results {
				if result.Outcome == anylock.NotTried {
					reasons = append(reasons, result.Why)
				}
			}
		}
	}
	slices.Sort(reasons)
	_, redis, _ := servers.Find(servers.Redis)
	return fmt.Sprintf("\n%s: Redis %s, etcd %s, PostgreSQL %s. ✓ holds, ✗ broken, empty: not offered; ? not tried: %s.\n",
		time.Now().UTC().Format("January 2006"), redis, installed("etcd-server"), installed("postgresql-[0-9]*"),
		strings.Join(slices.Compact(reasons), "; "))
}

// version returns a module's, as a row has it.
func version(t *testing.T, module string) string {
	t.Helper()
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			return " " + strings.TrimPrefix(m.Version, "v")
		}
	}
	require.Empty(t, module)
	return ""
}

// installed returns the version of a package of Debian's, without its revision.
func installed(name string) string {
	out, err := exec.Command("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version}\n", name).Output()
	found := regexp.MustCompile(`(?m)^ii +([0-9.]+)`).FindSubmatch(out)
	if err != nil || found == nil {
		return "none"
	}
	return string(found[1])
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}
