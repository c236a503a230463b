package check

import (
	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// meet finds times of different units that meet in a sum, a difference, a quotient or a comparison. Those that TIME replies
// with may be added as a seed.
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
