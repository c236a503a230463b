package check

import (
	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// misnamed finds what is in another unit than its name says.
func (j *judge) misnamed(name string, says flow.Unit, v flow.Value, pos parse.Pos) {
	if is := v.Unit; is.Apart(says) {
		j.find(pos, Time, "%s is in %s by its name or comment, and this is in %s: %s", name, flow.UnitNames[says.Per], is, is.Remedy(says))
	}
}

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

// keeps checks a time that a field of a hash gets.
func (j *judge) keeps(match *flow.Matching, i int) {
	if word := match.Words[i]; match.As[i].Word == "value" && match.As[i-1].Word == "field" {
		j.misnamed("the field", j.OfField(match.Words[1], match.Words[i-1]), j.Peek(word), word.Pos())
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
