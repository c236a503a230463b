package flow

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// MayBeEmpty reports whether a value is a list that is empty in some cases, and no condition that has led here is about it.
func (m *Machine) MayBeEmpty(e parse.Expr, v Value) bool {
	x := parse.VarOf(parse.Unparen(e))
	isList := x != nil && len(m.C.Flow.Stores[x]) > 0 && m.C.Flow.Appends[x] == len(m.C.Flow.Stores[x]) // All is put behind its end, or at an index.
	return v.hollow && (v.listed != "" || isList) && !(x != nil && m.Mentioned(x)) &&
		(v.listed == "" || v.listed == anyReply || !slices.ContainsFunc(answers(v.listed), m.State.Holds))
}

// Mentioned reports whether a condition that has led here is about a name.
func (m *Machine) Mentioned(x *parse.Var) bool {
	return m.State.Holds(x) || slices.ContainsFunc(m.C.Flow.along[x], func(x *parse.Var) bool { return x != nil && m.State.Holds(x) })
}

// listing notes the key of which a reply has the elements, and whether there may be none.
func (m *Machine) listing(name string, words []parse.Expr, v Value) Value {
	key := m.KeyText(words, 1)
	if v.Endless = endless(name, words); m.Depth > 0 || key == "" || v.Elem == nil || v.Known > 0 {
		return v
	}
	v.listed, v.hollow = key, !m.State.Knows(later(key)) || strings.Contains(name, "by")
	return v
}

// unpacked notes that unpack has taken all of a list.
func (m *Machine) unpacked(args []parse.Expr, v Value) {
	if x := parse.VarOf(parse.Unparen(args[0])); x != nil && m.Quiet == 0 && m.Whole(args, v) && v.Endless {
		m.State.ask(proved, limited{x}) // else it fails here
	}
}

// Whole reports whether unpack gets a list to its end, of which the script has not asked how long it is.
func (m *Machine) Whole(args []parse.Expr, v Value) bool {
	x := parse.VarOf(parse.Unparen(args[0]))
	whole := len(args) < 3 || x != nil && parse.VarOf(m.LengthOf(args[2])) == x
	return whole && !m.State.Knows(limited{x}) && !m.State.Knows(limited{v.listed})
}

// LengthOf returns the list of which an expression is the length.
func (m *Machine) LengthOf(e parse.Expr) parse.Expr {
	if length, ok := m.C.Origin(e).(*parse.UnaryExpr); ok && length.Op == "#" {
		return length.X
	}
	return nil
}

// limited is asked of a list, or of the key that it lists.
type limited struct{ what any }

// grow notes that the lists which a loop over an endless one, or up to an argument, appends to are endless, too.
func (m *Machine) grow(stmt parse.Stmt, body *parse.Block) {
	for _, e := range parse.Exprs(stmt) {
		length, _ := parse.Added(e)
		list := m.LengthOf(length)
		if call, ok := e.(*parse.CallExpr); ok && m.C.Callee(call) == "ipairs" && len(call.Args) > 0 {
			list = call.Args[0]
		}
		over := m.Peek(list)
		if !over.Endless && !m.anyNumber(stmt, e) || parse.Breaks(body) {
			continue
		}
		changed := parse.Assigned(body)
		for _, x := range m.C.collected(body, parse.DeclaredBy(stmt)...) {
			if v, known := m.State.Get(x); known && !changed[x] {
				v.Endless, v.listed = true, over.listed
				m.State.set(x, v)
			}
		}
	}
}

// anyNumber reports whether a loop counts up to an argument that the script compares with no number that is written out.
func (m *Machine) anyNumber(stmt parse.Stmt, e parse.Expr) bool {
	counts, ok := stmt.(*parse.NumForStmt)
	n := m.C.Nth(e, "ARGV")
	return ok && e == counts.To && n > 0 && !slices.ContainsFunc(m.C.Flow.Binaries, func(b *parse.BinaryExpr) bool {
		return negated[b.Op] != "" && (m.C.Nth(b.L, "ARGV") == n && parse.Bound(b.R) > 1 || m.C.Nth(b.R, "ARGV") == n && parse.Bound(b.L) > 1)
	})
}

// endless reports whether the reply of a command may have any number of elements.
func endless(name string, words []parse.Expr) bool {
	part := strings.Contains(name, "by") && slices.ContainsFunc(words, func(e parse.Expr) bool { return parse.IsLiteral(e, "limit") })
	return Is(name, "endless") && !part || Is(name, "by rank") && len(words) > 3 && parse.Bound(words[3]) == -1
}

// insert notes that a value is put into a table.
func (m *Machine) insert(v *Value, item Value, e parse.Expr) {
	v.hollow = false
	if item.Empty != nil {
		v.Empty = item.Empty
	} else if m.MayBeEmpty(e, item) {
		v.Empty = e
	}
}

// Writes reports whether a call is one of a command that writes, or publishes.
func (c *code) Writes(e *parse.CallExpr) bool {
	call, _ := c.CommandCall(e)
	return slices.ContainsFunc(call.Names, func(name string) bool {
		return slices.ContainsFunc(c.Targets, func(t *Table) bool {
			cmd := t.Of(call, name)
			return cmd != nil && cmd.Writes
		})
	})
}

// collected returns the outer names that a loop's body appends to, or puts something into at an index of the loop.
func (c *code) collected(b *parse.Block, turn ...*parse.Var) []*parse.Var {
	var all []*parse.Var
	own := []*parse.Var{nil}
	for _, stmt := range parse.Statements(b) {
		own = append(own, parse.DeclaredBy(stmt)...)
		switch s := stmt.(type) {
		case *parse.AssignStmt:
			all = append(all, appended(s, turn...)...)
		case *parse.CallStmt:
			if c.Callee(s.Call) == "table.insert" && len(s.Call.Args) == 2 {
				all = append(all, parse.VarOf(s.Call.Args[0]))
			}
		}
	}
	return slices.DeleteFunc(all, func(x *parse.Var) bool { return slices.Contains(own, x) })
}

// blind reports whether a loop does the same in each turn: its index is one of lists alone, and it asks commands at most.
func (c *code) blind(b *parse.Block, i *parse.Var) bool {
	uses := len(i.Reads)
	for _, e := range c.Flow.Exprs {
		if index, ok := e.(*parse.IndexExpr); ok && parse.VarOf(index.Key) == i {
			uses--
		}
	}
	return uses == 0 && !slices.ContainsFunc(parse.Statements(b), func(s parse.Stmt) bool {
		cond, ok := s.(*parse.IfStmt)
		asks := func(call *parse.CallExpr) bool { return len(c.CommandsIn(call)) > 0 }
		return !ok && len(parse.Blocks(s)) > 0 || ok && !parse.Contains(cond.Conds[0], parse.Of(asks))
	})
}

// appended returns the names to which an assignment appends: "t[#t + 1] = x", or "t[i] = x" in such a turn of a loop.
func appended(s *parse.AssignStmt, turn ...*parse.Var) []*parse.Var {
	var all []*parse.Var
	for _, target := range s.Targets {
		if t, ok := target.(*parse.IndexExpr); ok && parse.VarOf(t.X) != nil {
			if i, _ := parse.Added(t.Key); parse.BehindLast(t.Key, parse.VarOf(t.X)) || slices.Contains(turn, parse.VarOf(i)) {
				all = append(all, parse.VarOf(t.X))
			}
		}
	}
	return all
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
