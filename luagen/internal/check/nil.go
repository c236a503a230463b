package check

import (
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// present finds a value that may be nil where nil fails.
func (j *judge) present(v flow.Value, pos parse.Pos) {
	miss, param := j.MayMiss(v), j.Frame.Params[v.Missing]
	switch {
	case param != nil && v.Is&flow.Absent != 0 && j.Unproved(v):
		if _, known := j.needs[param]; !known {
			j.needs[param] = pos
		}
	case miss && strings.HasPrefix(v.Missing, flow.AnArgument):
		j.may(pos, Nil, "this may be nil, as an argument may be absent, and then it fails: test it first")
	case miss:
		j.may(pos, Nil, "this may be nil, as its key, field or element may be missing, and then it fails: "+
			"test it first, or write or 0 behind it")
	case v.Is == flow.IsNil:
		j.find(pos, Nil, "this is always nil, and then it fails")
	}
}

// passes finds what may be nil and is passed to a function that fails for it.
func (j *judge) passes(param *parse.Var, s flow.Sight) {
	if pos, needs := j.needs[param]; needs && j.MayMiss(s.V) {
		j.may(pos, Nil, "this is nil if the key, field or element is missing that line %d passes, and then it fails: test it first", s.E.Pos().Line)
	}
	if pos, encodes := j.encodes[param]; encodes && s.V.Decoded {
		j.again(pos)
	}
	if j.unpacks[param] {
		j.unpacked([]parse.Expr{s.E}, s.V)
	}
}

// failing finds a reply of redis.pcall that may be an error where an error fails.
func (j *judge) failing(v flow.Value, pos parse.Pos) {
	if v.Is&(flow.IsFailed|flow.IsTable) == flow.IsFailed && v.Is != flow.IsFailed {
		j.find(pos, Nil, "this may be the error of the command, as redis.pcall returns it, and then it fails: ask for its err first, or write redis.call")
	}
}

// scalar finds a table, or the like, where a text or a number is taken, and reports whether there is one.
func (j *judge) scalar(v flow.Value, pos parse.Pos, by, cure string) bool {
	j.failing(v, pos)
	if v.Is == 0 || v.Is&(flow.IsText|flow.IsNumber) != 0 {
		return false
	}
	switch {
	case v.Is&(flow.IsStatus|flow.IsTable) == flow.IsStatus:
		cure = ": write .ok behind it"
	case v.Is&(flow.IsTable|flow.IsStatus|flow.IsFailed) != 0:
	case v.Is&flow.IsTrueValue != 0:
		cure = ": write (...) and 1 or 0"
	default:
		cure = ""
	}
	j.find(pos, Nil, "%s takes texts and numbers only, and this is %s%s", by, v.Is, cure)
	return true
}

// elementOf checks the index of what certainly is a list.
func (j *judge) elementOf(x, key flow.Value, e parse.Expr) {
	if x.Elem == nil || !x.Surely(flow.IsTable) {
		return
	}
	switch {
	case key.Surely(flow.IsText):
		j.find(e.Pos(), Nil, "this is always nil, as the table is a list without names: the reply of HGETALL, too, "+
			"is field, value, field, value")
	case x.Most > 0 && key.Place() > x.Most:
		j.find(e.Pos(), Nil, "this is always nil: the reply ends at element %d", x.Most)
	}
}
