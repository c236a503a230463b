package check

import (
	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

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
