package check

import (
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

const tooWide = "%s may pass 2^53, and a Lua number is exact no further: give it bounds, as in " +
	"int(0..1000), or leave the arithmetic to a command"

// exact finds a number of which the last digits are lost in arithmetic, and what may be no number.
func (j *judge) exact(v flow.Value, pos parse.Pos) {
	j.scalar(v, pos, "arithmetic", ": take its elements, or their number")
	switch {
	case v.Lossy != nil:
		j.use(v)
	case v.Wide != "" && v.Is&flow.IsText != 0:
		j.may(pos, Precision, tooWide, v.Wide)
	}
}

// use finds the number of an int without bounds, where it is used for anything but a comparison with a small number.
func (j *judge) use(v flow.Value) {
	if v.Lossy != nil {
		j.may(*v.Lossy, Precision, tooWide, v.Wide)
	}
}

const rounds = "a number of more than 14 digits is rounded when it is made a text: " +
	"write string.format('%s', ...), or use the text that a command gives"

// shown finds a number that is made a text by the server's 14 digits.
func (j *judge) shown(v flow.Value, pos parse.Pos) {
	j.use(v)
	shown := map[bool]string{true: "%.6f", false: "%.0f"}[v.Frac]
	switch {
	case !v.Surely(flow.IsNumber) || v.Lossy != nil:
	case v.Large >= flow.MaxShown || v.Frac && v.Large >= flow.Now:
		j.may(pos, Precision, rounds, shown)
	}
}

// sum finds the reply of a command that adds an int of any size, if it is returned as an integer.
func (j *judge) sum(v flow.Value, r *parse.Result) {
	exact := r.Type.Bounded && r.Type.Max <= flow.MaxExact && r.Type.Min >= -flow.MaxExact
	if v.By != nil && !exact && strings.HasPrefix(r.Type.Name, "int") {
		j.find(*v.By, Precision, "the sum passes through a Lua number, which is exact to 2^53 only: "+
			"return the text that GET or HGET gives")
	}
}

// fraction reports whether a number may have a fraction that matters: it is no time in small units, and no result of math.max.
func (j *judge) fraction(e parse.Expr, v flow.Value) bool {
	_, made := flow.Unparen(e).(*parse.CallExpr)
	return (v.Frac || v.Split) && v.Unit.Per < 1000 && !made
}

// inText finds a number in a table that cjson.encode or table.concat rounds.
func (j *judge) inText(table flow.Value) {
	if table.Digits != nil {
		j.may(*table.Digits, Precision, "a number of more than 14 digits is rounded in JSON, and in texts: write string.format('%%.0f', ...)")
	}
}

// formatted checks what string.format gets for verbs that all are %s, or all others.
func (j *judge) formatted(e *parse.CallExpr, args []flow.Value) {
	layout, _ := flow.ConstantText(j.C.Origin(e.Args[0]))
	for i := 1; i < len(args); i++ {
		if strings.Count(layout, "%s") == strings.Count(layout, "%") {
			j.shown(args[i], e.Args[i].Pos())
		} else if !strings.Contains(layout, "%s") {
			j.exact(args[i], e.Args[i].Pos())
		}
	}
}

// jsonOf finds the first list in what cjson.encode gets that may be empty: an empty table is {} in JSON.
func (j *judge) jsonOf(e parse.Expr, v flow.Value) {
	if j.Quiet > 0 {
		return // What is put into a table may encode that table.
	}
	if v.Empty != nil {
		e, v = v.Empty, j.Peek(v.Empty)
	}
	x := flow.VarOf(flow.Unparen(e))
	j.mean(e)
	if v.Decoded {
		j.again(e.Pos())
	}
	if p := j.Frame.Params[flow.AnArgument+j.C.NameOf(e)]; p != nil && p == x {
		j.encodes[p] = e.Pos()
	}
	switch {
	case j.C.Flow.HasText["[]"] && j.C.Flow.HasText["{}"]: // The script puts one in the place of the other.
	case j.MayBeEmpty(e, v):
		j.may(e.Pos(), JSON, "this list may be empty, and then cjson makes {} of it: write '[]' if it has no elements")
	}
}

// again notes what JSON loses that is made JSON again.
func (j *judge) again(pos parse.Pos) {
	if !(j.C.Flow.HasText["[]"] && j.C.Flow.HasText["{}"]) {
		j.note(pos, "this came from JSON and is made JSON again: an empty list in it becomes {}, and a number of more than 14 digits is rounded")
	}
}

// mean finds what is divided by the length of a list that may be empty: it is no number, and cjson refuses it.
func (j *judge) mean(e parse.Expr) {
	j.C.Flow.Within(e, func(e parse.Expr) bool {
		b, ok := e.(*parse.BinaryExpr)
		if !ok || b.Op != "/" {
			return false
		}
		if u, ok := b.R.(*parse.UnaryExpr); ok && u.Op == "#" && j.MayBeEmpty(u.X, j.Peek(u.X)) {
			j.may(u.X.Pos(), JSON, "this list may be empty, and cjson fails for what is divided by 0: ask for # of it first")
		}
		return false
	})
}
