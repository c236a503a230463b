package check

import (
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// never finds an argument that is compared with a text which it never is.
func (j *judge) never(e *parse.BinaryExpr) {
	if e.Op != "==" && e.Op != "~=" {
		return
	}
	for _, pair := range [][2]parse.Expr{{e.L, e.R}, {e.R, e.L}} {
		x := varOf(pair[0])
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

// equality checks "l == r" and "l ~= r".
func (j *judge) equality(e *parse.BinaryExpr, l, r value) {
	j.compared(e, e.Op, l, r)
	j.compared(e, mirrored[e.Op], r, l)
	never := map[string]string{"==": "never true", "~=": "always true"}[e.Op]
	if bound(e.R) == -2 && j.created(e.L) {
		j.find(e.P, Compare, "this is %s: the script has written the key before, so its TTL is -1 if it has none", never)
	}
	if index, ok := j.c.origin(e.L).(*parse.IndexExpr); ok && r.is == isNil && j.peek(index.X).decoded && !j.c.flow.hasText["null"] {
		j.note(e.P, "null in JSON is cjson.null, which is not nil: if it may be there, ask for that, too")
	}
	mixed := l.surely(isText) && r.surely(isNumber) || l.surely(isNumber) && r.surely(isText)
	if l.is&r.is != 0 && !mixed || j.c.flow.careful[e] {
		return
	}
	for _, pair := range [][2]value{{l, r}, {r, l}} {
		v, constant := pair[0].is, pair[1].is
		switch {
		case constant == isNil && v&boolean == isFalseValue:
			j.find(e.P, Compare, "this is %s: a nil reply is false in Lua, not nil", never)
			return
		case e.Op == "==" && constant == isNil && pair[0].low && pair[0].size == maxLife:
			j.find(e.P, Time, "this is %s: the TTL of a key that has none is -1, and of a missing key -2", never)
			return
		case constant == isNil, constant == isFalseValue && v != isNumber:
			return // to be on the safe side is no mistake
		}
	}
	j.find(e.P, Compare, "this is %s: it compares %s with %s%s", never, l.is, r.is, advice(l, r))
}

// created reports whether an expression is the TTL of a key that the script certainly has, as it wrote it before, and removes none.
func (j *judge) created(e parse.Expr) bool {
	before := slices.DeleteFunc(slices.Clone(j.c.flow.sources[varOf(e)]), func(s source) bool { return s.expr == nil || s.expr.Pos().Offset > e.Pos().Offset })
	if len(before) == 1 { // What the name gets behind the comparison is another.
		e = before[0].expr
	}
	call, ok := j.c.origin(e).(*parse.CallExpr)
	if !ok {
		return false
	}
	command, _ := j.c.commandCall(call)
	if len(command.names) != 1 || command.names[0] != "ttl" && command.names[0] != "pttl" {
		return false
	}
	key, wrote := j.keyText(command.words, 1), false
	for _, other := range j.c.flow.calls {
		c, _ := j.c.commandCall(other)
		if len(c.names) != 1 || j.keyText(c.words, 1) != key && !slices.Contains(removing, c.names[0]) {
			continue
		}
		if slices.Contains(removing, c.names[0]) {
			return false
		}
		wrote = wrote || slices.Contains(creating, c.names[0]) && other.P.Line < call.P.Line && j.creates(c, c.names[0]) &&
			inside(j.c.flow.blocks[other], j.c.flow.blocks[call])
	}
	return wrote && key != ""
}

// advice says how to compare a text with a number.
func advice(l, r value) string {
	if (l.is|r.is)&^absent == isText|isNumber {
		return "; write tonumber, or compare texts"
	}
	return ""
}

// inequality checks "l < r" and its like.
func (j *judge) inequality(e *parse.BinaryExpr, l, r value) {
	j.compared(e, e.Op, l, r)
	j.compared(e, mirrored[e.Op], r, l)
	j.present(l, e.L.Pos())
	j.present(r, e.R.Pos())
	j.member(l, e.L.Pos())
	j.member(r, e.R.Pos())
	j.failing(l, e.L.Pos())
	j.failing(r, e.R.Pos())
	switch {
	case l.surely(isText) && r.surely(isNumber), l.surely(isNumber) && r.surely(isText):
		j.find(e.P, Compare, "this fails: it compares a text with a number; write tonumber")
	case l.surely(isText) && r.surely(isText) && !l.named() && !r.named() && !j.isLetter(e.L) && !j.isLetter(e.R):
		j.find(e.P, Compare, "texts are compared letter by letter: '10' comes before '9'")
	}
}

// compared finds an int without bounds that is compared with a number which may be large. It also finds a length that a
// reply cannot have: the reply has fewer elements, or two for each of its parts.
func (j *judge) compared(e *parse.BinaryExpr, op string, v, other value) {
	if v.lossy != nil && other.is&isNumber != 0 && !other.small() {
		j.use(v)
	}
	most := float64(v.most)
	if v.is == isNumber && other.written() && (most > 0 && op[0] == '>' && !compares(most, op, other.least) ||
		op == "==" && (most > 0 && other.least > most || v.pairs && math.Mod(other.least, 2) == 1)) {
		j.find(e.P, Compare, "this is never true: the reply is shorter, or has two elements for each of its parts")
	}
}

// isLetter reports whether e is a literal text that is not meant to be a number, or the beginning of another text.
func (j *judge) isLetter(e parse.Expr) bool {
	if call, ok := j.c.origin(e).(*parse.CallExpr); ok {
		return j.c.callee(call) == "string.sub" && len(call.Args) > 2 && bound(call.Args[1]) == 1 &&
			!j.c.flow.within(call.Args[2], j.isPlace) // else it is the first part
	}
	s, ok := unparen(e).(*parse.StringExpr)
	return ok && (s.Value == "" || s.Value[0] < '0' || s.Value[0] > '9')
}

// isPlace reports whether an expression is the place of a separator in a text.
func (j *judge) isPlace(e parse.Expr) bool {
	call, ok := e.(*parse.CallExpr)
	return ok && (j.c.callee(call) == "string.find" || call.Method == "find")
}

// condition finds a number where a condition stands, which was evaluated: 0 is true in Lua. The left part of "and" and
// "or", and what "not" is for, are found where they are evaluated.
func (j *judge) condition(e parse.Expr) {
	e = unparen(e)
	j.emptyIsTrue(e)
	switch x := e.(type) {
	case *parse.BinaryExpr:
		if x.Op == "and" || x.Op == "or" {
			j.condition(x.R)
			return
		}
	case *parse.NumberExpr: // while 1 do
		return
	}
	origin := j.c.origin(e)
	_, constant := origin.(*parse.NumberExpr)
	call, isCall := origin.(*parse.CallExpr)
	if constant || j.c.flow.careful[e] || j.passed(origin, "tonumber") != nil {
		return
	}
	switch v := j.peek(e); {
	case v.is&^isFailed == isNumber, isCall && j.c.flow.bodies[varOf(call.Fn)] != nil && v.is&^(isFailed|isFalseValue) == isNumber:
		j.find(e.Pos(), Compare, "a number is true in Lua, 0 too: compare it, as in == 1 or > 0")
	case v.is&(isFailed|isTable) == isFailed && v.is&absent != 0 && !j.looksAt(e):
		j.find(e.Pos(), Compare, "this is true for an error, too, as redis.pcall returns it: ask for its err, or write redis.call")
	case isCall && j.c.callee(call) == "" && v.surely(0):
		j.find(e.Pos(), Compare, "this is never true: the function returns only nil or false")
	}
}

// looksAt reports whether a script has the reply in a name, and asks somewhere what it is.
func (j *judge) looksAt(e parse.Expr) bool {
	x := varOf(e)
	return x != nil && (len(j.c.flow.indices[x]) > 0 || slices.ContainsFunc(j.c.flow.calls, func(call *parse.CallExpr) bool {
		return j.c.callee(call) == "type" && len(call.Args) == 1 && varOf(call.Args[0]) == x
	}))
}

// operand checks the left part of "and" or "or". In "x and 1 or 2" the 1 is no condition, and "count or 0" is to be on
// the safe side.
func (j *judge) operand(e *parse.BinaryExpr) {
	l, ok := unparen(e.L).(*parse.BinaryExpr)
	if e.Op == "or" && (ok && l.Op == "and" || constantKind(e.R) != 0) {
		return
	}
	j.condition(e.L)
}
