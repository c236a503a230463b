package check

import (
	"slices"
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
		if j.Independent(v.Since) {
			j.may(pos, Nil, "this is nil on one way that leads here, and then it fails: give it a value first, or test it")
		}
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
}

// failing finds a reply of redis.pcall that may be an error where an error fails.
func (j *judge) failing(v flow.Value, pos parse.Pos) {
	if v.Is&(flow.IsFailed|flow.IsTable) == flow.IsFailed && v.Is != flow.IsFailed {
		j.find(pos, Nil, "this may be the error of the command, as redis.pcall returns it, and then it fails: ask for its err first, or write redis.call")
	}
}

// scalar finds a table, or the like, where a text or a number is taken, and reports whether there is one.
func (j *judge) scalar(v flow.Value, pos parse.Pos, by, cure string) bool {
	j.present(v, pos)
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

// elementOf checks the index of a list, and finds what a loop that goes on by one takes of elements that belong together.
func (j *judge) elementOf(x, key flow.Value, e parse.Expr) {
	if x.Elem == nil || !x.Surely(flow.IsTable) {
		return
	}
	j.element(e, key)
	i, k := flow.Added(e)
	loop := j.C.Flow.Loops[flow.VarOf(i)]
	switch {
	case x.Most > 0 && key.Place() > x.Most:
		j.find(e.Pos(), Nil, "this is always nil: the reply ends at element %d", x.Most)
	case x.Pairs && j.TurnOf(e) < 0 && k != 0 && loop != nil && loop.Step == nil && !j.C.Flow.Compared[loop.Var]:
		j.find(e.Pos(), Nil, "the elements of this reply belong together by two, and this loop goes on by one: write a step of 2")
	}
}

// element checks the index of what certainly is a list.
func (j *judge) element(e parse.Expr, key flow.Value) {
	number, ok := flow.Unparen(e).(*parse.NumberExpr)
	x := flow.VarOf(flow.Unparen(e))
	switch {
	case key.Surely(flow.IsText):
		j.find(e.Pos(), Nil, "this is always nil, as the table is a list without names: the reply of HGETALL, too, "+
			"is field, value, field, value")
	case ok && flow.Numeral(number.Text).Size == flow.ZeroSize:
		j.find(e.Pos(), Nil, "this is always nil: the first element of a list is 1")
	case x != nil && key.Low && slices.Equal(j.C.Flow.Sources[x], []flow.Source{{}}) && !j.Mentioned(x):
		j.find(e.Pos(), Nil, "this is nil at first, as the loop begins with 0: the first element of a list is 1")
	}
}

// member finds a member where its score is meant.
func (j *judge) member(v flow.Value, pos parse.Pos) {
	if v.Role == flow.AScored {
		j.find(pos, Compare, "this is a member, and no number: its score is the next element of the reply")
	}
}

// fieldOf finds what has no such field: a text or a number has none, and a status reply has ok, or an error err.
func (j *judge) fieldOf(x flow.Value, key parse.Expr) {
	name, literal := j.C.Origin(key).(*parse.StringExpr)
	switch {
	case x.Surely(flow.IsText) && !literal, x.Surely(flow.IsNumber):
		j.find(key.Pos(), Nil, "this is an index into %s, which has no elements", x.Is)
	case x.Role == flow.AReply && literal && x.Is&flow.IsTable == 0 && x.Is&(flow.IsStatus|flow.IsFailed) != 0 && name.Value != "ok" && name.Value != "err":
		j.find(key.Pos(), Nil, "this is always nil: the one field of a status reply is ok, that of an error err")
	}
}
