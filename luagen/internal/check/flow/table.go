package flow

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/luagen/internal/check/commands"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Table is what one server knows.
type Table struct {
	Server   string   // redis, valkey, embedded
	Version  string   // as the server reports it
	Lacks    []string // libraries and their members that others have: struct, redis.sha1hex
	Commands map[string]*Command
}

// Command is one command, or one subcommand, of a server.
type Command struct {
	Name     string   // in small letters; a subcommand's is "xgroup|create"
	Arity    int      // words, its own included; -n: at least n
	Writes   bool     // not allowed in a read-only script
	Noscript bool     // not allowed in scripts
	Kinds    []string // the kinds of keys that it is for; none: any
	Specs    []spec
	Subs     bool   // there are subcommands
	Form     string // of its arguments, "" if that is not known
}

// spec says where some keys stand. The words of a call count from 0, which is the command.
type spec struct {
	Index   int    // the first key, if keyword is ""
	keyword string // the first key stands behind this word
	from    int    // where the search for the keyword starts; negative: from the end, backwards

	keynum   bool // a word is the number of keys
	numAt    int  // where that word stands, from the start
	firstKey int  // where the first key stands then, from the start

	last  int // the last key, from the start; negative: from the end
	step  int
	limit int // with last -1: the keys are one limit-th of the words
}

// Shown returns a command as messages have it.
func Shown(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "|", " ")) }

// embedded is the server that is a target only where it is named.
const embedded = "embedded"

// Tables are what servers know.
type Tables struct {
	all   []*Table // of each server the older versions first
	given []string // the servers of the user's own tables
}

// Builtin returns the committed tables: of Redis and Valkey, some versions of each, and of the embedded server.
var Builtin = sync.OnceValue(func() *Tables {
	tables := &Tables{}
	files, err := commands.Files.ReadDir(".")
	for _, file := range files {
		text, unread := commands.Files.ReadFile(file.Name())
		t, wrong := parseTable(string(text))
		err = errors.Join(err, unread, wrong)
		tables.all = append(tables.all, t)
	}
	if err != nil {
		panic(err) // They are embedded: the build, or a test, would have failed.
	}
	slices.SortFunc(tables.all, func(a, b *Table) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), slices.Compare(numbers(a.Version), numbers(b.Version)))
	})
	return tables
})

// With returns the tables with one more, as "luagen commands" prints it, in the place of those of the
// same server. Scripts without "---@since" are then meant for the servers of such tables only.
func (ts *Tables) With(text string) (*Tables, error) {
	t, err := parseTable(text)
	if err != nil {
		return nil, err
	}
	if slices.Contains(ts.given, t.Server) {
		return nil, fmt.Errorf("a second table of %s", t.Server)
	}
	if !slices.Contains(parse.Servers, t.Server) {
		return nil, fmt.Errorf("line 1: unknown server %s", t.Server)
	}
	others := slices.DeleteFunc(slices.Clone(ts.all), func(o *Table) bool { return o.Server == t.Server })
	return &Tables{all: append(others, t), given: append(slices.Clone(ts.given), t.Server)}, nil
}

// targets returns the tables of a script's servers: of each the oldest that is not older than it wants, or the newest.
func (ts *Tables) targets(h *parse.Header) []*Table {
	if len(h.Since) == 0 {
		return ts.Usual()
	}
	var all []*Table
	for _, target := range h.Since {
		all = append(all, ts.of(target))
	}
	return all
}

// usualRedis is the version of Redis that is meant where none is named.
const usualRedis = "7.0"

// Usual returns the tables of a script that names no server: the oldest of Redis, from 7.0 on, and of Valkey, or those given.
func (ts *Tables) Usual() []*Table {
	var all []*Table
	for _, t := range ts.all {
		meant := t.Server != embedded && (t.Server != "redis" || !older(t.Version, usualRedis))
		if len(ts.given) > 0 {
			meant = slices.Contains(ts.given, t.Server)
		}
		if meant && (len(all) == 0 || all[len(all)-1].Server != t.Server) {
			all = append(all, t)
		}
	}
	return all
}

// of returns the table by which a target is judged.
func (ts *Tables) of(target parse.Target) *Table {
	var found *Table
	for _, t := range ts.all {
		if t.Server == target.Server && (found == nil || found.before(target)) {
			found = t
		}
	}
	return found
}

// before reports whether a table is of an older version than a target's, but for the third number.
func (t *Table) before(target parse.Target) bool {
	return target.Version != "" && older(minor(t.Version), minor(target.Version))
}

// minor returns a version without its third number.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// Behind says of which servers a script wants a version that is later, or earlier, than any that is known.
func (ts *Tables) Behind(h *parse.Header) []string {
	var all []string
	for _, target := range h.Since {
		t, which := ts.of(target), ""
		switch {
		case target.Version == "":
		case t.before(target):
			which = "the newest that luagen knows; -commands takes those of a newer server"
		case t == ts.of(parse.Target{Server: t.Server}) && older(minor(target.Version), minor(t.Version)):
			which = "the oldest that luagen knows; -commands takes those of an older server"
		}
		if which != "" {
			all = append(all, fmt.Sprintf("---@since %s %s is checked by the commands of %s %s, %s",
				target.Server, target.Version, Title(t.Server), t.Version, which))
		}
	}
	return all
}

var (
	tableHead = regexp.MustCompile(`^# ([a-z]+) ([0-9]+(?:\.[0-9]+){1,2})` +
		`(?: without((?: [A-Za-z0-9_.]+)+))?$`)
	tableLine = regexp.MustCompile(`^[^ ]+ -?[0-9]+ [^ ]+ [^ ]+( [^ ]+)?$`)
)

// parseTable reads a table. Users may give one, so its lines must have their form.
func parseTable(text string) (*Table, error) {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n")
	head := tableHead.FindStringSubmatch(lines[0])
	if head == nil {
		return nil, errors.New("line 1: a table begins with a server and its version, " +
			"such as # redis 7.4.1")
	}
	t := &Table{
		Server: head[1], Version: head[2], Lacks: strings.Fields(head[3]),
		Commands: map[string]*Command{},
	}
	for i, line := range lines[1:] {
		if !tableLine.MatchString(line) {
			return nil, fmt.Errorf("line %d: not a name, an arity, marks, key places and a form: %q", i+2, line)
		}
		c, err := parseCommand(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		t.Commands[c.Name] = c
		container, _, sub := strings.Cut(c.Name, "|")
		switch {
		case sub && t.Commands[container] == nil:
			return nil, fmt.Errorf("line %d: %s stands before %s", i+2, c.Name, container)
		case sub:
			t.Commands[container].Subs = true
		}
	}
	return t, nil
}

// exclusive corrects the form that servers give ZADD: it takes NX without GT and LT alone.
var exclusive = strings.NewReplacer("[NX|XX],[GT|LT],[CH],[INCR]", "[[NX],[CH],[INCR]|[XX],[GT|LT],[CH],[INCR]]")

// parseCommand reads the fields of a line, of which the last may be missing.
func parseCommand(fields []string) (*Command, error) {
	c := &Command{Name: strings.ToLower(fields[0]), Form: exclusive.Replace(strings.Join(fields[4:], ""))}
	var err error
	if c.Arity, err = strconv.Atoi(fields[1]); err != nil {
		return nil, err
	}
	for mark := range strings.SplitSeq(fields[2], ",") {
		switch mark {
		case "write", "replicated":
			c.Writes = true
		case "noscript":
			c.Noscript = true
		case "-", "module":
		default:
			c.Kinds = append(c.Kinds, mark)
		}
	}
	if fields[3] == "-" {
		return c, nil
	}
	if c.Name == "sort" { // whose other keys no server can name
		fields[3] += ";keyword,STORE,2:range,0,1,0"
	}
	for text := range strings.SplitSeq(fields[3], ";") {
		at := specShape.FindStringSubmatch(text)
		if at == nil {
			return nil, fmt.Errorf("malformed key place %q", text)
		}
		number := func(i int) int {
			n, _ := strconv.Atoi(at[i])
			return n
		}
		if begins, finds := at[1]+at[2] != "", at[4]+at[7] != ""; begins && finds { // else the server cannot name these keys
			c.Specs = append(c.Specs, spec{
				Index: number(1), keyword: at[2], from: number(3), last: number(4), step: number(5) + number(9), limit: number(6),
				keynum: at[7] != "", numAt: number(7), firstKey: number(8),
			})
		}
	}
	return c, nil
}

var specShape = regexp.MustCompile(`^(?:unknown|index,(-?\d+)|keyword,([^,:;]+),(-?\d+)):` +
	`(?:unknown|range,(-?\d+),(-?\d+),(-?\d+)|keynum,(-?\d+),(-?\d+),(-?\d+))$`)

func older(a, b string) bool { return slices.Compare(numbers(a), numbers(b)) < 0 }

func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}
