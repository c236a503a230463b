package check

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// gap finds a nil, or what may be nil, that a loop over the places of a list puts into a list that the script returns.
func (m *machine) gap(t *parse.IndexExpr, item value, e parse.Expr) {
	_, bare := e.(*parse.NilExpr)
	if m.depth == 0 && m.inReply(t) && (!bare || len(m.conds) > 0) {
		m.hole(item, e.Pos())
	}
}

// inReply reports whether an expression is an element of a list that the script returns, alone or in a table, at the
// index of a loop over a list, or from 1 on.
func (m *machine) inReply(t *parse.IndexExpr) bool {
	return m.c.flow.isIndex(t.Key) && m.c.flow.replied[varOf(t.X)]
}

// skips finds "if x then list[i] = y end" in a list that the script returns, where nothing else is put into the list.
func (m *machine) skips(b *parse.Block) {
	for _, stmt := range b.Stmts {
		s, ok := stmt.(*parse.IfStmt)
		if !ok || s.Else != nil || m.depth > 0 {
			continue
		}
		for _, block := range s.Blocks {
			for _, stmt := range block.Stmts {
				if put, ok := stmt.(*parse.AssignStmt); ok {
					m.skipped(put.Targets[0], s.Conds)
				}
			}
		}
	}
}

func (m *machine) skipped(target parse.Expr, conds []parse.Expr) {
	t, ok := target.(*parse.IndexExpr)
	if !ok || !m.c.flow.replied[varOf(t.X)] || len(m.c.flow.indices[varOf(t.X)]) > maxAsked {
		return
	}
	i, _ := added(t.Key)
	about := func(e parse.Expr) bool { return mentions(e, varOf(i)) }
	at := map[float64]int{}
	for _, e := range m.c.flow.indices[varOf(t.X)] {
		at[bound(e.Key)]++
	}
	n := bound(t.Key)
	loops := m.inReply(t) && len(m.c.flow.stores[varOf(t.X)]) == 1 && !slices.ContainsFunc(conds, about)
	made, ok := m.c.origin(t.X).(*parse.TableExpr)
	if ok && len(made.Fields) == 0 && (loops || at[n] == 1 && at[n+1]+at[n+2] > 0) {
		m.find(t.Pos(), Result, "nothing is put here if the condition is false, which ends the array: put false in its place")
	}
}
