package check

import (
	"slices"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Branches that go on where they were probably meant to return are found here, by what stands around them.

// fall is a branch whose end control may reach.
type fall struct {
	of     *parse.IfStmt
	branch *parse.Block
	last   parse.Stmt
	writes func() bool // whether what stands before the if in its block does
	next   parse.Stmt  // where control goes on, nil at the end of the script
	again  int         // the line behind the if that writes the same as the branch, 0 if there is none
}

// falling looks at all branches of a script.
func (m *machine) falling() {
	m.state = newState()
	m.falls(m.c.s.Body, nil)
	for _, e := range m.c.flow.exprs {
		if f, ok := e.(*parse.FuncExpr); ok {
			m.falls(f.Body, &parse.ReturnStmt{})
		}
	}
}

// falls looks at all branches in a block, behind which control goes on with a statement, nil at the end of the script.
func (m *machine) falls(b *parse.Block, behind parse.Stmt) {
	targets := map[string]int{} // the lines of the writes up to the next return
	for i, stmt := range slices.Backward(b.Stmts) {
		next := behind
		s, isIf := stmt.(*parse.IfStmt)
		if _, isBlock := stmt.(*parse.DoStmt); !isIf && !isBlock {
			next = stmt // the loop itself: its next turn
		}
		writes := sync.OnceValue(func() bool { return m.puts(b.Stmts[:i]...) })
		for _, inner := range parse.Blocks(stmt) {
			if isIf && !exits(inner) {
				f := fall{of: s, branch: inner, last: stmt, writes: writes, next: next}
				if n := len(inner.Stmts); n > 0 {
					f.last = inner.Stmts[n-1]
				}
				for _, stmt := range inner.Stmts {
					f.again = max(f.again, targets[m.target(stmt)])
				}
				m.fall(f)
			}
			m.falls(inner, next)
		}
		if returnsIn(b.Stmts[i : i+1]) {
			clear(targets)
		}
		if text := m.target(stmt); text != "" {
			targets[text] = stmt.Pos().Line
		}
		behind = stmt
	}
}

// fall finds a branch that was meant to return.
func (m *machine) fall(f fall) {
	alone := len(parse.Blocks(f.of)) == 1
	next, isIf := f.next.(*parse.IfStmt)
	_, returns := f.next.(*parse.ReturnStmt)
	twin := 0
	if len(f.branch.Stmts) > 0 {
		twin = m.c.flow.ends[textOf(f.last)]
	}
	switch {
	case alone && m.logs(f.branch, 1) && m.writesBehind(f.last.Pos()):
		m.find(f.last.Pos(), Unreachable, "this branch only logs, and the script goes on to write: it may lack a return")
	case f.again > 0:
		m.find(f.last.Pos(), Unreachable, "line %d writes the same as this branch: it may lack a return", f.again)
	case f.next == nil && m.c.s.Raw && f.of.Else != nil && !slices.ContainsFunc(parse.Blocks(f.of), func(b *parse.Block) bool { return b != f.branch && !exits(b) }):
		m.find(f.last.Pos(), Result, "this branch ends without a return, and another returns a result: return one, or nil")
	case alone && isIf && exits(next.Blocks[0]) && m.excludes(f, next.Conds[0]):
		m.find(f.last.Pos(), Unreachable, "behind this branch the next condition is false: it may lack a return")
	case returns && m.refuses(f):
		m.find(f.last.Pos(), Result, "the script returns the same if this branch is left out: it may lack a return")
	case twin > 0 && f.next != nil && !returns && !m.runs([]parse.Stmt{f.last}, ending...) && len(assigned(&parse.Block{Stmts: []parse.Stmt{f.last}})) == 0:
		m.find(f.last.Pos(), Unreachable, "line %d returns behind the same statement: this branch may lack a return", twin)
	}
}

// writesBehind reports whether a script writes behind a place.
func (m *machine) writesBehind(pos parse.Pos) bool {
	return slices.ContainsFunc(m.c.flow.calls, func(e *parse.CallExpr) bool { return e.P.Line > pos.Line && m.writes(e) })
}

// excludes reports whether a condition is false behind a branch: that is for another constant, or for what is missing.
func (m *machine) excludes(f fall, cond parse.Expr) bool {
	b, ok := unparen(cond).(*parse.BinaryExpr)
	if !ok || b.Op != "==" || isFalsy(b.R) || assigned(f.branch)[varOf(b.L)] {
		return false
	}
	switch a := unparen(f.of.Conds[0]).(type) {
	case *parse.UnaryExpr:
		return a.Op == "not" && spelt(a.X) == spelt(b.L)
	case *parse.BinaryExpr:
		return a.Op == "==" && spelt(a.L) == spelt(b.L) && constantKind(a.R)*constantKind(b.R) != 0 && spelt(a.R) != spelt(b.R)
	}
	return false
}

// refuses reports whether the first write of a raw script is in a branch behind which it returns what it always returns, and that
// stands for a refusal.
func (m *machine) refuses(f fall) bool {
	result, all := f.next.(*parse.ReturnStmt), m.c.flow.returned[nil]
	if len(result.Values) != 1 || len(all) > maxAsked || !(isFalsy(result.Values[0]) || bound(result.Values[0]) <= 0) {
		return false
	}
	others := slices.ContainsFunc(all, func(e parse.Expr) bool { return e == nil || spelt(e) != spelt(result.Values[0]) })
	return !others && m.c.s.Raw && slices.Contains(m.c.s.Body.Stmts, parse.Stmt(f.of)) && m.puts(f.branch.Stmts...) && !f.writes() &&
		!m.runs(f.branch.Stmts, "decr", "decrby", "del", "hdel", "srem", "zrem") // A release has a result that nobody needs.
}

// runs reports whether one of some statements is the call of one of some commands.
func (m *machine) runs(stmts []parse.Stmt, commands ...string) bool {
	return slices.ContainsFunc(stmts, func(stmt parse.Stmt) bool {
		s, isCall := stmt.(*parse.CallStmt)
		if !isCall {
			return false
		}
		call, _ := m.c.commandCall(s.Call)
		return len(call.names) == 1 && slices.Contains(commands, call.names[0])
	})
}

// puts reports whether statements write, and do not only remove what is old.
func (m *machine) puts(stmts ...parse.Stmt) bool {
	v := newValues()
	v.block(&parse.Block{Stmts: stmts}, nil)
	return slices.ContainsFunc(v.calls, func(e *parse.CallExpr) bool {
		call, _ := m.c.commandCall(e)
		return m.writes(e) && !(len(call.names) == 1 && strings.HasPrefix(call.names[0], "zremr"))
	})
}

// target returns a text for what a statement's call writes, and by which command, unless it may write again, as a counter does.
func (m *machine) target(stmt parse.Stmt) string {
	s, _ := stmt.(*parse.CallStmt)
	if s == nil || !m.writes(s.Call) {
		return ""
	}
	call, _ := m.c.commandCall(s.Call)
	text, n := call.names[0], 3
	if slices.ContainsFunc(repeated, func(part string) bool { return strings.Contains(text, part) }) {
		return ""
	} else if text == "set" {
		n = 2
	}
	for _, word := range call.words[:min(n, len(call.words))] {
		text += " " + spelt(word)
	}
	return text
}

// repeated are parts of the names of commands that scripts call again for the same key.
var repeated = strings.Fields("incr decr push pop xadd publish expire")

// exits reports whether control never comes to the end of a block.
func exits(b *parse.Block) bool {
	if len(b.Stmts) == 0 {
		return false
	}
	switch s := b.Stmts[len(b.Stmts)-1].(type) {
	case *parse.ReturnStmt, *parse.BreakStmt:
		return true
	case *parse.CallStmt:
		return isError(s.Call)
	case *parse.IfStmt:
		return s.Else != nil && !slices.ContainsFunc(parse.Blocks(s), func(b *parse.Block) bool { return !exits(b) })
	}
	return false
}

// returnsIn reports whether there is a return in statements.
func returnsIn(stmts []parse.Stmt) bool {
	return slices.ContainsFunc(statements(&parse.Block{Stmts: stmts}), func(s parse.Stmt) bool {
		_, returns := s.(*parse.ReturnStmt)
		return returns
	})
}

// textOf returns a text that is the same for statements whose expressions are written alike.
func textOf(stmt parse.Stmt) string {
	text := strings.Builder{}
	for _, e := range parse.Exprs(stmt) {
		text.WriteString(spelt(e) + "\n")
	}
	for _, b := range parse.Blocks(stmt) {
		for _, inner := range b.Stmts {
			text.WriteString("{" + textOf(inner) + "}")
		}
	}
	return text.String()
}
