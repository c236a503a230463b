package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// misnamed finds what is in another unit than its name says, and returns it with that unit, if none is known.
func (j *judge) misnamed(name string, says flow.Unit, v flow.Value, pos parse.Pos) flow.Value {
	if is := j.unitOf(v, flow.Unit{Per: says.Per, Line: pos.Line}); is.Apart(says) {
		j.find(pos, Time, "%s is in %s by its name or comment, and this is in %s: %s", name, flow.UnitNames[says.Per], is, is.Remedy(says))
	}
	return v.In(says)
}

// unitOf returns the unit of a time, if need be that in which a line before has what it comes from. If none is known, it
// notes that the time is used in one here. Of what a caller chooses, nothing is certain.
func (j *judge) unitOf(v flow.Value, used flow.Unit) flow.Unit {
	if v.Unit.Per != 0 || len(v.Roots) == 0 || j.chosen() {
		return v.Unit
	}
	for _, r := range v.Roots {
		if seen, ok := j.timed[r.Of]; ok {
			return seen.Times(r.By)
		}
	}
	for _, r := range v.Roots {
		if r.By == 1000 && used.Per == 1 {
			return flow.Unit{Per: 1000} // nobody has thousands of seconds
		}
		if used.Per != 0 && j.Quiet == 0 && r.Of != "" {
			j.timed[r.Of] = used.Times(1 / r.By)
		}
	}
	return v.Unit
}

// chosen reports whether a caller chooses by a condition what runs here: by an order it chooses no unit.
func (j *judge) chosen() bool {
	return slices.ContainsFunc(j.Conds, func(cond parse.Expr) bool {
		keys, _ := j.AsksOf(cond)
		return len(keys) == 0 && !parse.Contains(cond, func(e parse.Expr) bool {
			b, ok := e.(*parse.BinaryExpr)
			return ok && strings.ContainsAny(b.Op, "<>")
		})
	})
}

// meet finds times of different units that meet in a sum, a difference, a quotient or a comparison. Those that TIME replies
// with may be added as a seed.
func (j *judge) meet(pos parse.Pos, l, r flow.Value) {
	if max(l.Unit.As, r.Unit.As) > flow.ATime {
		return
	}
	u := j.unitOf(l, flow.Unit{})
	w := j.unitOf(r, flow.Unit{Per: u.Per, Line: pos.Line})
	if u.Per == 0 {
		u = j.unitOf(l, flow.Unit{Per: w.Per, Line: pos.Line})
	}
	if u.Per > w.Per {
		u, w, r = w, u, l
	}
	if u.Apart(w) && !(u.Per == 1 && r.Unit == flow.Units["microseconds"] && j.C.Seeds) {
		j.find(pos, Time, "this mixes %s with %s: multiply the %s by %.0f", flow.Unit{Per: u.Per, Line: u.Line}, flow.Unit{Per: w.Per, Line: w.Line},
			flow.UnitNames[u.Per], w.Per/u.Per)
	}
}

// replaces finds a time that takes the place of another under a condition about that, and is in another unit.
func (j *judge) replaces(x *parse.Var, e parse.Expr, v flow.Value) {
	if n := len(j.Conds); n > 0 && flow.Mentions(j.Conds[n-1], x) && !flow.Mentions(e, x) {
		was, _ := j.State.Get(x)
		j.meet(e.Pos(), was, v)
	}
}

// stores checks a time that a command gets to keep, or to look for.
func (j *judge) keeps(match *flow.Matching, i int) {
	v, pos := j.Peek(match.Words[i]), match.Words[i].Pos()
	switch f := match.As[i]; {
	case f.Number && slices.Contains([]string{"score", "min", "max"}, f.Word):
		j.meet(pos, flow.Value{Number: flow.Number{Roots: j.Scores(match.Words)}}, v)
	case f.Word == "value" && match.As[i-1].Word == "field":
		j.misnamed("the field", j.OfField(match.Words[1], match.Words[i-1]), v, pos)
	}
}

// padded finds the microseconds of TIME right behind its seconds.
func (j *judge) padded(s flow.Sight) {
	previous, dotted := flow.Role(0), false
	for i, operand := range flow.Operands(s.E) {
		if v := s.Args[i]; previous == flow.ASecond && v.Role == flow.AMicro {
			j.find(operand.Pos(), Time, "the microseconds of TIME are not padded: write string.format('%%06d', ...)")
		}
		dot, isString := operand.(*parse.StringExpr)
		if dotted = isString && dot.Value == "." && previous == flow.ASecond && !dotted; !dotted {
			previous = s.Args[i].Role
		}
	}
}
