package flow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// maybe notes in a reply what it is about, if it is nothing, or has no elements, where a key, a field or an element is missing.
func (m *Machine) maybe(call CommandCall, v Value) Value {
	sources := m.sources(call)
	// A member that was read with its score has an entry in the other keys, too.
	if len(sources) == 0 || len(call.Words) > 2 && m.Peek(call.Words[2]).Role == AScored {
		return v
	}
	for i, s := range sources {
		if s == anyReply { // A condition about this reply, or about an unknown one, may show that it is there.
			sources[i] = anyReply + fmt.Sprint(call.Expr.P)
		}
		if _, field, _ := strings.Cut(s, "\n"); call.Names[0][0] == 'h' && field != "" && (field[0] == '\'' || field[0] == 'A') && !m.gets(call, i+2) {
			sources[i] += itsOwn
		}
		if slices.ContainsFunc(answers(sources[i]), func(what any) bool { return m.State.Knows(later(what.(string))) }) {
			sources[i] = ""
		}
	}
	switch {
	case v.Is&IsStatus != 0:
	case v.Elem == nil, v.Elem.Is == IsText && v.Known == 0 && m.Depth == 0: // The callers of a function may know that a list has elements.
		v.Missing = sources[0]
	case v.Elem.Is&IsFalseValue != 0:
		element := *v.Elem
		element.Missing, v.Elem = sources[0], &element
		for i := range v.Items {
			v.Items[i].Missing = sources[min(i, len(sources)-1)]
		}
	}
	return v
}

// gets reports whether the script gives a hash the field that a word of a call names, before the call or on a way without
// it. Then a hash that is there may be taken to have the field.
func (m *Machine) gets(read CommandCall, word int) bool {
	return slices.ContainsFunc(m.C.Flow.Calls, func(e *parse.CallExpr) bool {
		call, _ := m.C.CommandCall(e)
		gives := len(call.Names) == 1 && slices.Contains(Creating, call.Names[0]) && call.Names[0][0] == 'h' && m.KeyText(call.Words, 1) == m.KeyText(read.Words, 1)
		return gives && (e.P.Offset < read.Expr.P.Offset || !Inside(m.C.Flow.Blocks[read.Expr], m.C.Flow.Blocks[e])) &&
			(call.Open || slices.ContainsFunc(call.Words[2:], func(e parse.Expr) bool { return m.KeyName(e, MaxKeyParts) == m.KeyText(read.Words, word) }))
	})
}

// wrote notes a call that may write, as a call of a module may: what it writes is there for the next command.
func (m *Machine) wrote(call CommandCall) {
	known := len(call.Names) > 0 && !strings.Contains(call.Names[0], ".")
	if m.Quiet > 0 || known && (!m.C.Writes(call.Expr) || slices.Contains(Ending, call.Names[0])) {
		return
	}
	for i := 1; i < len(call.Words); i++ { // such as the second key of RENAME
		if key := m.KeyText(call.Words, i); key != "" || i == 1 {
			m.State.ask(proved, later(cmp.Or(key, anyReply)))
		}
	}
}

// MayMiss reports whether a value certainly is nil or false in some cases: if its key, say, is missing.
func (m *Machine) MayMiss(v Value) bool {
	return v.Is&Absent != 0 && m.Frame.Params[v.Missing] == nil && m.Unproved(v)
}

// Unproved reports whether a value is a reply or an argument of which the script has not asked whether it is there.
func (m *Machine) Unproved(v Value) bool {
	if v.Missing == "" || m.Quiet > 0 {
		return false
	}
	return !slices.ContainsFunc(answers(v.Missing), m.State.Knows)
}

// itself returns a text that must be there itself: that something else is says nothing of it.
func (v Value) itself() Value {
	if v.Is&IsText != 0 {
		v.Is ^= IsText | isOther
	}
	return v
}

// mistaken notes that a reply is there if the script compares it with nil, for which it is false: what it does then is one mistake.
func (m *Machine) mistaken(v, w Value) {
	if w.Is == IsNil && v.Is&Boolean == IsFalseValue {
		m.there(v)
	}
}
