package flow

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
	c := NewCode(s, tables)
	m := c.Machine()
	facts := Facts{Kinds: map[int]string{}, Types: map[int]string{}}
	for _, e := range c.Flow.Calls {
		if call, ok := c.CommandCall(e); ok && len(call.Names) == 1 {
			m.learn(facts, call, tables.Usual()[0].Commands[call.Names[0]])
		} else if c.Callee(e) == "tonumber" && len(e.Args) > 0 {
			facts.set(c.Nth(e.Args[0], "ARGV"), "number")
		}
	}
	for _, e := range c.Flow.Exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && strings.Contains("+-*/%^", b.Op) {
			facts.set(c.Nth(b.L, "ARGV"), "number")
			facts.set(c.Nth(b.R, "ARGV"), "number")
		}
	}
	facts.Result, facts.Part = c.result(), c.Assembled()
	return facts
}

// set notes a type, unless a better one is known: what is made a number may be a time.
func (f Facts) set(n int, as string) {
	if known := f.Types[n]; n > 0 && as != "" && (known == "" || known == "number") {
		f.Types[n] = as
	}
}

// Nth returns n if an expression is element n of KEYS or ARGV, the number of one, or a local name for these; else 0.
func (c *code) Nth(e parse.Expr, list string) int {
	e = c.Origin(e)
	for range MaxNames { // A name may be a number of itself.
		call, ok := e.(*parse.CallExpr)
		if !ok || c.Callee(call) != "tonumber" || len(call.Args) != 1 {
			break
		}
		e = c.Origin(call.Args[0])
	}
	index, ok := e.(*parse.IndexExpr)
	if !ok || !c.IsList(index.X, list) {
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

func (m *Machine) learn(facts Facts, call CommandCall, cmd *Command) {
	if cmd == nil {
		return
	}
	match := m.matched(call, cmd)
	for i, f := range match.As {
		facts.set(m.C.Nth(match.Words[i], "ARGV"), placeTypes[f.Word])
	}
	for _, p := range Places(call, cmd) {
		if n := m.C.Nth(call.Words[p.Word], "KEYS"); n > 0 && p.Quality == AKey {
			switch known := facts.Kinds[n]; {
			case len(cmd.Kinds) == 0 || slices.Contains(cmd.Kinds, known):
			case len(cmd.Kinds) > 1 || known != "":
				facts.Kinds[n] = "any"
			default:
				facts.Kinds[n] = cmd.Kinds[0]
			}
		}
	}
}

// result returns the type of what a script returns on all its ways, "" if that is not certain.
func (c *code) result() string {
	m := c.Machine()
	ends, v := m.Follow(), Value{}
	for _, r := range m.Frame.returned {
		if r.Is != IsFailed {
			v = join(v, r)
		}
	}
	switch is := v.Is &^ IsFailed; {
	case len(m.Frame.returned) == 0 || ends:
		return ""
	case is == IsNumber && v.Whole:
		return "int"
	case is&^Absent == IsNumber && v.Whole:
		return "int?"
	case is != 0 && is&^(IsText|IsStatus) == 0:
		return "string"
	case is&^Absent == IsText:
		return "string?"
	case is != 0 && is&^(Boolean|IsNil) == 0:
		return "bool"
	case is == IsTable && v.Elem != nil && v.Elem.Is == IsText:
		return "string[]"
	case is == IsTable && v.Elem != nil && v.Elem.Is == IsText|IsFalseValue:
		return "string?[]"
	}
	return ""
}
