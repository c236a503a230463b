package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// mark is a place on a way.
type mark struct {
	pos   parse.Pos
	made  creation     // of the key
	words []parse.Expr // that say when it ends
	way   *branch      // that leads to it
}

// decided evaluates a condition, and returns whether it is true, if the way so far decides that.
func (m *machine) decided(cond parse.Expr, v value) (truth, decided bool) {
	if b, ok := unparen(cond).(*parse.BinaryExpr); ok {
		if l, r := m.peek(b.L), m.peek(b.R); l.written() && r.written() {
			return compares(l.least, b.Op, r.least), true
		}
		if text, isText := b.R.(*parse.StringExpr); isText && m.holds(b.L, text.Value) {
			return b.Op == "==", true
		}
		x, k := typed(b.L, b.R)
		if is, known := m.state.get(x); x != nil && known && (is.is&k == 0 || is.is&^k == 0) {
			return (b.Op == "==") == (is.is&k != 0), true
		}
	}
	if v.is&absent == 0 || v.is&^absent == 0 {
		return v.is&absent == 0, true
	}
	x := varOf(cond)
	for b := m.state.trail; x != nil && len(x.Writes) == 0 && b != nil && m.state.trail.n-b.n < maxNames; b = b.up {
		if varOf(b.cond) == x {
			return b.truth, true
		}
	}
	return false, false
}

// holds reports whether a name certainly holds a text: it gets that or a reply, and now has no reply.
func (m *machine) holds(e parse.Expr, text string) bool {
	sources := m.c.flow.sources[varOf(e)]
	return m.peek(e).word && !slices.ContainsFunc(sources, func(s source) bool {
		literal, isLiteral := constantText(s.expr)
		return (!isLiteral || literal != text) && !m.c.single(s.expr)
	})
}

// written reports whether a value is a number that is written out.
func (v value) written() bool { return v.constant() || v.is == isNumber && v.size == zeroSize }

// independent reports whether no two turns since then are about one thing, but that it is not equal to something.
func (m *machine) independent(since int) bool {
	seen := map[any]bool{}
	if m.state.trail.turns() < since { // Several ways have joined.
		return false
	}
	var turns []*branch
	for turn := m.state.trail; turn.turns() > since; turn = turn.up {
		if turns = append(turns, turn); turn.cond == nil || len(turns) > maxNames {
			return false
		}
	}
	for _, turn := range slices.Backward(turns) {
		b, equals := unparen(turn.cond).(*parse.BinaryExpr)
		equals = equals && (b.Op == "==" || b.Op == "~=")
		apart, about := equals && (b.Op == "~=") == turn.truth, m.touched(turn.cond)
		if slices.ContainsFunc(about, func(what any) bool {
			return seen[what] || equals && !apart && seen[limited{what}]
		}) {
			return false
		}
		for _, what := range about {
			if apart {
				what = limited{what}
			}
			seen[what] = true
		}
	}
	return true
}

// compares reports whether a comparison is true. It is false for another operator.
func compares(a float64, op string, b float64) bool {
	return slices.Contains([][]string{{"<", "<=", "~="}, {"==", "<=", ">="}, {">", ">=", "~="}}[cmp.Compare(a, b)+1], op)
}

// gives notes a call that gives a key an expiry.
func (m *machine) gives(call commandCall, key string) {
	made := m.state.fresh[key]
	if delete(m.state.fresh, key); anyOf(key) {
		clear(m.state.fresh)
	}
	marks := m.frame.given[key]
	if made == nil {
		made = &creation{name: call.names[0], value: m.keyText(call.words, 2)}
	}
	if made.name != call.names[0] || len(call.words) == 3 || !slices.Contains(ending, made.name) { // With NX, it may do nothing.
		when := 2
		if call.names[0] == "set" {
			when = 3 // behind the value
		}
		marks = append(marks, mark{call.expr.P, *made, call.words[min(when, len(call.words)):], m.state.trail})
	}
	m.frame.given[key] = marks
}

// anyOf reports whether the text of a key may stand for any key: an element of a list, or an unknown one.
func anyOf(key string) bool {
	return key == "" || strings.Contains(key, "@") && !strings.Contains(key, "..")
}

// leaves notes the keys that a way has written and left without an expiry at its end. It notes none on a way that returns the
// error of a failed write.
func (m *machine) leaves(pos parse.Pos, returned value) {
	for key, made := range m.state.fresh {
		if !m.state.dead && !m.state.never && !(made.tried && returned.is == isFailed) && (made.drops || !m.state.sure[looked+key]) {
			m.frame.left[key] = append(m.frame.left[key], mark{pos: pos, made: *made, way: m.state.trail})
		}
	}
}

// shares reports whether two expressions have a name or an argument in common.
func (c *code) shares(a, b parse.Expr) bool {
	return parse.Contains(a, func(e parse.Expr) bool {
		n, x := c.nth(e, "ARGV"), varOf(e)
		return parse.Contains(b, func(e parse.Expr) bool {
			return n > 0 && c.nth(e, "ARGV") == n || x != nil && varOf(e) == x
		})
	})
}

// asksOf returns the keys of the commands whose replies are in a condition: then no caller chooses that it is true. It is
// unclear if there is the result of a function in it.
func (m *machine) asksOf(cond parse.Expr) (keys []string, unclear bool) {
	m.c.flow.within(cond, func(e parse.Expr) bool {
		call, isCall := e.(*parse.CallExpr)
		if !isCall {
			return false
		}
		if words, ok := m.c.words(call); ok {
			keys = append(keys, m.keyText(words, 1))
		} else {
			unclear = unclear || m.c.callee(call) == ""
		}
		return false
	})
	return keys, unclear
}

// about notes that a value is the result of a function that got others.
func (v *value) about(name string, args []value) {
	for _, arg := range args {
		if v.of == "" && arg.of != "" {
			v.of, v.mixed = arg.of, arg.mixed || name != "tonumber" && name != "tostring"
		}
	}
}

// inCondition reports whether some condition is about the reply of a call.
func (c *code) inCondition(call *parse.CallExpr) bool {
	return len(c.flow.conds) > maxWithin || slices.ContainsFunc(c.flow.conds, func(cond parse.Expr) bool {
		return c.flow.within(cond, func(e parse.Expr) bool { return e == parse.Expr(call) })
	})
}
