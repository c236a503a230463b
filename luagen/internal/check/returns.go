package check

import (
	"math"
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// dropped finds an error or a status that nobody gets, or a table that a function makes and the script returns elsewhere.
func (m *machine) dropped(call *parse.CallExpr, v value) {
	again := func(e parse.Expr) bool {
		other, ok := e.(*parse.CallExpr)
		return ok && varOf(other.Fn) == varOf(call.Fn) && slices.EqualFunc(other.Args, call.Args, func(a, b parse.Expr) bool {
			return m.keyName(a, maxKeyParts) != "" && m.keyName(a, maxKeyParts) == m.keyName(b, maxKeyParts)
		})
	}
	switch name := m.c.callee(call); {
	case name == "redis.error_reply" || name == "redis.status_reply":
		m.find(call.P, Result, "this %s goes nowhere, and the script goes on: return it", name[len("redis."):len(name)-len("_reply")])
	case m.depth == 0 && v.is&isTable != 0 && v.is&^(isTable|isStatus|isFailed) == 0 && slices.ContainsFunc(m.c.flow.returned[nil], again):
		m.find(call.P, Result, "this result goes nowhere, and the script goes on, though it returns it in another place: return it")
	case m.idle(m.c.flow.bodies[varOf(call.Fn)]):
		m.find(call.P, Result, "this result goes nowhere, and the function does nothing else: return it, or test it")
	}
}

// without finds a branch without statements, and without a comment that says why.
func (m *machine) without(s *parse.IfStmt, i int) {
	from := s.Conds[i].Pos().Line
	if len(s.Blocks[i].Stmts) == 0 && s.Else == nil && len(s.Conds) == 1 && !slices.ContainsFunc(m.c.s.Comments, func(c parse.Comment) bool {
		return c.Pos.Line >= from && c.Pos.Line <= from+2
	}) {
		m.find(s.Pos(), Unreachable, "this branch does nothing: return, or leave it out")
	}
}

// forgotten finds a path to the end of a raw script without a return, where others return values that are no constants, or
// where the other branches of an if return one. A function may mean nil by that.
func (m *machine) forgotten() {
	all := m.c.flow.returned[nil]
	if m.state.dead || !m.c.s.Raw || len(all) == 0 || slices.ContainsFunc(all, func(e parse.Expr) bool { return e == nil || isFalsy(e) }) {
		return
	}
	made := slices.ContainsFunc(all, func(e parse.Expr) bool {
		call, ok := e.(*parse.CallExpr)
		return math.IsNaN(bound(e)) && constantKind(e) == 0 && !(ok && m.c.callee(call) == "redis.error_reply")
	})
	last := m.c.s.Body.Stmts[len(m.c.s.Body.Stmts)-1]
	branches, isIf := last.(*parse.IfStmt)
	inside := isIf && branches.Else != nil && slices.ContainsFunc(parse.Blocks(last), func(b *parse.Block) bool {
		return slices.ContainsFunc(b.Stmts, func(stmt parse.Stmt) bool {
			_, ok := stmt.(*parse.ReturnStmt)
			return ok
		})
	})
	open := isIf && branches.Else == nil // if none of its conditions is true, nothing may be meant
	if inside || made && len(all) > 1 && !open {
		m.find(last.Pos(), Result, "a path ends here without a return, and others return a result: return one, or nil")
	}
}

// idle reports whether a function changes nothing, and always returns something.
func (m *machine) idle(f *parse.FuncExpr) bool {
	if f == nil || len(m.c.flow.returned[f]) == 0 || slices.Contains(m.c.flow.returned[f], nil) || len(assigned(f.Body)) > 0 {
		return false
	}
	inner := newValues()
	inner.block(f.Body, f)
	return len(inner.stores)+len(inner.changed) == 0 && !slices.ContainsFunc(inner.calls, func(e *parse.CallExpr) bool {
		call, _ := m.c.commandCall(e)
		reads := len(call.names) == 1 && shapes[call.names[0]] != "" && !m.writes(e)
		return !reads && !slices.Contains(textFunctions, m.c.callee(e)) && m.c.callee(e) != "tonumber"
	})
}

// once finds a loop that writes and ends in its first turn, and a return as soon as a loop has counted something.
func (m *machine) once(stmt parse.Stmt, body *parse.Block, ends bool) {
	each, isEach := stmt.(*parse.GenForStmt)
	_, steps := stmt.(*parse.NumForStmt)
	list := isEach && m.c.flow.sources[each.Vars[0]][0].in != nil && m.peek(m.c.flow.sources[each.Vars[0]][0].in).most != 1
	inner := newValues()
	if ends && (steps || list) {
		inner.block(body, nil)
	}
	if slices.ContainsFunc(inner.calls, m.writes) {
		m.find(body.Stmts[len(body.Stmts)-1].Pos(), Unreachable, "the loop ends here in its first turn: return behind it, or under a condition")
	}
	for _, stmt := range statements(body) {
		s, ok := stmt.(*parse.IfStmt)
		for i := 0; ok && i < len(s.Blocks); i++ {
			m.early(s.Blocks[i].Stmts, assigned(body))
		}
	}
}

// early finds a return behind the only count of something, which therefore never is more than one.
func (m *machine) early(stmts []parse.Stmt, counts map[*parse.Var]bool) {
	for _, stmt := range stmts {
		s, assigns := stmt.(*parse.AssignStmt)
		last, returns := stmts[len(stmts)-1].(*parse.ReturnStmt)
		if !assigns || !returns || !counts[varOf(s.Targets[0])] {
			continue
		}
		x := varOf(s.Targets[0])
		from := m.c.flow.sources[x]
		counted := len(from) == 2 && from[0].expr != nil && !math.IsNaN(bound(from[0].expr)) && mentions(s.Values[0], x)
		if counted && slices.ContainsFunc(last.Values, func(e parse.Expr) bool { return mentions(e, x) }) {
			m.find(last.P, Unreachable, "this returns as soon as one is counted: return behind the loop, or under a condition")
		}
	}
}
