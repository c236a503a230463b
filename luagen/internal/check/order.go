package check

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

var lockName = regexp.MustCompile(`\b(?:un)?(?:lock|lease|mutex|leader|claim)\b`)
var ownerName = regexp.MustCompile(`\b(?:owner|holder|token|nonce|uuid|identifier|lock (?:value|id))\b`)
var byForce = regexp.MustCompile(`\b(?:force|admin|reset|steal|break|expired?|stale|clean|clear|reap|remove|delete|destroy)`)

// owned finds a lock that is freed or renewed for any caller, though an owner is passed, or no condition is about an argument; and one
// that is taken for ever. It is a lock by its name, or if the script asks by GET whether it is there, and puts nothing into it.
func (j *judge) owned(t touch, all []touch) {
	key, owner, asks := j.C.Nth(t.call.Words[1], "KEYS"), 0, false
	says := flow.Spoken(t.key+" "+j.C.NameOf(t.call.Words[1])+" ") + j.C.NamesOf("KEYS", key)
	if first, _, _ := strings.Cut(j.C.Said["1"], "\n"); key == 1 { // of a script of one lock
		says += flow.Spoken(" " + j.C.S.Name + " " + first)
	}
	options, _ := j.FormOf(t.call, t.name).Options()
	named, frees := lockName.MatchString(says), flow.Is(t.name, "erasing") || flow.Is(t.name, "ending") || options.Has("xx")
	isLock, takes := named && (key > 0 || strings.HasPrefix(t.key, "'")), t.name == "setnx" || options.Has("nx")
	for _, u := range all {
		if u.key == t.key && (u.gives && !frees || frees && flow.Is(u.name, "creating") && u.call.Expr != t.call.Expr) {
			return
		}
		asks = asks || u.key == t.key && !j.C.Writes(u.call.Expr) && j.C.InCondition(u.call.Expr)
		isLock = isLock || key > 0 && u.key == t.key && u.name == "get" && j.C.InCondition(u.call.Expr)
	}
	if named && isLock && (takes || asks && t.name == "set" && len(t.call.Words) == 3) {
		j.find(t.call.Expr.P, Expire, "this lock is held for ever if its holder dies: give it an expiry, as SET with NX and PX does")
	}
	compares := func(about func(parse.Expr) bool) bool {
		return slices.ContainsFunc(j.C.Flow.Exprs, func(e parse.Expr) bool {
			b, ok := e.(*parse.BinaryExpr)
			return ok && (b.Op == "==" || b.Op == "~=") && j.C.Flow.Within(b, about)
		}) || slices.ContainsFunc(j.C.Flow.Conds, func(e parse.Expr) bool { return j.C.Flow.Within(e, about) })
	}
	for n := 1; n < 10 && isLock && frees; n++ {
		if !ownerName.MatchString(j.C.NamesOf("ARGV", n)) {
			continue
		}
		if compares(func(e parse.Expr) bool { return j.C.Nth(e, "ARGV") == n }) {
			return
		}
		owner = cmp.Or(owner, n)
	}
	switch {
	case owner > 0:
		j.find(t.call.Expr.P, Compare, "this is done for any caller: compare ARGV[%d] with what the key holds, or with its field, first", owner)
	case named && isLock && frees && (asks || !flow.Is(t.name, "ending")) && !byForce.MatchString(says) && !compares(func(e parse.Expr) bool { return j.C.Nth(e, "ARGV") > 0 }):
		j.find(t.call.Expr.P, Compare, "this is done for any caller: pass what the owner has put there, and compare it with what the key holds first")
	}
}

// undone finds what stays though the script says no: what was popped before, or done in earlier turns of the loop around.
func (j *judge) undone(all []touch) {
	whole := &parse.Block{Stmts: []parse.Stmt{&parse.DoStmt{Body: j.C.S.Body}}}
	parse.EachStmt(whole, func(stmt parse.Stmt) {
		for _, b := range parse.Blocks(stmt) {
			for _, inner := range b.Stmts {
				end := returnOf(inner)
				for _, t := range all {
					if end != nil && (j.lost(t, inner.(*parse.IfStmt), end) || j.block(t) == b && j.partly(t, inner.(*parse.IfStmt), flow.DeclaredBy(stmt), all)) {
						j.find(t.call.Expr.P, Command, "line %d returns, and what this has done before stays: ask for all first", end.P.Line)
					}
				}
			}
		}
	})
}

// returnOf returns the statement by which the first block of an if returns, nil if it does not.
func returnOf(stmt parse.Stmt) *parse.ReturnStmt {
	s, ok := stmt.(*parse.IfStmt)
	if !ok || len(s.Blocks[0].Stmts) == 0 {
		return nil
	}
	end, _ := s.Blocks[0].Stmts[len(s.Blocks[0].Stmts)-1].(*parse.ReturnStmt)
	return end
}

// lost reports whether what a call has popped is used behind an if that returns, and neither there nor before.
func (j *judge) lost(t touch, s *parse.IfStmt, end *parse.ReturnStmt) bool {
	return slices.ContainsFunc(j.C.S.Vars, func(x *parse.Var) bool {
		uses := func(e parse.Expr) bool { return flow.VarOf(e) == x }
		source, ok := j.C.Flow.Only(x)
		return ok && flow.Is(t.name, "taking") && source == parse.Expr(t.call.Expr) && t.call.Expr.P.Offset < s.P.Offset && flow.Inside(j.block(t), s.Blocks[0]) &&
			!j.C.Flow.Within(s.Conds[0], uses) && !slices.ContainsFunc(end.Values, func(e parse.Expr) bool { return flow.Mentions(e, x) }) &&
			!slices.ContainsFunc(j.C.Flow.Calls, func(e *parse.CallExpr) bool { return e.P.Offset < end.P.Offset && flow.Mentions(e, x) }) &&
			slices.ContainsFunc(x.Reads, func(e *parse.NameExpr) bool { return e.P.Offset > end.P.Offset })
	})
}

// partly reports whether a call writes for a turn of a loop behind an if that returns by what it has read of the turn.
func (j *judge) partly(t touch, s *parse.IfStmt, turn []*parse.Var, all []touch) bool {
	ofTurn := func(t touch) bool {
		return j.C.Flow.Within(t.call.Words[1], func(e parse.Expr) bool { return flow.VarOf(e) != nil && slices.Contains(turn, flow.VarOf(e)) })
	}
	return t.call.Expr.P.Offset > s.P.Offset && j.C.Writes(t.call.Expr) && !j.C.InCondition(t.call.Expr) && ofTurn(t) &&
		slices.ContainsFunc(all, func(u touch) bool {
			return ofTurn(u) && !j.C.Writes(u.call.Expr) && j.C.Flow.Within(s.Conds[0], func(e parse.Expr) bool { return e == parse.Expr(u.call.Expr) })
		}) && !slices.ContainsFunc(all, func(u touch) bool { return j.C.Writes(u.call.Expr) && flow.Inside(s.Blocks[0], j.block(u)) })
}

// begins finds a count that is raised by an amount, and compared with 1 to know the call that gives it an expiry.
func (j *judge) begins(e *parse.BinaryExpr) {
	if flow.Bound(e.R) == 1 && j.C.Flow.Within(e.L, func(e parse.Expr) bool {
		words := append(j.C.Sent(e, "incrby"), j.C.Sent(e, "hincrby")...)
		return len(words) > 2 && !j.Peek(words[len(words)-1]).Written() && slices.ContainsFunc(j.C.Calls(), func(call flow.CommandCall) bool {
			return len(call.Names) == 1 && flow.Is(call.Names[0], "ending") && j.KeyText(call.Words, 1) == j.KeyText(words, 1)
		})
	}) {
		j.find(e.P, Expire, "this is so only if the first call adds 1, else the key never expires: compare it with what is added")
	}
}

// refills finds a time that is set to now where whole parts alone of the time since then are given: the rest is lost.
func (j *judge) refills(floor *parse.CallExpr, all []touch) {
	var now *parse.Var
	parts, _ := flow.Unparen(floor.Args[0]).(*parse.BinaryExpr)
	if parts == nil || parts.Op != "/" || !j.C.Flow.Within(parts.L, func(e parse.Expr) bool {
		b, ok := e.(*parse.BinaryExpr)
		if ok && b.Op == "-" && slices.ContainsFunc(all, func(t touch) bool {
			return !j.C.Writes(t.call.Expr) && j.C.Flow.Within(b.R, func(e parse.Expr) bool { return e == parse.Expr(t.call.Expr) })
		}) {
			now = cmp.Or(flow.VarOf(b.L), flow.VarOf(j.Passed(b.L, "tonumber")))
		}
		return now != nil
	}) {
		return
	}
	stores := func(of func(parse.Expr) bool) bool {
		return slices.ContainsFunc(all, func(t touch) bool { return j.C.Writes(t.call.Expr) && slices.ContainsFunc(t.call.Words[2:], of) })
	}
	if stores(func(e parse.Expr) bool {
		all := j.C.Flow.Sources[flow.VarOf(e)] // The last is what is stored; a first may be for a bucket that is new.
		return flow.VarOf(e) == now || len(all) > 0 && flow.VarOf(all[len(all)-1].Expr) == now
	}) && stores(func(e parse.Expr) bool {
		return j.C.Flow.Within(e, func(e parse.Expr) bool { return e == parse.Expr(floor) })
	}) {
		j.find(floor.P, Time, "the rest of this is lost where %s is stored: store the time up to which whole parts were given", now.Name)
	}
}
