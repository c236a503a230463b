package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// misnamed finds what is in another unit than its name says, and returns it with that unit, if none is known.
func (j *judge) misnamed(name string, says unit, v value, pos parse.Pos) value {
	if is := j.unitOf(v, unit{per: says.per, line: pos.Line}); is.apart(says) {
		j.find(pos, Time, "%s is in %s by its name or comment, and this is in %s: %s", name, unitNames[says.per], is, is.remedy(says))
	}
	return v.in(says)
}

// unitOf returns the unit of a time, if need be that in which a line before has what it comes from. If none is known, it
// notes that the time is used in one here. Of what a caller chooses, nothing is certain.
func (j *judge) unitOf(v value, used unit) unit {
	if v.unit.per != 0 || len(v.roots) == 0 || j.chosen() {
		return v.unit
	}
	for _, r := range v.roots {
		if seen, ok := j.timed[r.of]; ok {
			return seen.times(r.by)
		}
	}
	for _, r := range v.roots {
		if r.by == 1000 && used.per == 1 {
			return unit{per: 1000} // nobody has thousands of seconds
		}
		if used.per != 0 && j.quiet == 0 && r.of != "" {
			j.timed[r.of] = used.times(1 / r.by)
		}
	}
	return v.unit
}

// chosen reports whether a caller chooses by a condition what runs here: by an order it chooses no unit.
func (j *judge) chosen() bool {
	return slices.ContainsFunc(j.conds, func(cond parse.Expr) bool {
		keys, _ := j.asksOf(cond)
		return len(keys) == 0 && !parse.Contains(cond, func(e parse.Expr) bool {
			b, ok := e.(*parse.BinaryExpr)
			return ok && strings.ContainsAny(b.Op, "<>")
		})
	})
}

// meet finds times of different units that meet in a sum, a difference, a quotient or a comparison. Those that TIME replies
// with may be added as a seed.
func (j *judge) meet(pos parse.Pos, l, r value) {
	if max(l.unit.as, r.unit.as) > aTime {
		return
	}
	u := j.unitOf(l, unit{})
	w := j.unitOf(r, unit{per: u.per, line: pos.Line})
	if u.per == 0 {
		u = j.unitOf(l, unit{per: w.per, line: pos.Line})
	}
	if u.per > w.per {
		u, w, r = w, u, l
	}
	if u.apart(w) && !(u.per == 1 && r.unit == units["microseconds"] && j.c.seeds) {
		j.find(pos, Time, "this mixes %s with %s: multiply the %s by %.0f", unit{u.per, 0, u.line}, unit{w.per, 0, w.line},
			unitNames[u.per], w.per/u.per)
	}
}

// replaces finds a time that takes the place of another under a condition about that, and is in another unit.
func (j *judge) replaces(x *parse.Var, e parse.Expr, v value) {
	if n := len(j.conds); n > 0 && mentions(j.conds[n-1], x) && !mentions(e, x) {
		was, _ := j.state.get(x)
		j.meet(e.Pos(), was, v)
	}
}

// stores checks a time that a command gets to keep, or to look for.
func (j *judge) keeps(match *matching, i int) {
	v, pos := j.peek(match.words[i]), match.words[i].Pos()
	switch f := match.as[i]; {
	case f.number && slices.Contains([]string{"score", "min", "max"}, f.word):
		j.meet(pos, value{number: number{roots: j.scores(match.words)}}, v)
	case f.word == "value" && match.as[i-1].word == "field":
		j.misnamed("the field", j.ofField(match.words[1], match.words[i-1]), v, pos)
	}
}

// padded finds the microseconds of TIME right behind its seconds.
func (j *judge) padded(s sight) {
	previous, dotted := role(0), false
	for i, operand := range operands(s.e) {
		if v := s.args[i]; previous == aSecond && v.role == aMicro {
			j.find(operand.Pos(), Time, "the microseconds of TIME are not padded: write string.format('%%06d', ...)")
		}
		dot, isString := operand.(*parse.StringExpr)
		if dotted = isString && dot.Value == "." && previous == aSecond && !dotted; !dotted {
			previous = s.args[i].role
		}
	}
}
