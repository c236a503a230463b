package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// dropped finds an error or a status that nobody gets, a range that is only read, or a table that the script returns elsewhere.
func (j *judge) dropped(call *parse.CallExpr, v value) {
	again := func(e parse.Expr) bool { return e != nil && spelt(e) == spelt(call) }
	command, _ := j.c.commandCall(call)
	switch name := j.c.callee(call); {
	case name == "redis.error_reply" || name == "redis.status_reply":
		j.find(call.P, Result, "this %s goes nowhere, and the script goes on: return it", name[len("redis."):len(name)-len("_reply")])
	case len(command.names) == 1 && strings.Contains(command.names[0], "range") && !j.writes(call):
		j.find(call.P, Result, "this result goes nowhere: return it, or leave it out")
	case j.depth == 0 && v.is&isTable != 0 && v.is&^(isTable|isStatus|isFailed) == 0 && slices.ContainsFunc(j.c.flow.returned[nil], again):
		j.find(call.P, Result, "this result goes nowhere, and the script goes on, though it returns it in another place: return it")
	}
}
