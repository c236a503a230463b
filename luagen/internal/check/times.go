package check

import (
	"math"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// meet finds times of different units in one operation. Those that TIME replies with may be added as a seed.
func (j *judge) meet(pos parse.Pos, l, r flow.Value) {
	u, w := l.Unit, r.Unit
	if u.Per > w.Per {
		u, w, r = w, u, l
	}
	if u.Apart(w) && !(u.Per == 1 && r.Unit == flow.Units["microseconds"] && j.C.Seeds) {
		j.find(pos, Time, "this mixes %s with %s: multiply the %s by %.0f", flow.UnitNames[u.Per], flow.UnitNames[w.Per],
			flow.UnitNames[u.Per], w.Per/u.Per)
	}
}

// padded finds the microseconds of TIME right behind its seconds.
func (j *judge) padded(s flow.Sight) {
	previous, dotted := flow.Role(0), false
	for i, operand := range flow.Operands(s.E, "..") {
		if v := s.Args[i]; previous == flow.ASecond && v.Role == flow.AMicro {
			j.find(operand.Pos(), Time, "the microseconds of TIME are not padded: write string.format('%%06d', ...)")
		}
		dot, isString := operand.(*parse.StringExpr)
		if dotted = isString && dot.Value == "." && previous == flow.ASecond && !dotted; !dotted {
			previous = s.Args[i].Role
		}
	}
}

func (j *judge) expiry(cmd *flow.Command, e parse.Expr, f flow.Form, last parse.Expr) {
	want, v, shown, fails := flow.Units[f.Word], j.Peek(e), strings.ToUpper(cmd.Name), "fails"
	if flow.Is(cmd.Name, "ending") {
		fails = "deletes the key"
	}
	is := v.Unit.Or(j.C.Hears(j.C.Said[flow.Itoa(e.Pos().Line-1)], flow.InComment))
	b, ok := j.C.Origin(e).(*parse.BinaryExpr) // so many minutes, hours or days
	minutes := ok && b.Op == "*" && (math.Mod(flow.Bound(b.L), 60) == 0 || math.Mod(flow.Bound(b.R), 60) == 0)
	written := v.Least > 0 && v.Least == v.Size // the text of a number, too
	if written && !flow.IsLiteral(last, "gt") { // which makes no life shorter
		is = is.Or(meant(v.Size, want))
	}
	switch {
	case want.Per == 0 || !cmd.Writes:
	case is.Per >= 1 && is.Apart(want), is.Per == want.Per && is.As+want.As == flow.ATime+flow.ADuration:
		j.may(e.Pos(), Time, "%s takes %s here, and this is in %s: %s", shown, want, is, is.Remedy(want))
	case want.As == flow.ATime && (written && v.Size < 1e9*want.Per || is.As == flow.ADuration || minutes):
		j.find(e.Pos(), Time, "%s takes the time since 1970 here, and this is a duration, or long ago: add the time", shown)
	case v.Frac || v.Split && !j.State.Knows(flow.SomeWhole):
		j.may(e.Pos(), Expire, "%s fails if this has a fraction: write math.ceil", shown)
	case want.As == flow.ADuration && v.Low:
		j.may(e.Pos(), Expire, "%s %s if this is 0 or less: write math.max(1, ...)", shown, fails)
	}
}

// meant returns the unit that a number must mean: whole minutes of the other, or so few milliseconds that nobody means them.
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
