package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// maybe notes in a reply what it is about, if it is nothing, or has no elements, where a key, a field or an element is missing.
func (m *machine) maybe(call commandCall, v value) value {
	sources := m.sources(call)
	// A member that was read with its score has an entry in the other keys, too.
	if len(sources) == 0 || m.way != nil || len(call.words) > 2 && m.peek(call.words[2]).role == aScored {
		return v
	}
	for i, s := range sources {
		if s == anyReply { // A condition about this reply, or about an unknown one, may show that it is there.
			sources[i] = anyReply + fmt.Sprint(call.expr.P)
		}
		if slices.ContainsFunc(answers(sources[i]), func(what any) bool { return m.state.knows(later(what.(string))) }) {
			sources[i] = ""
		}
	}
	switch {
	case v.is&isStatus != 0:
	case v.elem == nil, v.elem.is == isText && v.known == 0 && m.depth == 0: // The callers of a function may know that a list has elements.
		v.missing = sources[0]
	case v.elem.is&isFalseValue != 0:
		element := *v.elem
		element.missing, v.elem = sources[0], &element
		for i := range v.items {
			v.items[i].missing = sources[min(i, len(sources)-1)]
		}
	}
	return v
}

// wrote notes a call that may write, as a call of a module may: what it writes is there for the next command.
func (m *machine) wrote(call commandCall) {
	known := len(call.names) > 0 && !strings.Contains(call.names[0], ".")
	if m.quiet > 0 || m.way != nil || known && !m.writes(call.expr) {
		return
	}
	for i := 1; i < len(call.words); i++ { // such as the second key of RENAME
		if key := m.keyText(call.words, i); key != "" || i == 1 {
			m.state.ask(proved, later(cmp.Or(key, anyReply)))
		}
	}
}

// mayMiss reports whether a value certainly is nil or false in some cases: if its key, say, is missing.
func (m *machine) mayMiss(v value) bool { return v.is&absent != 0 && m.unproved(v) }

// unproved reports whether a value is a reply or an argument of which the script has not asked whether it is there.
func (m *machine) unproved(v value) bool {
	if v.missing == "" || m.quiet > 0 {
		return false
	}
	return !slices.ContainsFunc(answers(v.missing), m.state.knows)
}

// itself returns a text that must be there itself: that something else is says nothing of it.
func (v value) itself() value {
	if v.is&isText != 0 {
		v.is ^= isText | isOther
	}
	return v
}

// present finds a value that may be nil where nil fails.
func (m *machine) present(v value, pos parse.Pos) {
	miss := m.mayMiss(v)
	if miss {
		m.state.ask(proved, v.missing) // else it fails here
	}
	switch {
	case miss && strings.HasPrefix(v.missing, anArgument):
		m.find(pos, Nil, "this may be nil, as an argument may be absent, and then it fails: test it first")
	case miss:
		m.find(pos, Nil, "this may be nil, as its key, field or element may be missing, and then it fails: "+
			"test it first, or write or 0 behind it")
	case v.is == isNil && m.way == nil:
		m.find(pos, Nil, "this is always nil, and then it fails")
	case v.is == isNil && m.independent(v.nilAt):
		m.findAlways(pos, Nil, "this is nil on one way that leads here, and then it fails: give it a value first, or test it")
		m.state.dead = m.quiet == 0 || m.state.dead // It ends here.
	case v.is&isNil != 0 && v.nilAt > 0:
		m.unclear = true
		m.hints++
	}
}

// failing finds a reply of redis.pcall that may be an error where an error fails.
func (m *machine) failing(v value, pos parse.Pos) {
	if v.is&(isFailed|isTable) == isFailed && v.is != isFailed {
		m.find(pos, Nil, "this may be the error of the command, as redis.pcall returns it, and then it fails: ask for its err first, or write redis.call")
	}
}

// scalar finds a table, or the like, where a text or a number is taken, and reports whether there is one.
func (m *machine) scalar(v value, pos parse.Pos, by, cure string) bool {
	m.present(v, pos)
	m.failing(v, pos)
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
	m.find(pos, Nil, "%s takes texts and numbers only, and this is %s%s", by, v.is, cure)
	return true
}

// element checks the index of what certainly is a list.
func (m *machine) element(e parse.Expr, key value) {
	number, ok := unparen(e).(*parse.NumberExpr)
	x := varOf(unparen(e))
	switch {
	case key.surely(isText):
		m.find(e.Pos(), Nil, "this is always nil, as the table is a list without names: the reply of HGETALL, too, "+
			"is field, value, field, value")
	case ok && numeral(number.Text).size == zeroSize:
		m.find(e.Pos(), Nil, "this is always nil: the first element of a list is 1")
	case x != nil && key.low && slices.Equal(m.c.flow.sources[x], []source{{}}) && !m.mentioned(x):
		m.find(e.Pos(), Nil, "this is nil at first, as the loop begins with 0: the first element of a list is 1")
	}
}
