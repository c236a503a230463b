package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// walk follows the ways through a body, one after the other. It notes which keys each leaves without an expiry, and where
// others give them one.
type walk struct {
	turns  []branch          // of the present way, as far as they are known
	rest   [][]branch        // how other ways begin
	at     int               // how many of them were taken
	steps  int               // statements of all ways
	helped bool              // some function gives keys an expiry
	given  map[string][]mark // by key: calls that give it an expiry,
	left   map[string][]mark // and ends of ways that have written it and have given it none
}

// branch is a condition on a way, and whether it was true.
type branch struct {
	cond  parse.Expr
	truth bool
	at    int // where the machine is before it
}

// mark is a place on a way.
type mark struct {
	pos   parse.Pos
	made  creation     // of the key
	words []parse.Expr // that say when it ends
	turns []branch     // on the way to it
}

// maxFollowed is how many statements are followed on all ways; then no more ways are.
const maxFollowed = 5000

// ways follows those through a body, each from the state in which the machine stands.
func (m *machine) ways(body *parse.Block, depth int, helped bool) *walk {
	w := &walk{helped: helped, given: map[string][]mark{}, left: map[string][]mark{}}
	start := *m
	for more := true; more && w.steps < maxFollowed; more = w.next() {
		*m = start
		m.state, m.way, m.depth = start.state.clone(), w, depth
		m.block(body)
		m.leaves(parse.Pos{}, value{})
	}
	*m = start
	return w
}

// next turns to the next way, if there is one: those that part early from others come first.
func (w *walk) next() bool {
	if len(w.rest) == 0 {
		return false
	}
	w.turns, w.at, w.rest = w.rest[0], 0, w.rest[1:]
	return true
}

func (w *walk) taken() []branch { return slices.Clone(w.turns[:w.at]) }

// fork follows the one branch of a condition that is on the way.
func (m *machine) fork(s *parse.IfStmt) {
	for i, cond := range s.Conds {
		if m.takes(cond) {
			m.block(s.Blocks[i])
			return
		}
	}
	if s.Else != nil {
		m.block(s.Else)
	}
}

// takes returns whether a condition is true on the way. Each part of it is a fork of its own.
func (m *machine) takes(cond parse.Expr) bool {
	not, isNot := unparen(cond).(*parse.UnaryExpr)
	b, isBinary := unparen(cond).(*parse.BinaryExpr)
	switch {
	case isNot && not.Op == "not":
		return !m.takes(not.X)
	case isBinary && (b.Op == "and" || b.Op == "or"):
		if l := m.takes(b.L); l == (b.Op == "or") {
			return l
		}
		return m.takes(b.R)
	}
	if truth, decided := m.decided(cond); decided {
		return truth
	}
	w := m.way
	if w.at == len(w.turns) {
		w.steps += w.at
		w.rest = append(w.rest, append(slices.Clone(w.turns), branch{cond, false, m.branch}))
		w.turns = append(w.turns, branch{cond, true, m.branch})
	}
	w.at++
	m.turn(cond, w.turns[w.at-1].truth)
	return w.turns[w.at-1].truth
}

// decided evaluates a condition, and returns whether it is true, if the way so far decides that.
func (m *machine) decided(cond parse.Expr) (truth, decided bool) {
	v, taken := m.eval(cond), m.way.turns[:m.way.at]
	if b, ok := unparen(cond).(*parse.BinaryExpr); ok {
		if l, r := m.peek(b.L), m.peek(b.R); l.written() && r.written() {
			return compares(l.least, b.Op, r.least), true
		}
		if text, isText := b.R.(*parse.StringExpr); isText && m.holds(b.L, text.Value) {
			return b.Op == "==", true
		}
	}
	if v.is&absent == 0 || v.is&^absent == 0 {
		return v.is&absent == 0, true
	}
	x := varOf(cond)
	i := slices.IndexFunc(taken, func(turn branch) bool { return x != nil && len(x.Writes) == 0 && varOf(turn.cond) == x })
	return i >= 0 && taken[i].truth, i >= 0
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
	for _, turn := range m.way.taken() {
		if turn.at < since {
			continue
		}
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
	marks := m.way.given[key]
	if made == nil {
		made = &creation{name: call.names[0], value: m.keyText(call.words, 2)}
	}
	if made.name != call.names[0] || len(call.words) == 3 || !slices.Contains(ending, made.name) { // With NX, it may do nothing.
		when := 2
		if call.names[0] == "set" {
			when = 3 // behind the value
		}
		marks = append(marks, mark{call.expr.P, *made, call.words[min(when, len(call.words)):], m.way.taken()})
	}
	m.way.given[key] = marks
}

// anyOf reports whether the text of a key may stand for any key: an element of a list, or an unknown one.
func anyOf(key string) bool {
	return key == "" || strings.Contains(key, "@") && !strings.Contains(key, "..")
}

// leaves notes the keys that a way has written and left without an expiry at its end. It notes none on a way that returns the
// error of a failed write.
func (m *machine) leaves(pos parse.Pos, returned value) {
	for key, made := range m.state.fresh {
		if !m.state.dead && !(made.tried && returned.is == isFailed) && (made.drops || !m.state.sure[looked+key]) {
			m.way.left[key] = append(m.way.left[key], mark{pos: pos, made: *made, turns: m.way.taken()})
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
