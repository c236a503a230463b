package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// dropped finds an error or a status that nobody gets, a result that is only made, or a table that the script returns elsewhere.
func (j *judge) dropped(call *parse.CallExpr, v value) {
	again := func(e parse.Expr) bool { return e != nil && spelt(e) == spelt(call) }
	_, isCommand := j.c.words(call) // which may be for a cache that follows it
	switch name := j.c.callee(call); {
	case name == "redis.error_reply" || name == "redis.status_reply":
		j.find(call.P, Result, "this %s goes nowhere, and the script goes on: return it", name[len("redis."):len(name)-len("_reply")])
	case !j.acts(call) && (!isCommand || j.ranges(call) || j.last && j.c.s.Raw && len(j.c.s.Body.Stmts) > 1), j.idle(j.c.flow.bodies[varOf(call.Fn)]):
		j.find(call.P, Result, "this result goes nowhere: return it, or leave it out")
	case j.depth == 0 && v.is&isTable != 0 && v.is&^(isTable|isStatus|isFailed) == 0 && slices.ContainsFunc(j.c.flow.returned[nil], again):
		j.find(call.P, Result, "this result goes nowhere, and the script goes on, though it returns it in another place: return it")
	}
}

// ranges reports whether a call reads a range, which no cache needs.
func (j *judge) ranges(e *parse.CallExpr) bool {
	call, _ := j.c.commandCall(e)
	return len(call.names) == 1 && strings.Contains(call.names[0], "range")
}

// idle reports whether a function changes nothing, and always returns something.
func (j *judge) idle(f *parse.FuncExpr) bool {
	if f == nil || j.yielded[f].is&isNil != 0 || len(assigned(f.Body)) > 0 {
		return false
	}
	inner := newValues()
	inner.block(f.Body, f)
	return len(inner.stores)+len(inner.changed) == 0 && !slices.ContainsFunc(inner.calls, func(e *parse.CallExpr) bool { return j.acts(e) })
}

// acts reports whether an expression is a call that may change something, or have another result each time.
func (j *judge) acts(e parse.Expr) bool {
	call, isCall := e.(*parse.CallExpr)
	if !isCall {
		return false
	} else if command, ok := j.c.commandCall(call); ok {
		return len(command.names) != 1 || shapes[command.names[0]] == "" || j.writes(call)
	}
	library, member, _ := strings.Cut(j.c.callee(call), ".")
	if slices.Contains([]string{"string", "math", "cjson", "cmsgpack", "struct", "bit"}, library) {
		return strings.HasPrefix(member, "random")
	}
	return !slices.Contains([]string{"tonumber", "tostring", "type", "ipairs", "pairs", "next", "select", "unpack"}, library) && member != "concat"
}
