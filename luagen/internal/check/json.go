package check

import "github.com/hasp-go/hasp/luagen/internal/parse"

// jsonOf finds the first list in what cjson.encode gets that may be empty: an empty table is {} in JSON.
func (j *judge) jsonOf(e parse.Expr, v value) {
	if j.quiet > 0 {
		return // What is put into a table may encode that table.
	}
	if v.empty != nil {
		e, v = v.empty, j.peek(v.empty)
	}
	x := varOf(unparen(e))
	j.mean(e)
	if v.decoded {
		j.again(e.Pos())
	}
	if p := j.frame.params[anArgument+j.c.nameOf(e)]; p != nil && p == x {
		j.encodes[p] = e.Pos()
	}
	switch {
	case j.c.flow.hasText["[]"] && j.c.flow.hasText["{}"]: // The script puts one in the place of the other.
	case j.mayBeEmpty(e, v):
		j.may(e.Pos(), JSON, "this list may be empty, and then cjson makes {} of it: write '[]' if it has no elements")
	}
}

// again notes what JSON loses that is made JSON again.
func (j *judge) again(pos parse.Pos) {
	if !(j.c.flow.hasText["[]"] && j.c.flow.hasText["{}"]) {
		j.note(pos, "this came from JSON and is made JSON again: an empty list in it becomes {}, and a number of more than 14 digits is rounded")
	}
}

// mean finds what is divided by the length of a list that may be empty: it is no number, and cjson refuses it.
func (j *judge) mean(e parse.Expr) {
	j.c.flow.within(e, func(e parse.Expr) bool {
		b, ok := e.(*parse.BinaryExpr)
		if !ok || b.Op != "/" {
			return false
		}
		if u, ok := b.R.(*parse.UnaryExpr); ok && u.Op == "#" && j.mayBeEmpty(u.X, j.peek(u.X)) {
			j.may(u.X.Pos(), JSON, "this list may be empty, and cjson fails for what is divided by 0: ask for # of it first")
		}
		return false
	})
}
