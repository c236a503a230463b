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
	if v.decoded {
		j.again(e.Pos())
	}
	if p := j.params[anArgument+j.c.nameOf(e)]; p != nil && p == x {
		j.encodes[p] = e.Pos()
	}
	switch {
	case j.c.flow.hasText["[]"] && j.c.flow.hasText["{}"]: // The script puts one in the place of the other.
	case j.mayBeEmpty(e, v):
		j.find(e.Pos(), JSON, "this list may be empty, and then cjson makes {} of it: write '[]' if it has no elements")
	case x != nil && v.decoded && !j.mentioned(x) && j.c.flow.apart[x]:
		j.find(e.Pos(), JSON, "a list in this may be empty, and then cjson makes {} of it, where [] was decoded: "+
			"keep the list in a key of its own, or write '[]' if it has no elements")
	}
}

// again notes once what JSON loses that is made JSON again.
func (j *judge) again(pos parse.Pos) {
	if !j.noted && !(j.c.flow.hasText["[]"] && j.c.flow.hasText["{}"]) {
		j.noted = true
		j.report(pos, Note, "this came from JSON and is made JSON again: an empty list in it becomes {}, and a number of more than 14 digits is rounded")
	}
}
