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

// skips finds "if x then list[i] = y end" where nothing else is put into the list, or list[i + 1] or list[i + 2] always is.
func (m *machine) skips(b *parse.Block) {
	for _, stmt := range b.Stmts {
		s, ok := stmt.(*parse.IfStmt)
		if !ok || s.Else != nil || len(s.Conds) > 1 || m.depth > 0 {
			continue
		}
		for _, stmt := range s.Blocks[0].Stmts {
			if put, ok := stmt.(*parse.AssignStmt); ok {
				m.skipped(put.Targets[0], s.Conds[0], b)
			}
		}
	}
}

func (m *machine) skipped(target, cond parse.Expr, around *parse.Block) {
	t, ok := target.(*parse.IndexExpr)
	if !ok || !m.c.flow.replied[varOf(t.X)] {
		return
	}
	x, n := varOf(t.X), bound(t.Key)
	loops := m.inReply(t) && !mentions(cond, varOf(t.Key)) && len(m.c.flow.stores[x]) == 1
	next := len(m.c.flow.puts[rank{x, n}]) == 1 && slices.Contains(slices.Concat(m.c.flow.puts[rank{x, n + 1}], m.c.flow.puts[rank{x, n + 2}]), around)
	if made, ok := m.c.origin(t.X).(*parse.TableExpr); ok && len(made.Fields) == 0 && (loops || next) {
		m.find(t.Pos(), Result, "nothing is put here if the condition is false, which ends the array: put false in its place")
	}
}

// alike reports whether a field is made a number without a default that another of its table has in the same reply.
func (m *machine) alike(fields []parse.Field, i int) bool {
	index, ok := m.passed(fields[i].Value, "tonumber").(*parse.IndexExpr)
	if !ok || len(fields) > maxAsked || constantKind(index.Key) != isText || m.peek(index.X).decoded || m.mentioned(varOf(index.X)) {
		return false
	}
	return slices.ContainsFunc(fields, func(f parse.Field) bool { return mentions(f.Value, varOf(index.X)) && m.defaulted(f.Value) })
}
