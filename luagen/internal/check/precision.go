package check

import (
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

const tooWide = "%s may pass 2^53, and a Lua number is exact no further: give it bounds, as in " +
	"int(0..1000), or leave the arithmetic to a command"

// exact finds a number of which the last digits are lost in arithmetic, and what may be no number.
func (j *judge) exact(v value, pos parse.Pos) {
	j.scalar(v, pos, "arithmetic", ": take its elements, or their number")
	j.member(v, pos)
	switch {
	case v.lossy != nil:
		j.use(v)
	case v.wide != "" && v.is&isText != 0:
		j.may(pos, Precision, tooWide, v.wide)
	}
}

// use finds the number of an int without bounds, where it is used for anything but a comparison with
// a small number.
func (j *judge) use(v value) {
	if v.lossy != nil {
		j.may(*v.lossy, Precision, tooWide, v.wide)
	}
}

const rounds = "a number of more than 14 digits is rounded when it is made a text: " +
	"write string.format('%s', ...), or use the text that a command gives"

// shown finds a number that is made a text by the server's 14 digits. Code behind it may show that a time has 16.
func (j *judge) shown(v value, pos parse.Pos) {
	j.use(v)
	shown := map[bool]string{true: "%.6f", false: "%.0f"}[v.frac]
	switch {
	case !v.surely(isNumber) || v.lossy != nil:
	case v.large >= maxShown || v.frac && v.large >= now:
		j.may(pos, Precision, rounds, shown)
	case v.unit == unit{as: aTime} && j.quiet == 0:
		j.unproven = append(j.unproven, func() {
			if j.state.dead = false; j.unitOf(v, unit{}).per >= 1e6 {
				j.may(pos, Precision, rounds, shown)
			}
		})
	}
}

// rounded finds an id that is made a number, and a text again.
func (j *judge) rounded(e parse.Expr) {
	if j.identifies(e, "") {
		j.find(j.c.origin(e).Pos(), Precision, "an id may have more than the 15 digits that a Lua number holds: leave it a text")
	}
}

// sum finds the reply of a command that adds an int of any size, if it is returned as an integer.
func (j *judge) sum(v value, r *parse.Result) {
	exact := r.Type.Bounded && r.Type.Max <= maxExact && r.Type.Min >= -maxExact
	if v.by != nil && !exact && strings.HasPrefix(r.Type.Name, "int") {
		j.find(*v.by, Precision, "the sum passes through a Lua number, which is exact to 2^53 only: "+
			"return the text that GET or HGET gives")
	}
}

// fraction reports whether a number may have a fraction that matters: it is no time in small units, and no result of math.max.
func (j *judge) fraction(e parse.Expr, v value) bool {
	_, made := unparen(e).(*parse.CallExpr)
	return (v.frac || v.split) && v.unit.per < 1000 && !made
}

// inText finds a number in a table that cjson.encode or table.concat rounds.
func (j *judge) inText(table value) {
	if table.digits != nil {
		j.may(*table.digits, Precision, "a number of more than 14 digits is rounded in JSON, and in texts: write string.format('%%.0f', ...)")
	}
}

// formatted checks a value that a verb of string.format gets.
func (j *judge) formatted(s sight) {
	switch {
	case strings.HasSuffix(s.name, "s"):
		j.shown(s.v, s.e.Pos())
	case strings.ContainsAny(s.name, "diu") && j.fraction(s.e, s.v):
		j.may(s.e.Pos(), Precision, "%s cuts the fraction of this: write %%.17g", s.name)
	}
}
