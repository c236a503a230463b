package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// dropped finds an error or a status that nobody gets, a range that is only read, or a table that the script returns elsewhere.
func (j *judge) dropped(call *parse.CallExpr, v flow.Value) {
	again := func(e parse.Expr) bool { return e != nil && flow.Spelt(e) == flow.Spelt(call) }
	command, _ := j.C.CommandCall(call)
	switch name := j.C.Callee(call); {
	case name == "redis.error_reply" || name == "redis.status_reply":
		j.find(call.P, Result, "this %s goes nowhere, and the script goes on: return it", name[len("redis."):len(name)-len("_reply")])
	case len(command.Names) == 1 && strings.Contains(command.Names[0], "range") && !j.Writes(call):
		j.find(call.P, Result, "this result goes nowhere: return it, or leave it out")
	case j.Depth == 0 && v.Is&flow.IsTable != 0 && v.Is&^(flow.IsTable|flow.IsStatus|flow.IsFailed) == 0 && slices.ContainsFunc(j.C.Flow.Returned[nil], again):
		j.find(call.P, Result, "this result goes nowhere, and the script goes on, though it returns it in another place: return it")
	}
}
