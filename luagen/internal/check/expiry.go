package check

import (
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// expiry checks the time that a command gets.
func (j *judge) expiry(cmd *command, e parse.Expr, f form, last parse.Expr) {
	want, v, shown, fails := units[f.word], j.peek(e), strings.ToUpper(cmd.name), "fails"
	if slices.Contains(ending, cmd.name) {
		fails = "deletes the key"
	}
	is, known := j.unitOfExpiry(e, v, want), j.c.compared != nil
	written := v.least > 0 && v.least == v.size // the text of a number, too
	if written && !isLiteral(last, "gt") {      // which makes no life shorter
		is = is.or(meant(v.size, want))
	}
	switch {
	case want.per == 0 || !cmd.writes:
	case is.per >= 1 && is.apart(want), is.per == want.per && is.as+want.as == aTime+aDuration:
		j.may(e.Pos(), Time, "%s takes %s here, and this is in %s: %s", shown, want, is, is.remedy(want))
	case want.as == aTime && (written && v.size < 1e9*want.per || is.as == aDuration || j.minutes(e)):
		j.find(e.Pos(), Time, "%s takes the time since 1970 here, and this is a duration, or long ago: add the time", shown)
	case v.frac || v.split && !j.state.knows(someWhole):
		j.may(e.Pos(), Expire, "%s fails if this has a fraction: write math.ceil", shown)
	case want.as == aDuration && (v.low || known && j.mayBeZero(j.c.factor(e))):
		j.may(e.Pos(), Expire, "%s %s if this is 0 or less: write math.max(1, ...)", shown, fails)
	case want.as == aDuration && known && v.least == 0 && j.admitsZero(j.c.factor(e)):
		j.may(e.Pos(), Expire, "%s %s if this is 0, which the condition lets by: ask for > 0", shown, fails)
	}
}

// option finds a wrong time that is put behind EX or PX into a list, which is meant for SET.
func (j *judge) option(list *parse.Var, e parse.Expr) {
	stores, set := j.c.flow.stores[list], j.c.tables.usual()[0].commands["set"]
	i := slices.Index(stores[:min(len(stores), maxWithin)], e)
	if i < 1 || set == nil {
		return
	}
	name, _ := constantText(stores[i-1])
	if word := map[string]string{"ex": "seconds", "px": "milliseconds"}[strings.ToLower(name)]; word != "" {
		j.expiry(set, e, form{word: word}, e)
	}
}

// unitOfExpiry returns the unit of a time that a command gets, of which the name may say it: what one ttl is in, others are.
func (j *judge) unitOfExpiry(e parse.Expr, v value, want unit) unit {
	if words := strings.Fields(spoken(j.c.nameOf(e))); len(words) > 0 {
		v.roots = joined(v.roots, []root{{"named " + words[len(words)-1], 1}})
	}
	is := j.unitOf(v, unit{per: want.per, line: e.Pos().Line})
	is = is.or(said(j.c.said[itoa(e.Pos().Line-1)], inComment))
	if want.per == 1 {
		is = is.or(j.unitOf(v.divided(), unit{}))
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

// admitsZero reports whether the script lets an expiry of 0 by: it compares that only with 0, by >= or <, or the one condition
// around asks less of it.
func (j *judge) admitsZero(e parse.Expr) bool {
	var lets, asked, above bool
	for _, by := range j.c.comparedWith(e) {
		zero := j.peek(by.with).size == zeroSize
		not := zero && (by.op == ">=" || by.op == "<")
		lets, asked, above = lets || not, asked || !not, above || zero && !not
	}
	elsewhere := above && j.depth == 0 && !j.state.holds(j.above(e))
	return lets && !asked || (!asked || elsewhere) && j.guarded(e)
}

// guarded reports whether the one condition around about an argument lets 0 by.
func (j *judge) guarded(e parse.Expr) bool {
	about := slices.DeleteFunc(slices.Clone(j.conds), func(cond parse.Expr) bool { return !j.c.shares(e, cond) })
	return j.peek(e).surely(isNumber) && len(about) == 1 && j.letsBy(e, about[0])
}

// letsBy reports whether a condition asks only whether there is an argument, or for >= 0, or is about others.
func (j *judge) letsBy(e, cond parse.Expr) bool {
	is := func(x parse.Expr) bool { return j.c.spelling(x) == j.c.spelling(e) }
	b, ok := unparen(cond).(*parse.BinaryExpr)
	switch {
	case !j.c.shares(e, cond):
		return true
	case !ok:
		return is(cond)
	case b.Op == "and":
		return j.letsBy(e, b.L) && j.letsBy(e, b.R)
	case b.Op == "~=" && isFalsy(b.R), b.Op == ">=" && j.peek(b.R).size == zeroSize:
		return is(b.L)
	}
	return false
}

// mayBeZero reports whether a comment says what 0 means in an argument, and the script never compares it.
func (j *judge) mayBeZero(e parse.Expr) bool {
	says := j.c.said["ARGV["+itoa(j.c.nth(e, "ARGV"))+"]"] + j.c.said[j.c.nameOf(e)]
	return zeroAllowed.MatchString(says) && len(j.c.comparedWith(e)) == 0
}

// minutes reports whether an expression is so many minutes, hours or days.
func (j *judge) minutes(e parse.Expr) bool {
	b, ok := j.c.origin(e).(*parse.BinaryExpr)
	return ok && b.Op == "*" && (math.Mod(bound(b.L), 60) == 0 || math.Mod(bound(b.R), 60) == 0)
}
