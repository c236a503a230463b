package check

import (
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// dropped finds an error or a status that nobody gets, or a table that a function makes and the script returns elsewhere.
func (m *machine) dropped(call *parse.CallExpr, v value) {
	_, isCommand := m.c.words(call) // which may be for a cache that follows it
	switch name := m.c.callee(call); {
	case name == "redis.error_reply" || name == "redis.status_reply":
		m.find(call.P, Result, "this %s goes nowhere, and the script goes on: return it", name[len("redis."):len(name)-len("_reply")])
	case m.pure(call) && (!isCommand || m.c.flow.lasts[call] && m.c.s.Raw && len(m.c.s.Body.Stmts) > 1):
		m.find(call.P, Result, "this result goes nowhere: return it, or leave it out")
	case m.depth == 0 && v.is&isTable != 0 && v.is&^(isTable|isStatus|isFailed) == 0 && slices.ContainsFunc(m.c.flow.returned[nil], func(e parse.Expr) bool { return e != nil && spelled(e) == spelled(call) }):
		m.find(call.P, Result, "this result goes nowhere, and the script goes on, though it returns it in another place: return it")
	case m.idle(m.c.flow.bodies[varOf(call.Fn)]):
		m.find(call.P, Result, "this result goes nowhere, and the function does nothing else: return it, or test it")
	}
}

// without finds a branch that has no statements, and is the only one.
func (m *machine) without(s *parse.IfStmt) {
	if len(s.Blocks[0].Stmts) == 0 && s.Else == nil && len(s.Conds) == 1 {
		m.find(s.Pos(), Unreachable, "this branch does nothing: return, or leave it out")
	}
}

// repeated finds a condition of an elseif that is false, as it, or a part of it, was false in the conditions before.
func (m *machine) repeated(s *parse.IfStmt) {
	denied := map[string]bool{}
	for i := 0; i < len(s.Conds) && len(s.Conds) > 1; i++ {
		if m.never(s.Conds[i], denied, maxRefine) {
			m.find(s.Conds[i].Pos(), Unreachable, "this is never true: the same condition stands above, and was false there")
		}
		m.denies(s.Conds[i], denied)
	}
}

func (m *machine) never(cond parse.Expr, denied map[string]bool, left int) bool {
	b, isBinary := unparen(cond).(*parse.BinaryExpr)
	switch {
	case left == 0:
		return false
	case isBinary && b.Op == "or":
		return m.never(b.L, denied, left-1) && m.never(b.R, denied, left-1)
	case isBinary && b.Op == "and" && (m.never(b.L, denied, left-1) || m.never(b.R, denied, left-1)):
		return true
	}
	return denied[spelled(cond)]
}

// denies notes what is false if a condition is, and nothing happens.
func (m *machine) denies(cond parse.Expr, denied map[string]bool) {
	if b, ok := unparen(cond).(*parse.BinaryExpr); ok && b.Op == "or" {
		m.denies(b.L, denied)
		m.denies(b.R, denied)
	} else if !parse.Contains(cond, m.acts) {
		denied[spelled(cond)] = true
	}
}

// forgotten finds a path to the end of a raw script without a return, where others return something, or where the script
// changes nothing. A function may mean nil by that, and so may a script where an if or a loop that returns ends it.
func (m *machine) forgotten() {
	all, stmts := m.c.flow.returned[nil], m.c.s.Body.Stmts
	if m.state.dead || !m.c.s.Raw || len(stmts) == 0 || slices.ContainsFunc(all, func(e parse.Expr) bool { return e == nil || isFalsy(e) }) {
		return
	}
	last := stmts[len(stmts)-1]
	returns := func(stmt parse.Stmt) bool {
		_, ok := stmt.(*parse.ReturnStmt)
		return ok
	}
	branches, isIf := last.(*parse.IfStmt)
	inside, open, numbers := false, false, len(all) > 0
	for _, b := range parse.Blocks(last) {
		inside = inside || isIf && branches.Else != nil && slices.ContainsFunc(b.Stmts, returns)
		open = open || slices.ContainsFunc(statements(b), returns)
	}
	for _, e := range all {
		_, isTable := e.(*parse.TableExpr)
		numbers = numbers && (isTable || !math.IsNaN(bound(e)))
	}
	switch several := len(all) > 1; {
	case inside, numbers && several, !open && (numbers || several):
		m.find(last.Pos(), Result, "a path ends here without a return, and others return a result: return one, or nil")
	case len(all) == 0 && len(stmts) > 1 && !m.c.assembled() && !slices.ContainsFunc(m.c.flow.calls, func(e *parse.CallExpr) bool {
		return m.acts(e) && m.c.flow.bodies[varOf(e.Fn)] == nil
	}):
		m.find(last.Pos(), Result, "this script changes nothing, and returns nothing: return a result")
	}
}

// acts reports whether an expression is a call that may change something.
func (m *machine) acts(e parse.Expr) bool {
	call, ok := e.(*parse.CallExpr)
	return ok && !m.pure(call)
}

// idle reports whether a function changes nothing, and always returns something.
func (m *machine) idle(f *parse.FuncExpr) bool {
	if f == nil || len(m.c.flow.returned[f]) == 0 || slices.Contains(m.c.flow.returned[f], nil) || len(assigned(f.Body)) > 0 {
		return false
	}
	inner := newValues()
	inner.block(f.Body, f)
	return len(inner.stores)+len(inner.changed) == 0 && !slices.ContainsFunc(inner.calls, func(e *parse.CallExpr) bool { return m.acts(e) })
}

// pure reports whether a call changes nothing, and has the same result if nothing happens.
func (m *machine) pure(e *parse.CallExpr) bool {
	call, _ := m.c.commandCall(e)
	name := m.c.callee(e)
	library, _, isMember := strings.Cut(name, ".")
	return len(call.names) == 1 && shapes[call.names[0]] != "" && !m.writes(e) ||
		isMember && slices.Contains([]string{"string", "math", "cjson", "cmsgpack", "struct", "bit"}, library) && !strings.HasPrefix(name, "math.random") ||
		slices.Contains([]string{"tonumber", "tostring", "type", "ipairs", "pairs", "next", "select", "unpack", "table.concat", "redis.sha1hex"}, name)
}

// once finds a loop that writes, or assigns, and ends in its first turn, and a return as soon as a loop has counted something.
func (m *machine) once(stmt parse.Stmt, body *parse.Block, ends bool) {
	each, isEach := stmt.(*parse.GenForStmt)
	_, steps := stmt.(*parse.NumForStmt)
	list := isEach && m.c.flow.sources[each.Vars[0]][0].in != nil && m.peek(m.c.flow.sources[each.Vars[0]][0].in).most != 1
	inner := newValues()
	if inner.block(body, nil); ends && (steps || list) && (slices.ContainsFunc(inner.calls, m.writes) || len(assigned(body)) > 0) {
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
