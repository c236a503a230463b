package check

import (
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// expiry checks the time that a command gets.
func (j *judge) expiry(cmd *flow.Command, e parse.Expr, f flow.Form, last parse.Expr) {
	want, v, shown, fails := flow.Units[f.Word], j.Peek(e), strings.ToUpper(cmd.Name), "fails"
	if slices.Contains(flow.Ending, cmd.Name) {
		fails = "deletes the key"
	}
	is, known := j.unitOfExpiry(e, v, want), j.C.Compared != nil
	written := v.Least > 0 && v.Least == v.Size // the text of a number, too
	if written && !flow.IsLiteral(last, "gt") { // which makes no life shorter
		is = is.Or(meant(v.Size, want))
	}
	switch {
	case want.Per == 0 || !cmd.Writes:
	case is.Per >= 1 && is.Apart(want), is.Per == want.Per && is.As+want.As == flow.ATime+flow.ADuration:
		j.may(e.Pos(), Time, "%s takes %s here, and this is in %s: %s", shown, want, is, is.Remedy(want))
	case want.As == flow.ATime && (written && v.Size < 1e9*want.Per || is.As == flow.ADuration || j.minutes(e)):
		j.find(e.Pos(), Time, "%s takes the time since 1970 here, and this is a duration, or long ago: add the time", shown)
	case v.Frac || v.Split && !j.State.Knows(flow.SomeWhole):
		j.may(e.Pos(), Expire, "%s fails if this has a fraction: write math.ceil", shown)
	case want.As == flow.ADuration && (v.Low || known && j.mayBeZero(j.C.Factor(e))):
		j.may(e.Pos(), Expire, "%s %s if this is 0 or less: write math.max(1, ...)", shown, fails)
	case want.As == flow.ADuration && known && v.Least == 0 && j.admitsZero(j.C.Factor(e)):
		j.may(e.Pos(), Expire, "%s %s if this is 0, which the condition lets by: ask for > 0", shown, fails)
	}
}

// option finds a wrong time that is put behind EX or PX into a list, which is meant for SET.
func (j *judge) option(list *parse.Var, e parse.Expr) {
	stores, set := j.C.Flow.Stores[list], j.C.Tables.Usual()[0].Commands["set"]
	i := slices.Index(stores[:min(len(stores), flow.MaxWithin)], e)
	if i < 1 || set == nil {
		return
	}
	name, _ := flow.ConstantText(stores[i-1])
	if word := map[string]string{"ex": "seconds", "px": "milliseconds"}[strings.ToLower(name)]; word != "" {
		j.expiry(set, e, flow.Form{Word: word}, e)
	}
}

// unitOfExpiry returns the unit of a time that a command gets, of which the name may say it: what one ttl is in, others are.
func (j *judge) unitOfExpiry(e parse.Expr, v flow.Value, want flow.Unit) flow.Unit {
	if words := strings.Fields(flow.Spoken(j.C.NameOf(e))); len(words) > 0 {
		v.Roots = flow.Joined(v.Roots, []flow.Root{{Of: "named " + words[len(words)-1], By: 1}})
	}
	is := j.unitOf(v, flow.Unit{Per: want.Per, Line: e.Pos().Line})
	is = is.Or(flow.Said(j.C.Said[flow.Itoa(e.Pos().Line-1)], flow.InComment))
	if want.Per == 1 {
		is = is.Or(j.unitOf(v.Divided(), flow.Unit{}))
	}
	return is
}

// meant returns the unit in which a number that is written out is meant: whole minutes of the other unit, or so few
// milliseconds that nobody means them.
func meant(n float64, want flow.Unit) flow.Unit {
	whole := func(of float64) bool { return math.Mod(n, of) == 0 }
	switch {
	case want == flow.Units["seconds"] && whole(60_000) && (!whole(3600) || whole(3_600_000)):
		return flow.Unit{Per: 1000}
	case want == flow.Units["milliseconds"] && (n < 100 || n >= 1800 && whole(60) && !whole(1000)):
		return flow.Unit{Per: 1}
	}
	return flow.Unit{}
}

// admitsZero reports whether the script lets an expiry of 0 by: it compares that only with 0, by >= or <, or the one condition
// around asks less of it.
func (j *judge) admitsZero(e parse.Expr) bool {
	var lets, asked, above bool
	for _, by := range j.C.ComparedWith(e) {
		zero := j.Peek(by.With).Size == flow.ZeroSize
		not := zero && (by.Op == ">=" || by.Op == "<")
		lets, asked, above = lets || not, asked || !not, above || zero && !not
	}
	elsewhere := above && j.Depth == 0 && !j.State.Holds(j.Above(e))
	return lets && !asked || (!asked || elsewhere) && j.guarded(e)
}

// guarded reports whether the one condition around about an argument lets 0 by.
func (j *judge) guarded(e parse.Expr) bool {
	about := slices.DeleteFunc(slices.Clone(j.Conds), func(cond parse.Expr) bool { return !j.C.Shares(e, cond) })
	return j.Peek(e).Surely(flow.IsNumber) && len(about) == 1 && j.letsBy(e, about[0])
}

// letsBy reports whether a condition asks only whether there is an argument, or for >= 0, or is about others.
func (j *judge) letsBy(e, cond parse.Expr) bool {
	is := func(x parse.Expr) bool { return j.C.Spelling(x) == j.C.Spelling(e) }
	b, ok := flow.Unparen(cond).(*parse.BinaryExpr)
	switch {
	case !j.C.Shares(e, cond):
		return true
	case !ok:
		return is(cond)
	case b.Op == "and":
		return j.letsBy(e, b.L) && j.letsBy(e, b.R)
	case b.Op == "~=" && flow.IsFalsy(b.R), b.Op == ">=" && j.Peek(b.R).Size == flow.ZeroSize:
		return is(b.L)
	}
	return false
}

// mayBeZero reports whether a comment says what 0 means in an argument, and the script never compares it.
func (j *judge) mayBeZero(e parse.Expr) bool {
	says := j.C.Said["ARGV["+flow.Itoa(j.C.Nth(e, "ARGV"))+"]"] + j.C.Said[j.C.NameOf(e)]
	return flow.ZeroAllowed.MatchString(says) && len(j.C.ComparedWith(e)) == 0
}

// minutes reports whether an expression is so many minutes, hours or days.
func (j *judge) minutes(e parse.Expr) bool {
	b, ok := j.C.Origin(e).(*parse.BinaryExpr)
	return ok && b.Op == "*" && (math.Mod(flow.Bound(b.L), 60) == 0 || math.Mod(flow.Bound(b.R), 60) == 0)
}
