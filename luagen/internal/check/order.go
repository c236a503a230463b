package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// order finds a loop over pairs whose order reaches a write or the reply.
func (m *machine) order(s *parse.GenForStmt) {
	call, ok := s.Values[0].(*parse.CallExpr)
	if m.quiet > 0 || !ok || !isGlobal(call.Fn, "pairs") || len(call.Args) != 1 ||
		!m.isMap(call.Args[0]) {
		return
	}
	inner := newValues()
	inner.block(s.Body, nil)
	switch {
	case slices.ContainsFunc(inner.calls, m.appends):
		m.find(call.P, Pairs, "pairs has no fixed order, and this loop writes: "+
			"sort the keys first, or loop over a list")
	case m.depth == 0 && slices.ContainsFunc(inner.returned[nil], func(e parse.Expr) bool {
		return e != nil && mentions(e, s.Vars...)
	}), slices.ContainsFunc(m.collected(s.Body), m.reaches):
		m.find(call.P, Pairs, "pairs has no fixed order, and it reaches what the script sends or "+
			"returns: sort first, or loop over a list")
	}
}

// isMap reports whether the script itself has built a table with names for keys: pairs goes through others in order, if
// they are lists.
func (m *machine) isMap(e parse.Expr) bool {
	table, isTable := m.c.origin(e).(*parse.TableExpr)
	return isTable && (m.c.flow.maps[varOf(unparen(e))] ||
		slices.ContainsFunc(table.Fields, func(f parse.Field) bool { return f.Key != nil && m.c.flow.isElement(f.Key) }))
}

// writes reports whether a call is one of a command that writes, or publishes.
func (m *machine) writes(e *parse.CallExpr) bool {
	call, ok := m.c.commandCall(e)
	if !ok {
		return false
	}
	return slices.ContainsFunc(call.names, func(name string) bool {
		return slices.ContainsFunc(m.c.targets, func(t *table) bool {
			cmd := t.commands[name]
			return cmd != nil && cmd.writes
		})
	})
}

// appends reports whether a call is one of a command that puts something behind what others have put there.
func (m *machine) appends(e *parse.CallExpr) bool {
	call, ok := m.c.commandCall(e)
	return ok && slices.ContainsFunc(call.names, func(name string) bool {
		return strings.Contains(name, "push") || strings.HasSuffix(name, "publish") || name == "xadd"
	})
}

// collected returns the outer names that a loop's body appends to: lists, and texts.
func (m *machine) collected(b *parse.Block) []*parse.Var {
	var all []*parse.Var
	own := []*parse.Var{nil}
	for _, stmt := range statements(b) {
		own = append(own, declaredBy(stmt)...)
		switch s := stmt.(type) {
		case *parse.AssignStmt:
			all = append(all, appended(s)...)
		case *parse.CallStmt:
			if m.c.callee(s.Call) == "table.insert" && len(s.Call.Args) == 2 {
				all = append(all, varOf(s.Call.Args[0]))
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
			if x := varOf(t.X); x != nil && behindLast(t.Key, x) {
				all = append(all, x)
			}
		}
	}
	return all
}

// joins reports whether e is a text that x is a part of.
func joins(e parse.Expr, x *parse.Var) bool {
	b, ok := e.(*parse.BinaryExpr)
	return ok && x != nil && b.Op == ".." && mentions(b, x)
}

// reaches reports whether what a name holds goes to a command, or is returned, unsorted.
func (m *machine) reaches(x *parse.Var) bool {
	shown := func(e parse.Expr) bool {
		length, ok := e.(*parse.UnaryExpr)
		return e != nil && !(ok && length.Op == "#") && m.c.flow.within(e, func(e parse.Expr) bool { return varOf(e) == x })
	}
	return !slices.ContainsFunc(m.c.flow.calls, func(call *parse.CallExpr) bool {
		return m.c.callee(call) == "table.sort" && len(call.Args) > 0 && mentions(call.Args[0], x)
	}) && (slices.ContainsFunc(m.c.flow.returned[nil], shown) || slices.ContainsFunc(m.c.flow.calls, func(call *parse.CallExpr) bool {
		return m.writes(call) && slices.ContainsFunc(call.Args, shown)
	}))
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
