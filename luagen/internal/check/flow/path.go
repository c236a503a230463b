package flow

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Mark is a place on a way.
type Mark struct {
	Pos   parse.Pos
	Made  creation     // of the key
	Words []parse.Expr // that say when it ends
	Way   *branch      // that leads to it
}

// decided evaluates a condition, and returns whether it is true, if the way so far decides that.
func (m *Machine) decided(cond parse.Expr, v Value) (truth, decided bool) {
	if b, ok := parse.Unparen(cond).(*parse.BinaryExpr); ok {
		if l, r := m.Peek(b.L), m.Peek(b.R); l.Written() && r.Written() {
			return Compares(l.Least, b.Op, r.Least), true
		}
		if text, isText := b.R.(*parse.StringExpr); isText && m.holds(b.L, text.Value) {
			return b.Op == "==", true
		}
		x, k := typed(b.L, b.R)
		if is, known := m.State.Get(x); x != nil && known && (is.Is&k == 0 || is.Is&^k == 0) {
			return (b.Op == "==") == (is.Is&k != 0), true
		}
	}
	if v.Is&Absent == 0 || v.Is&^Absent == 0 {
		return v.Is&Absent == 0, true
	}
	return false, false
}

// holds reports whether a name certainly holds a text: it gets that or a reply, and now has no reply.
func (m *Machine) holds(e parse.Expr, text string) bool {
	sources := m.C.Flow.Sources[parse.VarOf(e)]
	return m.Peek(e).Word && !slices.ContainsFunc(sources, func(s Source) bool {
		literal, isLiteral := parse.ConstantText(s.Expr)
		return (!isLiteral || literal != text) && !m.C.single(s.Expr)
	})
}

// New reports whether a value says how long a key lives that was just created.
func (v Value) New() bool { return v.made == lifetime }

// Written reports whether a value is a number that is written out.
func (v Value) Written() bool { return v.Constant() || v.Is == IsNumber && v.Size == ZeroSize }

// Compares reports whether a comparison is true. It is false for another operator.
func Compares(a float64, op string, b float64) bool {
	return slices.Contains([][]string{{"<", "<=", "~="}, {"==", "<=", ">="}, {">", ">=", "~="}}[cmp.Compare(a, b)+1], op)
}

// gives notes a call that gives a key an expiry.
func (m *Machine) gives(call CommandCall, key string) {
	made := m.State.fresh[key]
	m.State.Sure[lives+key] = true
	if delete(m.State.fresh, key); AnyOf(key) {
		clear(m.State.fresh)
	}
	marks := m.Frame.Given[key]
	if made == nil {
		made = &creation{Name: call.Names[0], Value: m.KeyText(call.Words, 2)}
	}
	if made.Name != call.Names[0] || len(call.Words) == 3 || !Is(made.Name, "ending") { // With NX, it may do nothing.
		when := 2
		if call.Names[0] == "set" {
			when = 3 // behind the value
		}
		marks = append(marks, Mark{call.Expr.P, *made, call.Words[min(when, len(call.Words)):], m.State.trail})
	}
	m.Frame.Given[key] = marks
}

// AnyOf reports whether the text of a key may stand for any key: an element of a list, or an unknown one.
func AnyOf(key string) bool {
	return key == "" || strings.Contains(key, "@") && !strings.Contains(key, "..")
}

// leaves notes the keys that a way leaves without an expiry at its end, if it does not return the error of a failed write.
func (m *Machine) leaves(pos parse.Pos, returned Value) {
	for key, made := range m.State.fresh {
		if !m.State.Dead && !m.State.Never && !(made.tried && returned.Is == IsFailed) && (made.Drops || !m.State.Sure[looked+key]) {
			m.Frame.Left[key] = append(m.Frame.Left[key], Mark{Pos: pos, Made: *made, Way: m.State.trail})
		}
	}
}

// Shares reports whether two expressions have a name or an argument in common.
func (c *code) Shares(a, b parse.Expr) bool {
	return parse.Contains(a, func(e parse.Expr) bool {
		n, x := c.Nth(e, "ARGV"), parse.VarOf(e)
		return parse.Contains(b, func(e parse.Expr) bool {
			return n > 0 && c.Nth(e, "ARGV") == n || x != nil && parse.VarOf(e) == x
		})
	})
}

// AsksOf returns the keys of the commands whose replies are in a condition. It is unclear if a function's result is in it.
func (m *Machine) AsksOf(cond parse.Expr) (keys []string, unclear bool) {
	for _, call := range m.C.CommandsIn(cond) {
		keys = append(keys, m.KeyText(call.Words, 1))
	}
	return keys, m.C.Flow.Within(cond, parse.Of(func(call *parse.CallExpr) bool {
		_, sent := m.C.words(call)
		return !sent && m.C.Callee(call) == ""
	}))
}

// InCondition reports whether some condition is about the reply of a call.
func (c *code) InCondition(call *parse.CallExpr) bool {
	return len(c.Flow.Conds) > MaxWithin || slices.ContainsFunc(c.Flow.Conds, func(cond parse.Expr) bool {
		return c.Flow.Within(cond, func(e parse.Expr) bool { return e == parse.Expr(call) })
	})
}
