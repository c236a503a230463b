package check

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// gap finds a nil, or what may be nil, that a loop over the places of a list puts into a list that the script returns.
func (j *judge) gap(t *parse.IndexExpr, item value, e parse.Expr) {
	_, bare := e.(*parse.NilExpr)
	if j.depth == 0 && j.inReply(t) && (!bare || len(j.conds) > 0) {
		j.hole(item, e.Pos())
	}
}

// inReply reports whether an expression is an element of a list that the script returns, alone or in a table, at the
// index of a loop over a list, or from 1 on.
func (j *judge) inReply(t *parse.IndexExpr) bool {
	return j.c.flow.isIndex(t.Key) && j.c.flow.replied[varOf(t.X)]
}

// skips finds "if x then list[i] = y end" in a list that the script returns, where nothing else is put into the list.
func (j *judge) skips(b *parse.Block) {
	for _, stmt := range b.Stmts {
		s, ok := stmt.(*parse.IfStmt)
		if !ok || s.Else != nil || j.depth > 0 {
			continue
		}
		for _, block := range s.Blocks {
			for _, stmt := range block.Stmts {
				if put, ok := stmt.(*parse.AssignStmt); ok {
					j.skipped(put.Targets[0], s.Conds)
				}
			}
		}
	}
}

func (j *judge) skipped(target parse.Expr, conds []parse.Expr) {
	t, ok := target.(*parse.IndexExpr)
	if !ok || !j.c.flow.replied[varOf(t.X)] || len(j.c.flow.indices[varOf(t.X)]) > maxAsked {
		return
	}
	i, _ := added(t.Key)
	about := func(e parse.Expr) bool { return mentions(e, varOf(i)) }
	at := map[float64]int{}
	for _, e := range j.c.flow.indices[varOf(t.X)] {
		at[bound(e.Key)]++
	}
	n := bound(t.Key)
	loops := j.inReply(t) && len(j.c.flow.stores[varOf(t.X)]) == 1 && !slices.ContainsFunc(conds, about)
	made, ok := j.c.origin(t.X).(*parse.TableExpr)
	if ok && len(made.Fields) == 0 && (loops || at[n] == 1 && at[n+1]+at[n+2] > 0) {
		j.find(t.Pos(), Result, "nothing is put here if the condition is false, which ends the array: put false in its place")
	}
}

// appended finds a nil that is appended to a list, or that ends a list inside the reply.
func (j *judge) appended(list parse.Expr, item value, pos parse.Pos) {
	for i := 0; i+1 < len(item.places) && j.c.flow.replied[varOf(list)]; i++ {
		j.hole(item.items[i], item.places[i])
	}
	if item.is&isNil != 0 && j.mayMiss(item) {
		j.may(pos, Result, "this may be nil, and then nothing is inserted: insert false in its place")
	}
}

// hole finds an element of a reply that is nil, or certainly may be: what follows it is cut off.
func (j *judge) hole(item value, pos parse.Pos) bool {
	since := item.nilAt > 0 && item.nilAt == j.state.at
	switch {
	case item.is == isNil:
		j.find(pos, Result, "this is nil, which ends the array: put false in its place")
		if since || j.independent(item.since) {
			j.may(pos, Result, mayEnd)
		}
		return true
	case item.is&isNil != 0 && (since || j.mayMiss(item)):
		j.may(pos, Result, mayEnd)
		return true
	}
	return false
}

const mayEnd = "this may be nil, which ends the array: put false in its place"

// stores checks what is put into a table by an assignment.
func (j *judge) stores(s sight) {
	t := s.f.(*parse.IndexExpr)
	j.use(s.v)
	j.option(varOf(t.X), s.e)
	j.gap(t, s.v, s.e)
	if !j.c.flow.isElement(t.Key) {
		j.nested(s.v, s.e)
	}
	if behindLast(t.Key, varOf(t.X)) {
		j.appended(t.X, s.v, s.e.Pos())
	}
}

// inserts checks what table.insert puts into a list.
func (j *judge) inserts(s sight) {
	j.nested(s.v, s.e)
	j.appended(s.f, s.v, s.e.Pos())
	j.option(varOf(s.f), s.e)
}

// nested finds an error that is put into a list, always or as the other of two values.
func (j *judge) nested(item value, e parse.Expr) {
	either, _ := j.c.origin(e).(*parse.BinaryExpr)
	if item.is == isFailed || either != nil && j.passed(either.R, "redis.error_reply") != nil {
		j.find(e.Pos(), Result, "an error in a table is no error of the script, but an element of its reply: return it alone")
	}
}
