package check

import "github.com/hasp-go/hasp/luagen/internal/parse"

// added returns the value of the reply of a command that adds an int to what a key holds.
func (m *machine) added(name string, e *parse.CallExpr, words []parse.Expr, v value) value {
	at := map[string]int{"incrby": 2, "decrby": 2, "hincrby": 3}[name]
	if at == 0 || at >= len(words) || m.c.plain {
		return v
	}
	if m.peek(words[at]).wide != "" {
		v.by, v.size, v.large = &e.P, maxInt64, maxInt64
	}
	return v
}

// insert notes that a value is put into a table, in a field if that has a name.
func (m *machine) insert(v *value, item value, e parse.Expr, field string) {
	v.hollow = false
	switch pos := e.Pos(); {
	case item.surely(isNumber) && (item.in(said(field, inName)).large >= maxShown || m.identifies(e, field)), m.converted(e):
		v.digits = &pos
	case item.digits != nil:
		v.digits = item.digits
	}
	if item.empty != nil {
		v.empty = item.empty
	} else if m.mayBeEmpty(e, item) {
		v.empty = e
	}
}

// converted reports whether an expression is a number for each value of a hash that is one: tonumber(x) or x.
func (m *machine) converted(e parse.Expr) bool {
	b, ok := unparen(e).(*parse.BinaryExpr)
	if !ok || b.Op != "or" {
		return false
	}
	number, ok := m.passed(b.L, "tonumber").(*parse.IndexExpr)
	return ok && m.peek(number.X).pairs && mentions(b.R, varOf(number.X))
}
