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
				if put, ok := stmt.(*parse.AssignStmt); ok {
					j.skipped(put.Targets[0], s.Conds)
				}
			}
		}
	}
}

func (j *judge) skipped(target parse.Expr, conds []parse.Expr) {
	t, ok := target.(*parse.IndexExpr)
	if !ok || !j.C.Flow.Replied[flow.VarOf(t.X)] || len(j.C.Flow.Indices[flow.VarOf(t.X)]) > flow.MaxAsked {
		return
	}
	i, _ := flow.Added(t.Key)
	about := func(e parse.Expr) bool { return flow.Mentions(e, flow.VarOf(i)) }
	at := map[float64]int{}
	for _, e := range j.C.Flow.Indices[flow.VarOf(t.X)] {
		at[flow.Bound(e.Key)]++
	}
	n := flow.Bound(t.Key)
	loops := j.C.Flow.IsIndex(t.Key) && len(j.C.Flow.Stores[flow.VarOf(t.X)]) == 1 && !slices.ContainsFunc(conds, about)
	made, ok := j.C.Origin(t.X).(*parse.TableExpr)
	if ok && len(made.Fields) == 0 && (loops || at[n] == 1 && at[n+1]+at[n+2] > 0) {
		j.find(t.Pos(), Result, "nothing is put here if the condition is false, which ends the array: put false in its place")
	}
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
