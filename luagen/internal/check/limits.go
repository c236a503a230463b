package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

var aPlace = regexp.MustCompile(`\b(?:index|idx|stop|end|last|offset|rank|position|pos|page|score|time|id|version|seq|sequence)\b`)
var isAlarm = regexp.MustCompile(`fail|attempt|error|retr|thresh|strike`)

// overfull finds a count that an if compares with a limit before one is added as if it compared it behind, or the other way round.
func (j *judge) overfull(stmt parse.Stmt, all []touch) {
	s, ok := stmt.(*parse.IfStmt)
	for i := 0; ok && i < len(parse.Operands(s.Conds[0], "and")); i++ {
		if b, ok := j.C.Origin(parse.Operands(s.Conds[0], "and")[i]).(*parse.BinaryExpr); ok {
			j.limits(s, b, b.Op, b.L, j.C.Origin(b.R), all)
			j.limits(s, b, flow.Mirrored[b.Op], b.R, j.C.Origin(b.L), all)
		}
	}
}

func (j *judge) limits(s *parse.IfStmt, b *parse.BinaryExpr, op string, count, limit parse.Expr, all []touch) {
	sum := parse.Of(func(b *parse.BinaryExpr) bool { return strings.Contains("+-*/%", b.Op) })
	says := j.spoken(limit)
	if sum(limit) || parse.Bound(limit) <= 1 || aPlace.MatchString(says) || op == "" || j.C.Flow.Within(count, sum) {
		return
	}
	in := func(t touch) bool { return parse.Inside(s.Blocks[0], j.block(t)) }
	for _, t := range all {
		here := parse.Contains(b, same(t.call.Expr))
		if !here && t.call.Expr.P.Offset > s.P.Offset || !slices.ContainsFunc(j.C.CommandsIn(count), func(call flow.CommandCall) bool { return call.Expr == t.call.Expr }) {
			continue
		}
		if parse.ReturnOf(s) != nil && len(s.Blocks[0].Stmts) == 1 && t.name == "incr" && (op == ">=" || op == "<") && j.C.Nth(limit, "ARGV") > 0 && !isAlarm.MatchString(says+j.C.NameOf(count)) {
			j.note(b.P, "the call that brings the count to its limit is refused, too: if it is to be let in, write > for >=, and <= for <")
		}
		resets := slices.ContainsFunc(all, func(w touch) bool { return w.key == t.key && j.C.Writes(w.call.Expr) && in(w) })
		for _, u := range all {
			behind := !resets && u.call.Expr.P.Offset > s.P.Offset && (parse.ReturnOf(s) != nil || s.Else != nil && parse.Inside(s.Else, j.block(u)))
			if u.key == t.key && flow.Is(u.name, "more "+t.name) && (!flow.Is(t.name, "parts") || j.mentions(t, j.KeyText(u.call.Words, 2))) &&
				(op == ">" && behind || op == "<=" && in(u)) {
				j.find(b.P, Compare, "one more than this is let in, as line %d adds one behind it: write >= for >, and < for <=", u.call.Expr.P.Line)
				return
			}
		}
	}
}

// undone finds what turns of a loop have done that stays though a later one says no, by what it reads.
func (j *judge) undone(loop parse.Stmt, all []touch) {
	turn := func(e parse.Expr) bool { return parse.Mentions(e, parse.DeclaredBy(loop)...) }
	calls := parse.Of(func(call *parse.CallExpr) bool { return j.C.Flow.Bodies[parse.VarOf(call.Fn)] != nil && turn(call) }) // a function of the script
	ofTurn := func(t touch) bool {
		return slices.ContainsFunc(t.call.Words[1:], func(word parse.Expr) bool { return j.C.Flow.Within(word, turn) })
	}
	for _, b := range parse.Blocks(loop) {
		for _, stmt := range b.Stmts {
			s, ok := stmt.(*parse.IfStmt)
			if !ok || parse.ReturnOf(s) == nil || slices.ContainsFunc(all, func(t touch) bool { return j.C.Writes(t.call.Expr) && parse.Inside(s.Blocks[0], j.block(t)) }) {
				continue
			}
			for _, t := range all {
				asked := j.C.Flow.Within(s.Conds[0], calls) || slices.ContainsFunc(all, func(u touch) bool {
					return u.key == t.key && !j.C.Writes(u.call.Expr) && ofTurn(u) && j.from(s.Conds[0], u.call.Expr)
				})
				if asked && t.call.Expr.P.Offset > s.P.Offset && j.C.Writes(t.call.Expr) && j.block(t) == b && ofTurn(t) && !j.C.InCondition(t.call.Expr) {
					j.find(t.call.Expr.P, Command, "line %d returns, and what this has done before stays: ask for all first", parse.ReturnOf(s).P.Line)
				}
			}
		}
	}
}

// overdrawn finds a condition that any are left, before the script takes as many as an argument says, which it compares with nothing.
func (j *judge) overdrawn(all []touch) {
	for _, sum := range j.C.Flow.Binaries {
		if sum.Op != "-" || j.C.Nth(sum.R, "ARGV") == 0 || parse.VarOf(sum.L) == nil {
			continue
		}
		stores := func(t touch) bool {
			return j.C.Writes(t.call.Expr) && slices.ContainsFunc(t.call.Words, func(e parse.Expr) bool { return j.from(e, sum) })
		}
		if i := slices.IndexFunc(all, stores); i >= 0 {
			j.taken(sum.P, sum.R, true, func(e parse.Expr) bool { return parse.VarOf(e) == parse.VarOf(sum.L) })
			j.charged(sum, all[i])
		}
	}
	for _, t := range all {
		last := t.call.Words[len(t.call.Words)-1]
		minus, isMinus := last.(*parse.UnaryExpr)
		if isMinus {
			last = minus.X
		}
		if flow.Is(t.name, "counting") && t.key != "" && j.C.Nth(last, "ARGV") > 0 {
			j.taken(t.call.Expr.P, last, isMinus != (t.name == "decrby"), func(e parse.Expr) bool {
				return slices.ContainsFunc(all, func(u touch) bool {
					return u.key == t.key && strings.HasSuffix(u.name, "get") && j.from(e, u.call.Expr)
				})
			})
		}
	}
}

// charged finds an amount that is taken, and stored, even if a comparison says that less is left.
func (j *judge) charged(sum *parse.BinaryExpr, stored touch) {
	left := parse.VarOf(sum.L)
	says := parse.Of(func(b *parse.BinaryExpr) bool {
		return flow.Mirrored[b.Op] != "" && parse.VarOf(b.L) == left && (j.C.Shares(b.R, sum.R) || parse.Bound(b.R) == 0)
	})
	decides := func(stmt parse.Stmt) bool {
		s, ok := stmt.(*parse.IfStmt)
		return ok && s.P.Offset < stored.call.Expr.P.Offset && j.C.Flow.Within(s.Conds[0], says) && (parse.ReturnOf(s) != nil || slices.ContainsFunc(parse.Blocks(s), func(b *parse.Block) bool {
			return parse.Assigned(b)[left] || parse.Inside(b, j.block(stored)) || slices.ContainsFunc(parse.Statements(b), func(stmt parse.Stmt) bool {
				return slices.ContainsFunc(parse.Exprs(stmt), func(e parse.Expr) bool { return parse.Contains(e, same(sum)) })
			})
		}))
	}
	i := slices.IndexFunc(j.C.Flow.Exprs, says)
	if i >= 0 && !slices.ContainsFunc(parse.Statements(j.C.S.Body), decides) {
		j.find(sum.P, Command, "this is taken even if line %d finds that too little is left: take it only if that is true", j.C.Flow.Exprs[i].Pos().Line)
	}
}

// taken finds a comparison that is only about one, or about what was there before, though an amount is taken.
func (j *judge) taken(at parse.Pos, amount parse.Expr, down bool, left func(parse.Expr) bool) {
	var asks *parse.BinaryExpr
	if slices.ContainsFunc(j.C.Flow.Calls, func(call *parse.CallExpr) bool {
		return strings.HasPrefix(j.C.Callee(call), "math.m") && j.C.Shares(call, amount)
	}) {
		return
	}
	for _, b := range j.C.Flow.Binaries {
		switch {
		case flow.Mirrored[b.Op] == "":
		case j.C.Shares(b, amount) && parse.Contains(b, left):
			return
		case b.Op != "~=" && left(b.L) && !j.C.Shares(j.C.Origin(b.L), amount) && (down && (parse.Bound(b.R) == 0 || parse.Bound(b.R) == 1) || !down && j.C.Nth(b.R, "ARGV") > 0) && b.P.Offset < at.Offset:
			asks = b
		}
	}
	if asks != nil {
		j.find(asks.P, Command, "this asks for one alone, and line %d counts as many as an argument says: let it ask for these", at.Line)
	}
}
