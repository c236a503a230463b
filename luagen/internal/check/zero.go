package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// What lets 0 by in an expiry is found here.

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

// maxGiven is in how many calls is looked for what a parameter gets.
const maxGiven = 20

// admitsZero reports whether 0 is the only number with which the script compares an expiry, and so that this lets it by, or
// whether the one condition around about an argument does. Of a parameter it is enough if that is so of what one call gives.
func (m *machine) admitsZero(e parse.Expr, left int) bool {
	lets, asked, above, subject, param := false, false, false, m.c.subject(e), m.c.flow.params[varOf(e)]
	for _, by := range m.c.compared {
		if by.of == subject && !isFalsy(by.with) {
			zero := m.peek(by.with).size == zeroSize
			not := zero && (by.op == ">=" || by.op == "<")
			lets, asked, above = lets || not, asked || !not, above || zero && !not
		}
	}
	if calls := m.c.flow.called[param.owner]; param.owner != nil {
		return !asked && left > 0 && slices.ContainsFunc(calls[:min(len(calls), maxGiven)], func(call *parse.CallExpr) bool {
			return param.n < len(call.Args) && m.admitsZero(call.Args[param.n], left-1)
		})
	}
	elsewhere := above && m.depth == 0 && !m.state.holds(aboveZero+itoa(m.c.nth(e, "ARGV")))
	return lets && !asked || (!asked || elsewhere) && m.guarded(e)
}

// guarded reports whether the one condition around about an argument lets 0 by.
func (m *machine) guarded(e parse.Expr) bool {
	about := slices.DeleteFunc(slices.Clone(m.conds), func(cond parse.Expr) bool { return !m.c.shares(e, cond) })
	return m.c.nth(e, "ARGV") > 0 && m.peek(e).surely(isNumber) && len(about) == 1 && m.letsBy(e, about[0])
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

// mayBeZero reports whether a comment says what 0 means in an argument, and the script never compares it.
func (m *machine) mayBeZero(e parse.Expr) bool {
	says, subject := m.c.said["ARGV["+itoa(m.c.nth(e, "ARGV"))+"]"]+m.c.said[m.c.nameOf(e)], m.c.subject(e)
	return zeroAllowed.MatchString(says) && len(m.c.flow.exprs) < maxWithin &&
		!slices.ContainsFunc(m.c.compared, func(by comparison) bool { return by.of == subject && !isFalsy(by.with) })
}

// option finds a wrong time that is put behind EX or PX into a list, which is meant for SET.
func (m *machine) option(list *parse.Var, e parse.Expr) {
	stores, set := m.c.flow.stores[list], m.c.tables.usual()[0].commands["set"]
	i := slices.Index(stores[:min(len(stores), maxWithin)], e)
	if i < 1 || set == nil {
		return
	}
	name, _ := constantText(stores[i-1])
	if word := map[string]string{"ex": "seconds", "px": "milliseconds"}[strings.ToLower(name)]; word != "" {
		m.expiry(set, e, form{word: word}, e)
	}
}
