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
	for i := 0; ok && i < len(flow.Operands(s.Conds[0], "and")); i++ {
		if b, ok := j.C.Origin(flow.Operands(s.Conds[0], "and")[i]).(*parse.BinaryExpr); ok {
			j.limits(s, b, b.Op, b.L, j.C.Origin(b.R), all)
			j.limits(s, b, flow.Mirrored[b.Op], b.R, j.C.Origin(b.L), all)
		}
	}
}

// returnOf returns the statement by which the first block of an if returns, nil if it does not.
func returnOf(s *parse.IfStmt) *parse.ReturnStmt {
	if len(s.Blocks[0].Stmts) == 0 {
		return nil
	}
	end, _ := s.Blocks[0].Stmts[len(s.Blocks[0].Stmts)-1].(*parse.ReturnStmt)
	return end
}

func (j *judge) limits(s *parse.IfStmt, b *parse.BinaryExpr, op string, count, limit parse.Expr, all []touch) {
	sum := func(e parse.Expr) bool { b, ok := e.(*parse.BinaryExpr); return ok && strings.Contains("+-*/%", b.Op) }
	says := flow.Spoken(j.C.NameOf(limit)) + " " + j.C.NamesOf("ARGV", j.C.Nth(limit, "ARGV"))
	if sum(limit) || parse.Bound(limit) <= 1 || aPlace.MatchString(says) || op == "" || j.C.Flow.Within(count, sum) {
		return
	}
	in := func(t touch) bool { return parse.Inside(s.Blocks[0], j.block(t)) }
	for _, t := range all {
		here := parse.Contains(b, func(e parse.Expr) bool { return e == parse.Expr(t.call.Expr) })
		if !here && t.call.Expr.P.Offset > s.P.Offset || !slices.ContainsFunc(j.C.CommandsIn(count), func(call flow.CommandCall) bool { return call.Expr == t.call.Expr }) {
			continue
		}
		alone := returnOf(s) != nil && len(s.Blocks[0].Stmts) == 1
		if alone && t.name == "incr" && (op == ">=" || op == "<") && j.C.Nth(limit, "ARGV") > 0 && !isAlarm.MatchString(says+j.C.NameOf(count)) {
			j.note(b.P, "the call that brings the count to its limit is refused, too: if it is to be let in, write > for >=, and <= for <")
		}
		resets := slices.ContainsFunc(all, func(w touch) bool { return w.key == t.key && j.C.Writes(w.call.Expr) && in(w) })
		for _, u := range all {
			behind := !resets && u.call.Expr.P.Offset > s.P.Offset && (returnOf(s) != nil || s.Else != nil && parse.Inside(s.Else, j.block(u)))
			if u.key == t.key && flow.Is(u.name, "more "+t.name) && (t.name != "hget" || j.KeyText(t.call.Words, 2) == j.KeyText(u.call.Words, 2)) &&
				(op == ">" && behind || op == "<=" && in(u)) {
				j.find(b.P, Compare, "one more than this is let in, as line %d adds one behind it: write >= for >, and < for <=", u.call.Expr.P.Line)
				return
			}
		}
	}
}

// twoKinds finds a key that is taken for another kind than by the call before, unless the script asks for its kind or replaces it.
func (j *judge) twoKinds(all []touch) {
	i := len(all) - 1
	t, is := all[i], j.C.KindsOf(all[i].name)
	for k := i - 1; k >= 0 && j.C.S.Raw && !flow.AnyOf(t.key) && len(is) > 0; k-- {
		u, was := all[k], j.C.KindsOf(all[k].name)
		if u.key != t.key || len(was) == 0 || !parse.Inside(j.block(u), j.block(t)) {
			continue
		}
		if !slices.ContainsFunc(is, func(kind string) bool { return slices.Contains(was, kind) }) && !slices.ContainsFunc(all, func(w touch) bool {
			changes := flow.Is(w.name, "dropping") || strings.HasSuffix(w.name, "store") || len(j.C.KindsOf(w.name)) == 0 && !flow.Is(w.name, "ending") && j.C.Writes(w.call.Expr)
			return j.mentions(w, t.key) && (w.name == "type" || changes && w.call.Expr.P.Offset > u.call.Expr.P.Offset || !j.Raises(w.call.Expr))
		}) {
			j.find(t.call.Expr.P, Kind, "line %d takes this key for a %s, and %s for a %s, so one of them fails: use two keys", u.call.Expr.P.Line, was[0], flow.Shown(t.name), is[0])
		}
		return
	}
}
