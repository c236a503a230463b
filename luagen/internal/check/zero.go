package check

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// What lets 0 by in an expiry is found here.

// zero reports whether an expiry is an argument, and the one condition around about it lets 0 by. Others say that 0 is none.
// Among very many conditions it looks for none.
func (m *machine) zero(e parse.Expr) bool {
	n := m.c.nth(e, "ARGV")
	if n == 0 || !m.peek(e).surely(isNumber) || len(m.c.flow.conds) > maxWithin {
		return false
	}
	var around, others []parse.Expr
	for _, cond := range m.c.flow.conds {
		switch {
		case !m.c.shares(e, cond):
		case slices.Contains(m.conds, cond):
			around = append(around, cond)
		default:
			others = append(others, cond)
		}
	}
	asked := len(others) > 0 && (m.depth > 0 || m.state.holds(aboveZero+itoa(n)) || !slices.ContainsFunc(others, m.above(n)))
	return len(around) == 1 && m.letsBy(e, around[0]) && !asked
}

// comparison is one of an expression, by its subject.
type comparison struct {
	of, op string
	with   parse.Expr
}

// comparisons returns those of a script, from both sides, none if there are too many.
func (c *checker) comparisons() (all []comparison) {
	for _, e := range c.flow.exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && negated[b.Op] != "" {
			all = append(all, comparison{c.subject(b.L), b.Op, b.R}, comparison{c.subject(b.R), mirrored[b.Op], b.L})
		}
		if len(all) > maxWithin {
			return nil
		}
	}
	return all
}

// subject returns a text for an argument, or for an expression as it is spelt, without tonumber and tostring.
func (c *checker) subject(e parse.Expr) string {
	call, ok := unparen(e).(*parse.CallExpr)
	if n := c.nth(e, "ARGV"); n > 0 {
		return "ARGV " + itoa(n)
	} else if ok && len(call.Args) == 1 && (c.callee(call) == "tonumber" || c.callee(call) == "tostring") {
		return c.subject(call.Args[0])
	}
	return spelt(unparen(e))
}

// admitsZero reports whether 0 is the only number with which the script compares an expiry, and so that this lets it by.
// Of a parameter it is enough if that is so of what one call gives it.
func (m *machine) admitsZero(e parse.Expr, left int) bool {
	lets, subject, param := false, m.c.subject(e), m.c.flow.params[varOf(e)]
	for _, by := range m.c.compared {
		if by.of != subject || isFalsy(by.with) {
			continue
		}
		if lets = by.op == ">=" || by.op == "<"; !lets || m.peek(by.with).size != zeroSize {
			return false
		}
	}
	if param.owner == nil {
		return lets
	}
	return left > 0 && slices.ContainsFunc(m.c.flow.called[param.owner], func(call *parse.CallExpr) bool {
		return param.n < len(call.Args) && m.admitsZero(call.Args[param.n], left-1)
	})
}

// above returns a function that reports whether a condition asks whether an argument is above 0.
func (m *machine) above(n int) func(parse.Expr) bool {
	asks := func(e parse.Expr) bool {
		b, ok := e.(*parse.BinaryExpr)
		return ok && m.c.nth(b.L, "ARGV") == n && m.peek(b.R).size == zeroSize && (b.Op == ">" || b.Op == "<=")
	}
	return func(cond parse.Expr) bool { return parse.Contains(cond, asks) }
}

// letsBy reports whether a condition asks only whether there is an argument, or for >= 0, or is about others.
func (m *machine) letsBy(e, cond parse.Expr) bool {
	is := func(x parse.Expr) bool { return m.c.nth(x, "ARGV") == m.c.nth(e, "ARGV") }
	b, ok := unparen(cond).(*parse.BinaryExpr)
	switch {
	case !ok:
		return is(cond) || !m.c.shares(e, cond)
	case b.Op == "and":
		return m.letsBy(e, b.L) && m.letsBy(e, b.R)
	case b.Op == "~=" && isFalsy(b.R), b.Op == ">=" && m.peek(b.R).size == zeroSize:
		return is(b.L)
	}
	return !m.c.shares(e, cond)
}

// mayBeZero reports whether a comment says what 0 means in an argument, and the script has not asked about it.
func (m *machine) mayBeZero(e parse.Expr) bool {
	n := m.c.nth(e, "ARGV")
	return zeroAllowed.MatchString(m.c.said["ARGV["+itoa(n)+"]"]) && !m.state.knows(anArgument+itoa(n))
}
