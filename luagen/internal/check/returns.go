package check

import (
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// dropped finds an error or a status that nobody gets, a result that is only made, or a table that the script returns elsewhere.
func (m *machine) dropped(call *parse.CallExpr, v value) {
	again := func(e parse.Expr) bool { return e != nil && spelt(e) == spelt(call) }
	_, isCommand := m.c.words(call) // which may be for a cache that follows it
	switch name := m.c.callee(call); {
	case name == "redis.error_reply" || name == "redis.status_reply":
		m.find(call.P, Result, "this %s goes nowhere, and the script goes on: return it", name[len("redis."):len(name)-len("_reply")])
	case !m.acts(call) && (!isCommand || m.last && m.c.s.Raw && len(m.c.s.Body.Stmts) > 1), m.idle(m.c.flow.bodies[varOf(call.Fn)]):
		m.find(call.P, Result, "this result goes nowhere: return it, or leave it out")
	case m.depth == 0 && v.is&isTable != 0 && v.is&^(isTable|isStatus|isFailed) == 0 && slices.ContainsFunc(m.c.flow.returned[nil], again):
		m.find(call.P, Result, "this result goes nowhere, and the script goes on, though it returns it in another place: return it")
	}
}

// idle reports whether a function changes nothing, and always returns something.
func (m *machine) idle(f *parse.FuncExpr) bool {
	if f == nil || m.yielded[f].is&isNil != 0 || len(assigned(f.Body)) > 0 {
		return false
	}
	inner := newValues()
	inner.block(f.Body, f)
	return len(inner.stores)+len(inner.changed) == 0 && !slices.ContainsFunc(inner.calls, func(e *parse.CallExpr) bool { return m.acts(e) })
}

// branches finds an if with nothing in its only branch, and an elseif whose condition stands above, where it was false.
func (m *machine) branches(s *parse.IfStmt) {
	if len(s.Blocks[0].Stmts) == 0 && s.Else == nil && len(s.Conds) == 1 {
		m.find(s.Pos(), Unreachable, "this branch does nothing: return, or leave it out")
	}
	seen := map[string]bool{}
	for _, cond := range s.Conds {
		text := spelt(cond)
		if seen[text] {
			m.find(cond.Pos(), Unreachable, "this is never true: the same condition stands above, and was false there")
		}
		seen[text] = !parse.Contains(cond, m.acts)
	}
}

// forgotten finds a path to the end of a raw script without a return, where several others return more than errors, or where it
// changes nothing. A function may mean nil by that, and so may a script that an if or a loop ends which returns texts.
func (m *machine) forgotten() {
	all := slices.DeleteFunc(slices.Clone(m.c.flow.returned[nil]), func(e parse.Expr) bool { return e != nil && m.peek(e).is == isFailed })
	stmts := m.c.s.Body.Stmts
	if m.state.dead || !m.c.s.Raw || len(stmts) == 0 || slices.ContainsFunc(all, func(e parse.Expr) bool { return e == nil || isFalsy(e) }) {
		return
	}
	last := stmts[len(stmts)-1]
	ends := !returnsIn(stmts[len(stmts)-1:])
	numbers := !slices.ContainsFunc(all, func(e parse.Expr) bool {
		_, isTable := e.(*parse.TableExpr)
		return !isTable && math.IsNaN(bound(e))
	})
	switch several := len(all) > 1; {
	case several && (numbers || ends):
		m.find(last.Pos(), Result, "a path ends here without a return, and others return a result: return one, or nil")
	case len(all) == 0 && len(stmts) > 1 && !m.c.assembled() && !slices.ContainsFunc(m.c.flow.calls, func(e *parse.CallExpr) bool {
		return m.acts(e) && m.c.flow.bodies[varOf(e.Fn)] == nil
	}):
		m.find(last.Pos(), Result, "this script changes nothing, and returns nothing: return a result")
	}
}

// acts reports whether an expression is a call that may change something, or have another result each time.
func (m *machine) acts(e parse.Expr) bool {
	call, isCall := e.(*parse.CallExpr)
	if !isCall {
		return false
	} else if command, ok := m.c.commandCall(call); ok {
		return len(command.names) != 1 || shapes[command.names[0]] == "" || m.writes(call)
	}
	library, member, _ := strings.Cut(m.c.callee(call), ".")
	if slices.Contains([]string{"string", "math", "cjson", "cmsgpack", "struct", "bit"}, library) {
		return strings.HasPrefix(member, "random")
	}
	return !slices.Contains([]string{"tonumber", "tostring", "type", "ipairs", "pairs", "next", "select", "unpack"}, library) && member != "concat"
}

// once finds a loop that ends in its first turn. A loop over a table without an order may only take some element.
func (m *machine) once(stmt parse.Stmt, body *parse.Block, ends bool) {
	each, isEach := stmt.(*parse.GenForStmt)
	list := isEach && m.c.flow.sources[each.Vars[0]][0].in != nil && m.peek(m.c.flow.sources[each.Vars[0]][0].in).most != 1
	does := m.puts(body.Stmts...) || len(assigned(body)) > 0 || len(statements(body)) > len(body.Stmts)
	if ends && does && (!isEach || list || len(statements(body)) > len(body.Stmts)) {
		dead := m.state.dead // behind a repeat
		m.state.dead = false
		m.find(body.Stmts[len(body.Stmts)-1].Pos(), Unreachable, "the loop ends here in its first turn: return behind it, or under a condition")
		m.state.dead = dead
	}
}
