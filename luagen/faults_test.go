package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/emit"
)

// A fault is an entry of testdata/faults/faults.txt: its script in bad has a fault that people have reported,
// that in mended has it no more. A script of a public project is never copied.
type fault struct {
	name, kind, line string
	steps            []string // "do COMMAND", "run KEYS / ARGUMENTS", "bad ..." and "good ..." of one script, "ttl KEY"
}

var faultHead = regexp.MustCompile(`^(\w+) (\w+) (\d+)$`)

// faultsOf reads the table.
func faultsOf(t *testing.T) []fault {
	t.Helper()
	var faults []fault
	for entry := range strings.SplitSeq(strings.TrimSpace(read(t, "testdata/faults/faults.txt")), "\n\n") {
		lines := strings.Split(entry, "\n")
		head := faultHead.FindStringSubmatch(lines[0]) // else it panics
		require.Regexp(t, `^  sees \S`, lines[1])
		require.Regexp(t, `^  report https://github\.com/\S+/(issues|pull)/\d+$`, lines[2])
		faults = append(faults, fault{head[1], head[2], head[3], lines[3:]})
	}
	return faults
}

// TestFaults holds what vet finds of the faults: a finding, or a note, in the fault's own line counts. What it finds in
// mended and in sound scripts is a false alarm; a note is none.
func TestFaults(t *testing.T) {
	t.Parallel()
	findings := map[string][]string{}
	_, _, errs := luagen("vet", "testdata/faults/bad")
	for line := range strings.Lines(errs) {
		file, finding, _ := strings.Cut(line, ".lua:")
		if strings.HasPrefix(file, "luagen: ") {
			finding = strings.TrimSuffix(finding, "\n") + " [note]\n"
		}
		findings[filepath.Base(file)] = append(findings[filepath.Base(file)], finding)
	}
	kinds := map[string][2]int{}
	var list strings.Builder
	for _, f := range faultsOf(t) {
		all := findings[f.name]
		found := slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, f.line+":") })
		yes := map[bool]int{true: 1}[found]
		kinds[f.kind] = [2]int{kinds[f.kind][0] + yes, kinds[f.kind][1] + 1}
		fmt.Fprintf(&list, "\n%s %s %s, line %s\n%s", []string{"missed", "found"}[yes], f.kind, f.name, f.line, strings.Join(all, ""))
	}
	var sums strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&sums, "%s: %d of %d found\n", kind, kinds[kind][0], kinds[kind][1])
	}
	_, _, errs = luagen("vet", "testdata/faults/mended", "testdata/faults/sound")
	notes := strings.Count("\n"+errs, "\nluagen: ")
	fmt.Fprintf(&sums, "\n%d false alarms and %d notes in scripts without a fault\n%s", strings.Count(errs, "\n")-notes, notes,
		strings.ReplaceAll(errs, "testdata/faults/", ""))
	expect(t, "testdata/faults/findings.txt", []byte(sums.String()+list.String()))
}

// TestFaultsDiffer: on a server each fault shows: what its script replies and leaves is not what the mended one does.
func TestFaultsDiffer(t *testing.T) {
	t.Parallel()
	plain := startServer(t, "redis-server")
	cluster := startServer(t, "redis-server", "--cluster-enabled", "yes", "--cluster-port", freePort(t),
		"--cluster-require-full-coverage", "no")
	require.NoError(t, errOf(cluster.do("CLUSTER", "ADDSLOTSRANGE", "0", "8191")))
	require.Eventually(t, func() bool { return errOf(cluster.do("GET", "{b}")) == nil }, 20*time.Second, 10*time.Millisecond)
	for _, f := range faultsOf(t) {
		c := plain
		if f.kind == "keys" {
			c = cluster
		}
		bad, mended := f.shows(t, c, "bad"), f.shows(t, c, "mended")
		require.NotEqual(t, bad, mended, f.name)
		require.NotRegexp(t, `(?m)^run <nil> (ERR|CROSSSLOT|MOVED)`, mended, f.name)
	}
	for _, path := range must(filepath.Glob("testdata/faults/sound/*.lua"))(t) {
		require.NoError(t, errOf(plain.do("SCRIPT", "LOAD", read(t, path))), path)
	}
}

// shows runs the steps of a fault on an empty server, and returns what a user sees of them.
func (f fault) shows(t *testing.T, c *client, which string) string {
	t.Helper()
	require.NoError(t, errOf(c.do("FLUSHALL")))
	text := read(t, "testdata/faults", which, f.name+".lua")
	if strings.HasPrefix(text, "---") {
		s, _ := examine(f.name+".lua", []byte(text))
		text = emit.Source(s)
	}
	var seen strings.Builder
	for _, step := range f.steps {
		words := wordsOf(step)
		switch word := words[0]; {
		case word == "do":
			words = words[1:]
		case word == "ttl": // Its digits alone, of which none depends on the speed of a test.
			ttl := must(c.do("PTTL", words[1]))(t)
			fmt.Fprintln(&seen, "ttl", ttl.(int64) > 0, len(fmt.Sprint(ttl.(int64)+1000)))
			continue
		case word == "bad" && which == "mended", word == "good" && which == "bad":
			continue
		default:
			bar := slices.Index(words, "/")
			require.Positive(t, bar, step)
			words = slices.Concat([]string{"EVAL", text, strconv.Itoa(bar - 1)}, words[1:bar], words[bar+1:])
		}
		reply, err := c.do(words...)
		fmt.Fprintln(&seen, "run", reply, err)
	}
	return seen.String()
}

var stepWord = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// wordsOf splits a step into words, which quotes hold together; 1..9000 is the numbers from 1 to 9000.
func wordsOf(step string) []string {
	var words []string
	for _, word := range stepWord.FindAllString(step, -1) {
		if word == "1..9000" {
			for i := range 9000 {
				words = append(words, strconv.Itoa(i+1))
			}
			continue
		}
		words = append(words, strings.Trim(word, `'"`))
	}
	return words
}
