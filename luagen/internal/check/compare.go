package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// equates reports whether an operation asks if two are the same.
func equates(b *parse.BinaryExpr) bool { return b.Op == "==" || b.Op == "~=" }

// never finds an argument that is compared with a text which it never is.
func (j *judge) never(e *parse.BinaryExpr) {
	if !equates(e) {
		return
	}
	for _, pair := range [][2]parse.Expr{{e.L, e.R}, {e.R, e.L}} {
		x := parse.VarOf(pair[0])
		text, isText := pair[1].(*parse.StringExpr)
		if !isText || x == nil || x.Decl == nil {
			continue
		}
		b := x.Decl
		if text.Value == "" && b.Type.Optional {
			j.report(e.P, Optional, "%s is nil if it is absent, never ''", b.Name)
		}
		if b.Kind == parse.Arg && b.Choices != nil && !slices.Contains(b.Choices, text.Value) {
			j.report(e.P, Compare, "%s is never '%s': it is %s", b.Name, text.Value, strings.Join(b.Choices, "|"))
		}
	}
}

func (j *judge) pair(use flow.Use, e *parse.BinaryExpr, l, r flow.Value) {
	if use != flow.Sum || e.Op == "+" || e.Op == "-" || e.Op == "/" && !r.Constant() {
		j.meet(e.P, l, r)
	}
	seconds := parse.Of(func(index *parse.IndexExpr) bool {
		return parse.Bound(index.Key) == 1 && (j.C.Sent(index.X, "time") != nil || j.C.IsParam(index.X))
	})
	if (l.Role == flow.AMicro || r.Role == flow.AMicro) && strings.ContainsAny(e.Op, "+-<>") && !slices.ContainsFunc(j.C.Flow.Exprs, seconds) {
		j.find(e.P, Time, "the second element of TIME begins again at 0 with each second, which is its first element: add that")
	}
	if use != flow.Sum || e.Op == "+" || e.Op == "-" {
		j.Learn(e.L, r.Unit)
		j.Learn(e.R, l.Unit)
	}
	switch use {
	case flow.Less:
		if j.C.Nth(e.L, "ARGV")+j.C.Nth(e.R, "ARGV") > 0 {
			j.turns(l, e.L.Pos())
			j.turns(r, e.R.Pos())
		}
		j.inequality(e, j.onceSeen(e.L, l, e.P), j.onceSeen(e.R, r, e.P))
	case flow.Equal:
		j.equality(e, l, r)
	}
}

func (j *judge) equality(e *parse.BinaryExpr, l, r flow.Value) {
	if words := append(j.C.Sent(e.L, "decr"), j.C.Sent(e.L, "decrby")...); words != nil && parse.Bound(e.R) == 0 {
		j.note(e.P, "if the key has expired, this is below 0: write <= for ==")
	}
	never := map[string]string{"==": "never true", "~=": "always true"}[e.Op]
	j.begins(e)
	j.noKey(e.L)
	j.noKey(e.R)
	if l.New() && parse.Bound(e.R) == -2 {
		j.find(e.P, Expire, "this is %s: TTL replies -2 of a key that is missing, and this was written: -1 if it never expires", never)
	}
	mixed := l.Surely(flow.IsText) && r.Surely(flow.IsNumber) || l.Surely(flow.IsNumber) && r.Surely(flow.IsText)
	if l.Is&r.Is != 0 && !mixed || j.C.Flow.Careful[e] {
		return
	}
	for _, pair := range [][2]flow.Value{{l, r}, {r, l}} {
		v, constant := pair[0].Is, pair[1].Is
		switch {
		case constant == flow.IsNil && v&flow.Boolean == flow.IsFalseValue:
			j.find(e.P, Compare, "this is %s: a nil reply is false in Lua, not nil", never)
			return
		case constant == flow.IsNil && pair[0].Decoded:
			j.find(e.P, Compare, "this is %s: null in JSON is cjson.null in Lua, not nil", never)
			return
		case constant == flow.IsNil, constant == flow.IsFalseValue && v != flow.IsNumber:
			return // to be on the safe side is no mistake
		}
	}
	advice := ""
	if (l.Is|r.Is)&^flow.Absent == flow.IsText|flow.IsNumber {
		advice = "; write tonumber, or compare texts"
	}
	j.find(e.P, Compare, "this is %s: it compares %s with %s%s", never, l.Is, r.Is, advice)
}

// onceSeen returns what a name that a loop assigns to holds where a place sees it first, if that is clear.
func (j *judge) onceSeen(e parse.Expr, v flow.Value, at parse.Pos) flow.Value {
	all := j.C.Flow.Sources[parse.VarOf(e)]
	if _, known := j.State.Get(parse.VarOf(e)); known || len(all) > flow.MaxNames {
		return v
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s flow.Source) bool { return flow.ConstantKind(s.Expr) == flow.IsNil })
	if len(all) == 0 || flow.ConstantKind(all[0].Expr) == flow.IsText || slices.ContainsFunc(all, func(s flow.Source) bool { return s.Expr == nil || s.Nth > 0 }) ||
		len(all) > 1 && (all[0].Expr.Pos().Offset > at.Offset || all[1].Expr.Pos().Offset < at.Offset) {
		return v
	}
	return j.Peek(all[0].Expr)
}

func (j *judge) inequality(e *parse.BinaryExpr, l, r flow.Value) {
	switch {
	case l.Surely(flow.IsText) && r.Surely(flow.IsNumber), l.Surely(flow.IsNumber) && r.Surely(flow.IsText):
		j.find(e.P, Compare, "this fails: it compares a text with a number; write tonumber")
	case l.Surely(flow.IsTable) || r.Surely(flow.IsTable):
		j.find(e.P, Compare, "this fails: it compares a table: take its elements, or their number")
	case r.Surely(flow.IsNumber) && j.orNumber(e.L, l), l.Surely(flow.IsNumber) && j.orNumber(e.R, r):
		j.find(e.P, Compare, "this fails where there is a reply: it compares a text with a number; write tonumber around it")
	case l.Surely(flow.IsText) && r.Surely(flow.IsText) && !l.Named() && !r.Named() && !j.isLetter(e.L) && !j.isLetter(e.R):
		j.find(e.P, Compare, "texts are compared letter by letter: '10' comes before '9'")
	}
}

// orNumber reports whether an expression is a text with a number in its place where it is missing.
func (j *judge) orNumber(e parse.Expr, v flow.Value) bool {
	b, ok := parse.Unparen(j.C.Origin(e)).(*parse.BinaryExpr)
	return v.Is == flow.IsText|flow.IsNumber && ok && b.Op == "or" && flow.ConstantKind(b.R) == flow.IsNumber && j.Peek(b.L).Surely(flow.IsText)
}

// isLetter reports whether e is a literal text that is not meant to be a number, or the beginning of another text.
func (j *judge) isLetter(e parse.Expr) bool {
	if call, ok := j.C.Origin(e).(*parse.CallExpr); ok { // up to the place of a separator, it is the first part
		finds := func(call *parse.CallExpr) bool { return j.C.Callee(call) == "string.find" || call.Method == "find" }
		return j.C.Callee(call) == "string.sub" && len(call.Args) > 2 && parse.Bound(call.Args[1]) == 1 &&
			!j.C.Flow.Within(call.Args[2], parse.Of(finds))
	}
	s, ok := parse.Unparen(e).(*parse.StringExpr)
	return ok && (s.Value == "" || s.Value[0] < '0' || s.Value[0] > '9')
}

var isFlag = regexp.MustCompile(`\b(?:enabled|disabled|active|flag|blocked|allowed|closed|is \w+)\b`)

// condition finds a number where a condition stands: 0 is true in Lua. Parts but the last are found where they are evaluated.
func (j *judge) condition(e parse.Expr) {
	e = parse.Unparen(e)
	j.nulls(e)
	b, isBinary := e.(*parse.BinaryExpr)
	origin := j.C.Origin(e)
	_, constant := origin.(*parse.NumberExpr)
	call, isCall := origin.(*parse.CallExpr)
	if isBinary && (b.Op == "and" || b.Op == "or") || constant || j.C.Flow.Careful[e] || j.Passed(origin, "tonumber") != nil {
		return
	}
	handed := func(call *parse.CallExpr) bool { // to a function, which may look at it
		_, sent := j.C.CommandCall(call)
		return !sent && parse.Mentions(call, parse.VarOf(e))
	}
	if words := j.C.Sent(e, "hget"); words != nil && isFlag.MatchString(j.spoken(e)+" "+j.spoken(words[len(words)-1])+" "+j.KeyText(words, len(words)-1)) {
		j.note(e.Pos(), "'0' and 'false' are true here, too: compare it, as in == '1'")
	}
	switch v := j.Peek(e); {
	case v.Is&^flow.IsFailed == flow.IsNumber, isCall && j.C.Flow.Bodies[parse.VarOf(call.Fn)] != nil && v.Is&^(flow.IsFailed|flow.IsFalseValue) == flow.IsNumber:
		j.find(e.Pos(), Compare, "a number is true in Lua, 0 too: compare it, as in == 1 or > 0")
	case v.Is&(flow.IsFailed|flow.IsTable) == flow.IsFailed && v.Is&flow.Absent != 0 && len(j.C.Flow.Indices[parse.VarOf(e)]) == 0 && !slices.ContainsFunc(j.C.Flow.Calls, handed):
		j.find(e.Pos(), Compare, "this is true for an error, too, as redis.pcall returns it: ask for its err, or write redis.call")
	}
}

// given finds a condition that an argument is there, though the script takes one behind it in any case.
func (j *judge) given(cond parse.Expr) {
	_, bare := j.C.Origin(cond).(*parse.IndexExpr)
	n := j.C.Nth(cond, "ARGV")
	if !bare || n == 0 {
		return
	}
	behind := func(e parse.Expr) bool { return j.C.Nth(e, "ARGV") > n }
	asked := slices.ContainsFunc(j.C.Flow.Binaries, func(b *parse.BinaryExpr) bool { return equates(b) && j.C.Nth(b.L, "ARGV") == n }) ||
		slices.ContainsFunc(j.C.Flow.Conds, func(cond parse.Expr) bool { return parse.Contains(cond, behind) })
	if !asked && (slices.ContainsFunc(parse.Statements(j.C.S.Body), func(s parse.Stmt) bool {
		loop, ok := s.(*parse.NumForStmt)
		return ok && parse.Bound(loop.From) == float64(n+1) && j.C.IsList(j.LengthOf(loop.To), "ARGV")
	}) || slices.ContainsFunc(j.C.Calls(), func(call flow.CommandCall) bool { return slices.ContainsFunc(call.Words, behind) })) {
		j.report(cond.Pos(), Compare, "this is always true, as others are behind it: an argument that is left out is '' there, so compare it with that")
	}
}

// nulls notes a field of what came from JSON that is used if it is there: null is there, too.
func (j *judge) nulls(cond parse.Expr) {
	if b, ok := cond.(*parse.BinaryExpr); ok && b.Op == "~=" && flow.ConstantKind(b.R) == flow.IsNil {
		cond = b.L
	}
	index, ok := j.C.Origin(cond).(*parse.IndexExpr)
	if !ok || j.C.Members["cjson.null"] || !j.Peek(index.X).Decoded {
		return
	}
	same := func(e parse.Expr) bool {
		other, ok := j.C.Origin(e).(*parse.IndexExpr)
		return ok && j.C.NameOf(other) == j.C.NameOf(index)
	}
	if slices.ContainsFunc(j.C.Flow.Exprs, func(e parse.Expr) bool { return fails(e, same) }) {
		j.note(cond.Pos(), "this is true for null in JSON, too, which fails behind it: compare it with cjson.null")
	}
}

// operand checks the left part of "and" or "or". In "x and 1 or 2" the 1 is no condition, and "count or 0" is careful.
func (j *judge) operand(e *parse.BinaryExpr) {
	l, ok := parse.Unparen(e.L).(*parse.BinaryExpr)
	if e.Op == "or" && (ok && l.Op == "and" || flow.ConstantKind(e.R) != 0) {
		return
	}
	j.condition(e.L)
}

// present finds a value that may be nil where nil fails.
func (j *judge) present(v flow.Value, pos parse.Pos) {
	switch miss := j.MayMiss(v); {
	case miss && strings.HasPrefix(v.Missing, flow.AnArgument):
		j.may(pos, Nil, "this may be nil, as an argument may be absent, and then it fails: test it first")
	case miss:
		j.may(pos, Nil, "this may be nil, as its key, field or element may be missing, and then it fails: "+
			"test it first, or write or 0 behind it")
	case v.Is == flow.IsNil:
		j.find(pos, Nil, "this is always nil, and then it fails")
	}
}

// failing finds a reply of redis.pcall that may be an error where an error fails.
func (j *judge) failing(v flow.Value, pos parse.Pos) {
	if v.Is&(flow.IsFailed|flow.IsTable) == flow.IsFailed && v.Is != flow.IsFailed {
		j.find(pos, Nil, "this may be the error of the command, as redis.pcall returns it, and then it fails: ask for its err first, or write redis.call")
	}
}

// scalar finds a table, or the like, where a text or a number is taken, and reports whether there is one.
func (j *judge) scalar(v flow.Value, pos parse.Pos, by, cure string) bool {
	j.failing(v, pos)
	if v.Is == 0 || v.Is&(flow.IsText|flow.IsNumber) != 0 {
		return false
	}
	switch {
	case v.Is&(flow.IsStatus|flow.IsTable) == flow.IsStatus:
		cure = ": write .ok behind it"
	case v.Is&(flow.IsTable|flow.IsStatus|flow.IsFailed) != 0:
	case v.Is&flow.IsTrueValue != 0:
		cure = ": write (...) and 1 or 0"
	default:
		cure = ""
	}
	j.find(pos, Nil, "%s takes texts and numbers only, and this is %s%s", by, v.Is, cure)
	return true
}

// elementOf checks the index of what certainly is a list.
func (j *judge) elementOf(s flow.Sight) {
	if s.V.Elem == nil || !s.V.Surely(flow.IsTable) {
		return
	}
	loop, n := j.C.Flow.Loops[parse.VarOf(s.F)], j.most(s.E)
	switch {
	case s.W.Surely(flow.IsText):
		j.find(s.F.Pos(), Nil, "this is always nil, as the table is a list without names: the reply of HGETALL, too, "+
			"is field, value, field, value")
	case n > 0 && float64(s.W.Place()) > n:
		j.find(s.F.Pos(), Nil, "this is always nil: the reply ends at element %.0f", n)
	case s.W.Written() && s.W.Least == 0:
		j.find(s.F.Pos(), Nil, "this is always nil: the first element has the index 1")
	case loop != nil && loop.Step == nil && parse.Bound(loop.From) == 0 && !slices.ContainsFunc(append(j.C.Flow.Conds, j.Conds...), func(e parse.Expr) bool { return parse.Mentions(e, loop.Var) }):
		j.find(s.F.Pos(), Nil, "in the first turn this is nil: the first element has the index 1, so begin with that")
	}
}

// most returns how many elements the reply has at most that an expression is, 0 or NaN if that is not known.
func (j *judge) most(e parse.Expr) float64 {
	if words := j.C.Sent(e, "hmget"); words != nil && !parse.ManyValues(words[len(words)-1]) {
		return float64(len(words) - 2)
	}
	words := append(append(j.C.Sent(e, "lrange"), j.C.Sent(e, "zrange")...), j.C.Sent(e, "zrevrange")...)
	if len(words) != 4 || parse.Bound(words[2])*parse.Bound(words[3]) < 0 {
		return 0
	}
	return parse.Bound(words[3]) - parse.Bound(words[2]) + 1
}

// passes finds what may be nil and is passed to a function of the script that fails for it in the first statement about it.
func (j *judge) passes(f *parse.FuncExpr, e *parse.CallExpr, args []flow.Value) {
	for i, p := range f.Params[:min(len(f.Params), len(args))] {
		if len(p.Writes) == 0 && needs(f.Body.Stmts, p) {
			j.present(args[i], e.Args[i].Pos())
		}
	}
}

// needs reports whether code fails for nil in a name where it first reads it, on all its ways.
func needs(code []parse.Stmt, x *parse.Var) bool {
	here := func(e parse.Expr) bool { return fails(e, func(e parse.Expr) bool { return parse.VarOf(e) == x }) }
	for _, stmt := range code {
		part := &parse.CallExpr{Fn: &parse.NilExpr{}, Args: parse.Exprs(stmt)}
		if len(parse.Blocks(stmt)) > 0 || parse.Mentions(part, x) {
			return len(parse.Blocks(stmt)) == 0 && parse.Contains(part, here) && !parse.Contains(part, parse.Of(func(b *parse.BinaryExpr) bool {
				return (b.Op == "and" || b.Op == "or") && !parse.Contains(b.L, here)
			}))
		}
	}
	return false
}

// fails reports whether an expression fails for nil in what is meant.
func fails(e parse.Expr, meant func(parse.Expr) bool) bool {
	index, isIndex := e.(*parse.IndexExpr)
	call, isCall := e.(*parse.CallExpr)
	b, isBinary := e.(*parse.BinaryExpr)
	return isIndex && meant(index.X) || isCall && call.Method != "" && meant(call.Fn) ||
		isBinary && strings.Contains("..<=>=+-*/%", b.Op) && (meant(b.L) || meant(b.R))
}
