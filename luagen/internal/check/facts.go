package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Facts is what the code of a raw script shows of its keys, arguments and result.
type Facts struct {
	Kinds  map[int]string // of KEYS[n]: the one kind that all its commands are for, any if they are for every kind
	Types  map[int]string // of ARGV[n]: seconds, milliseconds, channel, or number if it is made one
	Result string         // a type, "" if that is not certain
	Part   bool           // it is not sent as it is: some program puts it together with others
}

// Learn returns the facts of a raw script that parsed.
func Learn(s *parse.Script, tables *Tables) Facts {
	c := newCode(s, tables)
	m := c.machine()
	facts := Facts{Kinds: map[int]string{}, Types: map[int]string{}}
	for _, e := range c.flow.calls {
		if call, ok := c.commandCall(e); ok && len(call.names) == 1 {
			m.learn(facts, call, tables.usual()[0].commands[call.names[0]])
		} else if c.callee(e) == "tonumber" && len(e.Args) > 0 {
			facts.set(c.nth(e.Args[0], "ARGV"), "number")
		}
	}
	for _, e := range c.flow.exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && strings.Contains("+-*/%^", b.Op) {
			facts.set(c.nth(b.L, "ARGV"), "number")
			facts.set(c.nth(b.R, "ARGV"), "number")
		}
	}
	facts.Result, facts.Part = c.result(), c.assembled()
	return facts
}

// set notes a type, unless a better one is known: what is made a number may be a time.
func (f Facts) set(n int, as string) {
	if known := f.Types[n]; n > 0 && as != "" && (known == "" || known == "number") {
		f.Types[n] = as
	}
}

// nth returns n if an expression is element n of KEYS or ARGV, the number of one, or a local name for these; else 0.
func (c *code) nth(e parse.Expr, list string) int {
	e = c.origin(e)
	for range maxNames { // A name may be a number of itself.
		call, ok := e.(*parse.CallExpr)
		if !ok || c.callee(call) != "tonumber" || len(call.Args) != 1 {
			break
		}
		e = c.origin(call.Args[0])
	}
	index, ok := e.(*parse.IndexExpr)
	if !ok || !c.isList(index.X, list) {
		return 0
	}
	number, ok := index.Key.(*parse.NumberExpr)
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(number.Text)
	return n
}

// placeTypes are the types of some places in the forms of commands.
var placeTypes = map[string]string{
	"seconds": "seconds", "milliseconds": "milliseconds", "unix-time-milliseconds": "unixmilli",
	"increment": "number", "decrement": "number", "score": "number", "channel": "channel", "shardchannel": "channel",
}

// learn notes what a call of a command shows.
func (m *machine) learn(facts Facts, call commandCall, cmd *command) {
	if cmd == nil {
		return
	}
	match := m.matched(call, cmd)
	for i, f := range match.as {
		facts.set(m.c.nth(match.words[i], "ARGV"), placeTypes[f.word])
	}
	for _, p := range places(call, cmd) {
		if n := m.c.nth(call.words[p.word], "KEYS"); n > 0 && p.quality == aKey {
			facts.kind(n, cmd.kinds)
		}
	}
}

// kind notes the kinds of a command that has a key.
func (f Facts) kind(n int, kinds []string) {
	switch known := f.Kinds[n]; {
	case len(kinds) == 0 || slices.Contains(kinds, known):
	case len(kinds) > 1 || known != "":
		f.Kinds[n] = "any"
	default:
		f.Kinds[n] = kinds[0]
	}
}

// result returns the type of what a script returns on all its ways, "" if that is not certain.
func (c *code) result() string {
	m := c.machine()
	ends, v := m.follow(), value{}
	for _, r := range m.frame.returned {
		if r.is != isFailed {
			v = join(v, r, 0)
		}
	}
	switch is := v.is &^ isFailed; {
	case len(m.frame.returned) == 0 || ends:
		return ""
	case is == isNumber && v.whole:
		return "int"
	case is&^absent == isNumber && v.whole:
		return "int?"
	case is != 0 && is&^(isText|isStatus) == 0:
		return "string"
	case is&^absent == isText:
		return "string?"
	case is != 0 && is&^(boolean|isNil) == 0:
		return "bool"
	case is == isTable && v.elem != nil && v.elem.is == isText:
		return "string[]"
	case is == isTable && v.elem != nil && v.elem.is == isText|isFalseValue:
		return "string?[]"
	}
	return ""
}
