package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// evidence is what a script has asked and written so far. By it the script may know that a key, a field or an element is
// there.
type evidence struct {
	passed  []parse.Expr        // conditions, heads of loops and calls of functions that control has passed
	left    []parse.Expr        // the left parts of "and" and "or" on the way to what is evaluated
	written map[string]bool     // the keys that were written; "" for a key that is not known
	apart   map[*parse.Var]bool // the names of tables that are taken apart
}

// maybe marks the reply of a command that has nothing for a missing key, field or element, or no elements.
func (m *machine) maybe(words []parse.Expr, v value) value {
	key := m.keyText(words, 1)
	if m.depth > 0 || key == "" || m.asked.written[key] || m.about(words[1], key, true) {
		return v
	}
	switch {
	case v.is&isFalseValue != 0 && v.is&isStatus == 0, v.elem != nil && v.elem.is == isText && v.known == 0:
		v.missing = key
	case v.elem != nil && v.elem.is&isFalseValue != 0:
		element := *v.elem
		element.missing, v.elem = key, &element
	}
	return v
}

// wrote notes a call that may write.
func (m *machine) wrote(call commandCall) {
	if m.quiet > 0 || len(call.names) > 0 && !m.writes(call.expr) {
		return
	}
	m.asked.written[m.keyText(call.words, 1)] = true
	for i := 2; i < len(call.words); i++ { // such as the second key of RENAME
		if key := m.keyText(call.words, i); key != "" {
			m.asked.written[key] = true
		}
	}
}

// maxPassed is after how many conditions they are taken to say all.
const maxPassed = 200

// mayMiss reports whether a value certainly is nil or false in some cases: if its key, say, is missing. It is not certain
// if the script has asked for a reply about that key before.
func (m *machine) mayMiss(v value) bool {
	return v.is&absent != 0 && m.unproved(v)
}

// unproved reports whether a value is a reply about a key of which nothing is known.
func (m *machine) unproved(v value) bool {
	if v.missing == "" || m.depth > 0 || m.quiet > 0 || m.asked.written[""] {
		return false
	}
	return !m.asked.some(func(e parse.Expr) bool { return m.about(e, v.missing, v.is&isText != 0) })
}

// some reports whether f is true of what control has passed, or if that is too much to look at.
func (a evidence) some(f func(parse.Expr) bool) bool {
	return len(a.passed) > maxPassed || slices.ContainsFunc(a.passed, f) || slices.ContainsFunc(a.left, f)
}

// about reports whether an expression may have a reply in it that shows whether a key is there, or the result of a
// function. With others, replies about other keys count, too: by them a script may know that a text is there, but rarely
// that a number is.
func (m *machine) about(e parse.Expr, key string, others bool) bool {
	return m.c.flow.within(e, func(e parse.Expr) bool {
		call, ok := e.(*parse.CallExpr)
		if !ok {
			return false
		}
		if call, ok := m.c.commandCall(call); ok {
			return m.vouches(call, key, others)
		}
		library, _, _ := strings.Cut(m.c.callee(call), ".")
		return !parse.KnownGlobal(library)
	})
}

// vouches reports whether the reply of a call may say that a key has what is asked for: it is about that key, or
// with others, says that something is there.
func (m *machine) vouches(call commandCall, key string, others bool) bool {
	text := m.keyText(call.words, 1)
	return text == "" || text == key || others && slices.ContainsFunc(call.names, func(name string) bool {
		return slices.Contains([]string{"maybe", "maybes", "rank", "texts", "members"}, shapes[name]) || slices.Contains(probes, name)
	})
}

// present finds a value that may be nil where nil fails.
func (m *machine) present(v value, pos parse.Pos) {
	switch {
	case m.mayMiss(v):
		m.find(pos, Nil, "this may be nil, as its key, field or element may be missing, and then it fails: "+
			"test it first, or write or 0 behind it")
	case v.is == isNil:
		m.find(pos, Nil, "this is always nil, and then it fails")
	case v.nilAt == always && v.is&isNil != 0 && m.depth == 0:
		m.find(pos, Nil, "this may be nil, as an argument may be absent, and then it fails: test it first")
	}
}

// word checks a word of a command's call.
func (m *machine) word(v value, pos parse.Pos) {
	m.present(v, pos)
	if v.is == 0 || v.is&(isText|isNumber) != 0 {
		return
	}
	cure := ""
	switch {
	case v.is&(isTable|isStatus|isFailed) != 0:
		cure = ": pass its elements, as unpack gives them"
	case v.is&isTrueValue != 0:
		cure = ": write (...) and 1 or 0"
	}
	m.find(pos, Nil, "a command takes texts and numbers only, and this is %s%s", v.is, cure)
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
	case x != nil && key.low && m.counts(x):
		m.find(e.Pos(), Nil, "this is nil at first, as the loop begins with 0: the first element of a list is 1")
	}
}

// counts reports whether a loop from a number to another has this variable, and the script asks nothing about it.
func (m *machine) counts(x *parse.Var) bool {
	sources := m.c.flow.sources[x]
	return len(sources) == 1 && sources[0] == source{} && !m.mentioned(x)
}
