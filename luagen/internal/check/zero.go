package check

import (
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// The time that a command gets for an expiry is checked here, and whether the script lets 0 by.

// expiry checks the time that a command gets.
func (m *machine) expiry(cmd *command, e parse.Expr, f form, last parse.Expr) {
	want, v, shown, fails := units[f.word], m.peek(e), strings.ToUpper(cmd.name), "fails"
	if slices.Contains(ending, cmd.name) {
		fails = "deletes the key"
	}
	is, known := m.unitOfExpiry(e, v, want), m.c.compared != nil
	written := v.least > 0 && v.least == v.size // the text of a number, too
	if written && !isLiteral(last, "gt") {      // which makes no life shorter
		is = is.or(meant(v.size, want))
	}
	switch {
	case want.per == 0 || !cmd.writes:
	case is.per >= 1 && is.apart(want), is.per == want.per && is.as+want.as == aTime+aDuration:
		m.find(e.Pos(), Time, "%s takes %s here, and this is in %s: %s", shown, want, is, is.remedy(want))
	case want.as == aTime && (written && v.size < 1e9*want.per || is.as == aDuration):
		m.find(e.Pos(), Time, "%s takes the time since 1970 here, and this is a duration, or long ago: add the time", shown)
	case v.frac || v.split && !m.state.knows(someWhole):
		m.find(e.Pos(), Expire, "%s fails if this has a fraction: write math.ceil", shown)
	case want.as == aDuration && (v.low || known && m.mayBeZero(m.c.factor(e))):
		m.find(e.Pos(), Expire, "%s %s if this is 0 or less: write math.max(1, ...)", shown, fails)
	case want.as == aDuration && known && v.least == 0 && m.admitsZero(m.c.factor(e)):
		m.find(e.Pos(), Expire, "%s %s if this is 0, which the condition lets by: ask for > 0", shown, fails)
	}
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

// unitOfExpiry returns the unit of a time that a command gets, of which the name may say it: what one ttl is in, others are.
func (m *machine) unitOfExpiry(e parse.Expr, v value, want unit) unit {
	if words := strings.Fields(spoken(m.c.nameOf(e))); len(words) > 0 {
		v.roots = joined(v.roots, []root{{"named " + words[len(words)-1], 1}})
	}
	is := m.unitOf(v, unit{per: want.per, line: e.Pos().Line})
	is = is.or(said(m.c.said[itoa(e.Pos().Line-1)], inComment))
	if want.per == 1 {
		is = is.or(m.unitOf(v.divided(), unit{}))
	}
	return is
}

// meant returns the unit in which a number that is written out is meant: whole minutes of the other unit, or so few
// milliseconds that nobody means them.
func meant(n float64, want unit) unit {
	whole := func(of float64) bool { return math.Mod(n, of) == 0 }
	switch {
	case want == units["seconds"] && whole(60_000) && (!whole(3600) || whole(3_600_000)):
		return unit{per: 1000}
	case want == units["milliseconds"] && (n < 100 || n >= 1800 && whole(60) && !whole(1000)):
		return unit{per: 1}
	}
	return unit{}
}

// comparison is one of an expression, by its subject.
type comparison struct {
	of, op string
	with   parse.Expr
}

// comparisons returns those of a script, from both sides, nil if there are too many.
func (c *checker) comparisons() []comparison {
	all := []comparison{}
	for _, e := range c.flow.exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && negated[b.Op] != "" {
			all = append(all, comparison{c.spelling(b.L), b.Op, b.R}, comparison{c.spelling(b.R), mirrored[b.Op], b.L})
		}
		if len(all) > maxWithin {
			return nil
		}
	}
	return all
}

// comparedWith returns the comparisons of an expression with anything but nil and false.
func (c *checker) comparedWith(e parse.Expr) (all []comparison) {
	subject := c.spelling(e)
	for _, by := range c.compared {
		if by.of == subject && !isFalsy(by.with) {
			all = append(all, by)
		}
	}
	return all
}

// spelling returns a text for an argument, or for an expression as it is spelt, without tonumber and tostring.
func (c *checker) spelling(e parse.Expr) string {
	call, ok := unparen(e).(*parse.CallExpr)
	if n := c.nth(e, "ARGV"); n > 0 {
		return "ARGV " + itoa(n)
	} else if ok && len(call.Args) == 1 && (c.callee(call) == "tonumber" || c.callee(call) == "tostring") {
		return c.spelling(call.Args[0])
	}
	return spelt(unparen(e))
}

// factor returns what is multiplied by a number that is written out to make an expression.
func (c *checker) factor(e parse.Expr) parse.Expr {
	if b, ok := c.origin(e).(*parse.BinaryExpr); ok && b.Op == "*" && constantKind(b.R) == isNumber {
		return b.L
	}
	return e
}

// admitsZero reports whether the script lets an expiry of 0 by: it compares that only with 0, by >= or <, or the one condition
// around asks less of it.
func (m *machine) admitsZero(e parse.Expr) bool {
	var lets, asked, above bool
	for _, by := range m.c.comparedWith(e) {
		zero := m.peek(by.with).size == zeroSize
		not := zero && (by.op == ">=" || by.op == "<")
		lets, asked, above = lets || not, asked || !not, above || zero && !not
	}
	elsewhere := above && m.depth == 0 && !m.state.holds(m.above(e))
	return lets && !asked || (!asked || elsewhere) && m.guarded(e)
}

// guarded reports whether the one condition around about an argument lets 0 by.
func (m *machine) guarded(e parse.Expr) bool {
	about := slices.DeleteFunc(slices.Clone(m.conds), func(cond parse.Expr) bool { return !m.c.shares(e, cond) })
	return m.peek(e).surely(isNumber) && len(about) == 1 && m.letsBy(e, about[0])
}

// letsBy reports whether a condition asks only whether there is an argument, or for >= 0, or is about others.
func (m *machine) letsBy(e, cond parse.Expr) bool {
	is := func(x parse.Expr) bool { return m.c.spelling(x) == m.c.spelling(e) }
	b, ok := unparen(cond).(*parse.BinaryExpr)
	switch {
	case !m.c.shares(e, cond):
		return true
	case !ok:
		return is(cond)
	case b.Op == "and":
		return m.letsBy(e, b.L) && m.letsBy(e, b.R)
	case b.Op == "~=" && isFalsy(b.R), b.Op == ">=" && m.peek(b.R).size == zeroSize:
		return is(b.L)
	}
	return false
}

// mayBeZero reports whether a comment says what 0 means in an argument, and the script never compares it.
func (m *machine) mayBeZero(e parse.Expr) bool {
	says := m.c.said["ARGV["+itoa(m.c.nth(e, "ARGV"))+"]"] + m.c.said[m.c.nameOf(e)]
	return zeroAllowed.MatchString(says) && len(m.c.comparedWith(e)) == 0
}
