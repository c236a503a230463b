package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// present finds a value that may be nil where nil fails.
func (j *judge) present(v value, pos parse.Pos) {
	miss, param := j.mayMiss(v), j.frame.params[v.missing]
	switch {
	case param != nil && v.is&absent != 0 && j.unproved(v):
		if _, known := j.needs[param]; !known {
			j.needs[param] = pos
		}
	case miss && strings.HasPrefix(v.missing, anArgument):
		j.may(pos, Nil, "this may be nil, as an argument may be absent, and then it fails: test it first")
	case miss:
		j.may(pos, Nil, "this may be nil, as its key, field or element may be missing, and then it fails: "+
			"test it first, or write or 0 behind it")
	case v.is == isNil:
		j.find(pos, Nil, "this is always nil, and then it fails")
		if j.independent(v.since) {
			j.may(pos, Nil, "this is nil on one way that leads here, and then it fails: give it a value first, or test it")
		}
	}
}

// passes finds what may be nil and is passed to a function that fails for it.
func (j *judge) passes(param *parse.Var, s sight) {
	if pos, needs := j.needs[param]; needs && j.mayMiss(s.v) {
		j.may(pos, Nil, "this is nil if the key, field or element is missing that line %d passes, and then it fails: test it first", s.e.Pos().Line)
	}
	if pos, encodes := j.encodes[param]; encodes && s.v.decoded {
		j.again(pos)
	}
}

// failing finds a reply of redis.pcall that may be an error where an error fails.
func (j *judge) failing(v value, pos parse.Pos) {
	if v.is&(isFailed|isTable) == isFailed && v.is != isFailed {
		j.find(pos, Nil, "this may be the error of the command, as redis.pcall returns it, and then it fails: ask for its err first, or write redis.call")
	}
}

// scalar finds a table, or the like, where a text or a number is taken, and reports whether there is one.
func (j *judge) scalar(v value, pos parse.Pos, by, cure string) bool {
	j.present(v, pos)
	j.failing(v, pos)
	if v.is == 0 || v.is&(isText|isNumber) != 0 {
		return false
	}
	switch {
	case v.is&(isStatus|isTable) == isStatus:
		cure = ": write .ok behind it"
	case v.is&(isTable|isStatus|isFailed) != 0:
	case v.is&isTrueValue != 0:
		cure = ": write (...) and 1 or 0"
	default:
		cure = ""
	}
	j.find(pos, Nil, "%s takes texts and numbers only, and this is %s%s", by, v.is, cure)
	return true
}

// elementOf checks the index of a list, and finds what a loop that goes on by one takes of elements that belong together.
func (j *judge) elementOf(x, key value, e parse.Expr) {
	if x.elem == nil || !x.surely(isTable) {
		return
	}
	j.element(e, key)
	i, k := added(e)
	loop := j.c.flow.loops[varOf(i)]
	switch {
	case x.most > 0 && key.place() > x.most:
		j.find(e.Pos(), Nil, "this is always nil: the reply ends at element %d", x.most)
	case x.pairs && j.turnOf(e) < 0 && k != 0 && loop != nil && loop.Step == nil && !j.c.flow.compared[loop.Var]:
		j.find(e.Pos(), Nil, "the elements of this reply belong together by two, and this loop goes on by one: write a step of 2")
	}
}

// element checks the index of what certainly is a list.
func (j *judge) element(e parse.Expr, key value) {
	number, ok := unparen(e).(*parse.NumberExpr)
	x := varOf(unparen(e))
	switch {
	case key.surely(isText):
		j.find(e.Pos(), Nil, "this is always nil, as the table is a list without names: the reply of HGETALL, too, "+
			"is field, value, field, value")
	case ok && numeral(number.Text).size == zeroSize:
		j.find(e.Pos(), Nil, "this is always nil: the first element of a list is 1")
	case x != nil && key.low && slices.Equal(j.c.flow.sources[x], []source{{}}) && !j.mentioned(x):
		j.find(e.Pos(), Nil, "this is nil at first, as the loop begins with 0: the first element of a list is 1")
	}
}

// member finds a member where its score is meant.
func (j *judge) member(v value, pos parse.Pos) {
	if v.role == aScored {
		j.find(pos, Compare, "this is a member, and no number: its score is the next element of the reply")
	}
}

// fieldOf finds what has no such field: a text or a number has none, and a status reply has ok, or an error err.
func (j *judge) fieldOf(x value, key parse.Expr) {
	name, literal := j.c.origin(key).(*parse.StringExpr)
	switch {
	case x.surely(isText) && !literal, x.surely(isNumber):
		j.find(key.Pos(), Nil, "this is an index into %s, which has no elements", x.is)
	case x.role == aReply && literal && x.is&isTable == 0 && x.is&(isStatus|isFailed) != 0 && name.Value != "ok" && name.Value != "err":
		j.find(key.Pos(), Nil, "this is always nil: the one field of a status reply is ok, that of an error err")
	}
}
