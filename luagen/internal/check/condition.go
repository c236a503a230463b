package check

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// condition finds a number where a condition stands, which was evaluated: 0 is true in Lua. The left part of "and" and
// "or", and what "not" is for, are found where they are evaluated.
func (m *machine) condition(e parse.Expr) {
	e = unparen(e)
	switch x := e.(type) {
	case *parse.BinaryExpr:
		if x.Op == "and" || x.Op == "or" {
			m.condition(x.R)
			return
		}
	case *parse.NumberExpr: // while 1 do
		return
	}
	origin := m.c.origin(e)
	_, constant := origin.(*parse.NumberExpr)
	call, isCall := origin.(*parse.CallExpr)
	if constant || m.covered[e] || m.passed(origin, "tonumber") != nil {
		return
	}
	switch v := m.peek(e); {
	case v.is&^isFailed == isNumber, isCall && m.c.flow.bodies[varOf(call.Fn)] != nil && v.is&^(isFailed|isFalseValue) == isNumber:
		m.find(e.Pos(), Compare, "a number is true in Lua, 0 too: compare it, as in == 1 or > 0")
	case v.is&(isFailed|isTable) == isFailed && v.is&absent != 0 && !m.looksAt(e):
		m.find(e.Pos(), Compare, "this is true for an error, too, as redis.pcall returns it: ask for its err, or write redis.call")
	case isCall && m.c.callee(call) == "" && v.surely(0):
		m.find(e.Pos(), Compare, "this is never true: the function returns only nil or false")
	}
}

// looksAt reports whether a script has the reply in a name, and asks somewhere what it is.
func (m *machine) looksAt(e parse.Expr) bool {
	x := varOf(e)
	return x != nil && (len(m.c.flow.indices[x]) > 0 || slices.ContainsFunc(m.c.flow.calls, func(call *parse.CallExpr) bool {
		return m.c.callee(call) == "type" && len(call.Args) == 1 && varOf(call.Args[0]) == x
	}))
}

// defaults notes "if not x then x = 0 end", which is to be on the safe side.
func (m *machine) defaults(cond parse.Expr, body *parse.Block) {
	x, _, test := constantTest(cond)
	if assigned(body)[x] && len(body.Stmts) == 1 {
		m.covered[test] = true
	}
}

// operand checks the left part of "and" or "or". In "x and 1 or 2" the 1 is no condition, and "count or 0" is to be on
// the safe side.
func (m *machine) operand(e *parse.BinaryExpr) {
	l, ok := unparen(e.L).(*parse.BinaryExpr)
	if e.Op == "or" && (ok && l.Op == "and" || constantKind(e.R) != 0) {
		return
	}
	m.condition(e.L)
}

// cover notes what stands in a chain of "or" or "and" to be on the safe side: the comparisons of a name with constants
// of several kinds, as in "x == nil or x == false or x == 0", and the test of a name that another part is about, as in
// "x and x > 0".
func (m *machine) cover(e *parse.BinaryExpr) {
	kinds, mentioned := map[*parse.Var]kinds{}, map[*parse.Var]int{}
	operands := m.chain(e)
	for _, operand := range operands {
		if x, kind, _ := constantTest(operand); x != nil {
			kinds[x] |= kind
		}
		for _, x := range namesIn(operand) {
			mentioned[x]++
		}
	}
	for _, operand := range operands {
		x, kind, test := constantTest(operand)
		_, compares := test.(*parse.BinaryExpr)
		unsafe := kind == isNil && kinds[x]&isFalseValue == 0 // a nil reply is false
		if x != nil && (compares && kinds[x] != kind && !unsafe || !compares && mentioned[x] > 1) {
			m.covered[test] = true
		}
	}
}

// chain returns the operands of a chain of "or", or of "and"; none for a part of a chain that was seen before.
func (m *machine) chain(e *parse.BinaryExpr) (operands []parse.Expr) {
	if m.chained[e] {
		return nil
	}
	rest := []parse.Expr{e}
	for len(rest) > 0 {
		last := unparen(rest[len(rest)-1])
		rest = rest[:len(rest)-1]
		if b, ok := last.(*parse.BinaryExpr); ok && b.Op == e.Op {
			m.chained[b] = true
			rest = append(rest, b.L, b.R)
		} else {
			operands = append(operands, last)
		}
	}
	return operands
}

// constantTest reads a test of a name for a constant, "x == 0" or "x ~= nil", which is the comparison; or for nil and
// false, "x" or "not x", which is the name.
func constantTest(e parse.Expr) (x *parse.Var, kind kinds, test parse.Expr) {
	switch e := unparen(e).(type) {
	case *parse.NameExpr:
		return e.Var, isFalseValue, e
	case *parse.UnaryExpr:
		if name, ok := unparen(e.X).(*parse.NameExpr); ok && e.Op == "not" {
			return name.Var, isFalseValue, name
		}
	case *parse.BinaryExpr:
		for _, pair := range [][2]parse.Expr{{e.L, e.R}, {e.R, e.L}} {
			name, ok := unparen(pair[0]).(*parse.NameExpr)
			if kind := constantKind(pair[1]); ok && kind != 0 && (e.Op == "==" || e.Op == "~=") {
				return name.Var, kind, e
			}
		}
	}
	return nil, 0, nil
}

// constantKind returns the kind of a constant, 0 if an expression is none.
func constantKind(e parse.Expr) kinds {
	switch unparen(e).(type) {
	case *parse.NilExpr:
		return isNil
	case *parse.BoolExpr:
		return isFalseValue
	case *parse.NumberExpr:
		return isNumber
	case *parse.StringExpr:
		return isText
	}
	return 0
}
