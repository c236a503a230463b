package check

import (
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
	case !m.acts(call) && (!isCommand || m.ranges(call) || m.last && m.c.s.Raw && len(m.c.s.Body.Stmts) > 1), m.idle(m.c.flow.bodies[varOf(call.Fn)]):
		m.find(call.P, Result, "this result goes nowhere: return it, or leave it out")
	case m.depth == 0 && v.is&isTable != 0 && v.is&^(isTable|isStatus|isFailed) == 0 && slices.ContainsFunc(m.c.flow.returned[nil], again):
		m.find(call.P, Result, "this result goes nowhere, and the script goes on, though it returns it in another place: return it")
	}
}

// ranges reports whether a call reads a range, which no cache needs.
func (m *machine) ranges(e *parse.CallExpr) bool {
	call, _ := m.c.commandCall(e)
	return len(call.names) == 1 && strings.Contains(call.names[0], "range")
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
