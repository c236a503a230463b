package check

import (
	"embed"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The tables are what "luagen commands" printed for each server.
//
//go:embed commands/*.txt
var tableFiles embed.FS

// table is what one server knows.
type table struct {
	server   string // redis, valkey
	version  string // as the server tells it
	commands map[string]*command
}

// command is one command, or one subcommand, of a server.
type command struct {
	name     string   // in small letters; a subcommand's is "xgroup|create"
	arity    int      // words, its own included; negative: at least so many
	writes   bool     // not allowed in a read-only script
	noscript bool     // not allowed in scripts
	kinds    []string // the kinds of keys that it is for; none: any
	specs    []spec
	subs     bool // there are subcommands
}

// spec says where some keys stand. The words of a call count from 0, which is the command.
type spec struct {
	index   int    // the first key, if keyword is ""
	keyword string // the first key stands behind this word
	from    int    // where the search for the keyword starts; negative: from the end, backwards

	keynum   bool // a word tells how many keys there are
	numAt    int  // where that word stands, from the start
	firstKey int  // where the first key stands then, from the start

	last  int // the last key, from the start; negative: from the end
	step  int
	limit int // with last -1: the keys are one limit-th of the words
}

// tables returns the tables of all servers.
var tables = sync.OnceValue(func() []*table {
	var all []*table
	for _, server := range []string{"redis", "valkey"} {
		text, err := tableFiles.ReadFile("commands/" + server + ".txt")
		if err != nil {
			panic(err) // embedded: the build would have failed
		}
		all = append(all, parseTable(string(text)))
	}
	return all
})

// parseTable reads a table. Its form is tested, so that nothing is checked here.
func parseTable(text string) *table {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	head := strings.Fields(lines[0])
	t := &table{server: head[1], version: head[2], commands: map[string]*command{}}
	for _, line := range lines[1:] {
		fields := strings.Fields(line)
		c := &command{name: fields[0]}
		c.arity, _ = strconv.Atoi(fields[1])
		for mark := range strings.SplitSeq(fields[2], ",") {
			switch mark {
			case "write", "replicated":
				c.writes = true
			case "noscript":
				c.noscript = true
			case "-", "module":
			default:
				c.kinds = append(c.kinds, mark)
			}
		}
		if fields[3] != "-" {
			for text := range strings.SplitSeq(fields[3], ";") {
				if s, ok := parseSpec(text); ok {
					c.specs = append(c.specs, s)
				}
			}
		}
		t.commands[c.name] = c
		if container, _, ok := strings.Cut(c.name, "|"); ok {
			t.commands[container].subs = true
		}
	}
	return t
}

// parseSpec reads one specification; it is false for keys that the server cannot tell.
func parseSpec(text string) (s spec, ok bool) {
	begin, find, _ := strings.Cut(text, ":")
	b, f := strings.Split(begin, ","), strings.Split(find, ",")
	if b[0] == "unknown" || f[0] == "unknown" {
		return s, false
	}
	number := func(text string) int {
		n, _ := strconv.Atoi(text)
		return n
	}
	if b[0] == "index" {
		s.index = number(b[1])
	} else {
		s.keyword, s.from = b[1], number(b[2])
	}
	s.step = number(f[2])
	if f[0] == "keynum" {
		s.keynum, s.numAt, s.firstKey, s.step = true, number(f[1]), number(f[2]), number(f[3])
	} else {
		s.last, s.limit = number(f[1]), number(f[3])
	}
	return s, true
}

// names returns what a name may be a misspelling of: the commands, or the subcommands if it is one.
func (t *table) names(like string) []string {
	container, _, sub := strings.Cut(like, "|")
	var all []string
	for name := range t.commands {
		other, _, otherSub := strings.Cut(name, "|")
		if sub == otherSub && (!sub || container == other) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// older reports whether version a is older than b.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		var m, n int
		if i < len(x) {
			m, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			n, _ = strconv.Atoi(y[i])
		}
		if m != n {
			return m < n
		}
	}
	return false
}
