package flow

import "github.com/hasp-go/hasp/luagen/internal/parse"

// added returns the value of the reply of a command that adds an int to what a key holds.
func (m *Machine) added(name string, e *parse.CallExpr, words []parse.Expr, v Value) Value {
	at := map[string]int{"incrby": 2, "decrby": 2, "hincrby": 3}[name]
	if at == 0 || at >= len(words) || m.C.plain {
		return v
	}
	if m.Peek(words[at]).Wide != "" {
		v.By, v.Size, v.Large = &e.P, maxInt64, maxInt64
	}
	return v
}

// insert notes that a value is put into a table, in a field if that has a name.
func (m *Machine) insert(v *Value, item Value, e parse.Expr, field string) {
	v.hollow = false
	switch pos := e.Pos(); {
	case item.Surely(IsNumber) && (item.In(Said(field, inName)).Large >= MaxShown || m.Identifies(e, field)), m.converted(e):
		v.Digits = &pos
	case item.Digits != nil:
		v.Digits = item.Digits
	}
	if item.Empty != nil {
		v.Empty = item.Empty
	} else if m.MayBeEmpty(e, item) {
		v.Empty = e
	}
}

// converted reports whether an expression is a number for each value of a hash that is one: tonumber(x) or x.
func (m *Machine) converted(e parse.Expr) bool {
	b, ok := Unparen(e).(*parse.BinaryExpr)
	if !ok || b.Op != "or" {
		return false
	}
	number, ok := m.Passed(b.L, "tonumber").(*parse.IndexExpr)
	return ok && m.Peek(number.X).Pairs && Mentions(b.R, VarOf(number.X))
}
