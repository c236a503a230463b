package check

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// skips finds "if x then list[i] = y end" in a list that the script returns, where nothing else is put into the list.
func (j *judge) skips(b *parse.Block) {
	for _, stmt := range b.Stmts {
		s, ok := stmt.(*parse.IfStmt)
		if !ok || s.Else != nil || j.Depth > 0 {
			continue
		}
		for _, block := range s.Blocks {
			for _, stmt := range block.Stmts {
				put, _ := stmt.(*parse.AssignStmt)
				if put == nil {
					continue
				}
				if t, ok := put.Targets[0].(*parse.IndexExpr); ok && j.C.Flow.Replied[flow.VarOf(t.X)] && j.skipped(t, s.Conds) {
					j.find(t.Pos(), Result, "nothing is put here if the condition is false, which ends the array: put false in its place")
				}
			}
		}
	}
}

// skipped reports whether an element of a list may be left out, by a condition that is not about its index.
func (j *judge) skipped(t *parse.IndexExpr, conds []parse.Expr) bool {
	x := flow.VarOf(t.X)
	i, _ := flow.Added(t.Key)
	made, ok := j.C.Origin(t.X).(*parse.TableExpr)
	return ok && len(made.Fields) == 0 && j.C.Flow.IsIndex(t.Key) && len(j.C.Flow.Stores[x]) == 1 &&
		!slices.ContainsFunc(conds, func(e parse.Expr) bool { return flow.Mentions(e, flow.VarOf(i)) })
}

// hole finds an element of a reply that is nil, or certainly may be: what follows it is cut off.
func (j *judge) hole(item flow.Value, pos parse.Pos) bool {
	switch {
	case item.Is == flow.IsNil:
		// Behind a second condition, which may be about the first, it may never be.
		j.verdict(len(j.Conds) == 0 && j.State.Turns() == 1, pos, Result, "this is nil, which ends the array: put false in its place")
		return true
	case item.Is&flow.IsNil != 0 && j.MayMiss(item):
		j.may(pos, Result, "this may be nil, which ends the array: put false in its place")
		return true
	}
	return false
}
