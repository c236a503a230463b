package flow

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Writes reports whether a call is one of a command that writes, or publishes.
func (m *Machine) Writes(e *parse.CallExpr) bool {
	call, ok := m.C.CommandCall(e)
	if !ok {
		return false
	}
	return slices.ContainsFunc(call.Names, func(name string) bool {
		return slices.ContainsFunc(m.C.Targets, func(t *Table) bool {
			cmd := t.Commands[name]
			return cmd != nil && cmd.Writes
		})
	})
}

// collected returns the outer names that a loop's body appends to: lists, and texts.
func (c *code) collected(b *parse.Block) []*parse.Var {
	var all []*parse.Var
	own := []*parse.Var{nil}
	for _, stmt := range statements(b) {
		own = append(own, declaredBy(stmt)...)
		switch s := stmt.(type) {
		case *parse.AssignStmt:
			all = append(all, appended(s)...)
		case *parse.CallStmt:
			if c.Callee(s.Call) == "table.insert" && len(s.Call.Args) == 2 {
				all = append(all, VarOf(s.Call.Args[0]))
			}
		}
	}
	return slices.DeleteFunc(all, func(x *parse.Var) bool { return slices.Contains(own, x) })
}

// appended returns the names to which an assignment appends: "t[#t + 1] = x" and "s = s .. x".
func appended(s *parse.AssignStmt) []*parse.Var {
	var all []*parse.Var
	for i, target := range s.Targets {
		switch t := target.(type) {
		case *parse.NameExpr:
			if i < len(s.Values) && joins(s.Values[i], t.Var) {
				all = append(all, t.Var)
			}
		case *parse.IndexExpr:
			if x := VarOf(t.X); x != nil && BehindLast(t.Key, x) {
				all = append(all, x)
			}
		}
	}
	return all
}

// joins reports whether e is a text that x is a part of.
func joins(e parse.Expr, x *parse.Var) bool {
	b, ok := e.(*parse.BinaryExpr)
	return ok && x != nil && b.Op == ".." && Mentions(b, x)
}

// recalled returns what is known by a key. It finds it if need be.
func recalled[K comparable, V any](known map[K]V, key K, find func() V) V {
	v, ok := known[key]
	if !ok {
		v = find()
		known[key] = v
	}
	return v
}
