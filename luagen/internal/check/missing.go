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
	if len(sources) == 0 || len(call.words) > 2 && m.peek(call.words[2]).role == aScored {
		return v
	}
	for i, s := range sources {
		if s == anyReply { // A condition about this reply, or about an unknown one, may show that it is there.
			sources[i] = anyReply + fmt.Sprint(call.expr.P)
		}
		if _, field, _ := strings.Cut(s, "\n"); call.names[0][0] == 'h' && field != "" && (field[0] == '\'' || field[0] == 'A') && !m.gets(call, i+2) {
			sources[i] += itsOwn
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

// gets reports whether the script gives a hash the field that a word of a call names, before the call or on a way without
// it. Then a hash that is there may be taken to have the field.
func (m *machine) gets(read commandCall, word int) bool {
	key, field := m.keyText(read.words, 1), m.keyText(read.words, word)
	return slices.ContainsFunc(m.c.flow.calls, func(e *parse.CallExpr) bool {
		call, _ := m.c.commandCall(e)
		if len(call.names) != 1 || !slices.Contains(creating, call.names[0]) || call.names[0][0] != 'h' || m.keyText(call.words, 1) != key ||
			e.P.Offset > read.expr.P.Offset && inside(m.c.flow.blocks[read.expr], m.c.flow.blocks[e]) {
			return false
		}
		for i := 2; i < len(call.words); i += 2 {
			if text := m.keyText(call.words, i); text == field || text == "" {
				return true
			}
		}
		return call.open
	})
}

// wrote notes a call that may write, as a call of a module may: what it writes is there for the next command.
func (m *machine) wrote(call commandCall) {
	known := len(call.names) > 0 && !strings.Contains(call.names[0], ".")
	if m.quiet > 0 || known && (!m.writes(call.expr) || slices.Contains(ending, call.names[0])) {
		return
	}
	for i := 1; i < len(call.words); i++ { // such as the second key of RENAME
		if key := m.keyText(call.words, i); key != "" || i == 1 {
			m.state.ask(proved, later(cmp.Or(key, anyReply)))
		}
	}
}

// mayMiss reports whether a value certainly is nil or false in some cases: if its key, say, is missing.
func (m *machine) mayMiss(v value) bool {
	return v.is&absent != 0 && m.frame.params[v.missing] == nil && m.unproved(v)
}

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

// mistaken notes that a reply is there if the script compares it with nil, for which it is false: what it does then is one mistake.
func (m *machine) mistaken(v, w value) {
	if w.is == isNil && v.is&boolean == isFalseValue {
		m.there(v)
	}
}
