package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// rawKey finds the first key of a raw script that certainly does not come from KEYS: it is an argument, or begins with a
// text that is written out, or with each argument in turn. What one argument or a reply begins with may be the hash tag of the
// script's keys, if it has any. Of a function's parameter it looks at what each call passes.
func (j *judge) rawKey(e parse.Expr, cmd *flow.Command, left int) {
	of, isParam := j.C.Flow.Params[flow.VarOf(flow.Unparen(e))]
	for _, call := range j.C.Flow.Called[of.Owner] {
		if isParam && of.N < len(call.Args) && left > 0 {
			j.rawKey(call.Args[of.N], cmd, left-1)
		}
	}
	given := j.C.Certainly(flow.AForeign, e) && (j.C.Certainly(flow.AWritten, e) || j.eachOf(e))
	if !isParam && !given && flow.HasKeys(j.C.S) && !j.C.Assembled() && j.C.Certainly(flow.AForeign, e) && !j.C.Flow.Within(e, j.C.IsParam) {
		j.note(e.Pos(), "this key is made of an argument or a reply: a cluster has it on the node of the script's keys only if it begins with their hash tag")
	}
	if isParam || j.keyFound || !given && (flow.HasKeys(j.C.S) || j.C.Assembled() || j.C.Flow.Within(e, j.C.IsParam)) {
		return
	}
	j.keyFound = true
	j.report(e.Pos(), Key, "%s takes a key here that does not come from KEYS: a cluster may have it on "+
		"another node", flow.Shown(cmd.Name))
}

// eachOf reports whether a key is an element of ARGV, or begins with each in turn.
func (j *judge) eachOf(key parse.Expr) bool {
	front := key
	for b, ok := j.C.Origin(front).(*parse.BinaryExpr); ok && b.Op == ".."; b, ok = j.C.Origin(front).(*parse.BinaryExpr) {
		front = b.L
	}
	return j.C.Certainly(flow.AGiven, front) && (front == key || j.C.Nth(front, "ARGV") == 0)
}

// arguments checks the words of a call that must be keys or channels.
func (j *judge) arguments(call flow.CommandCall, cmd *flow.Command) {
	for _, p := range flow.Places(call, cmd) {
		pos := call.Words[p.Word].Pos()
		switch {
		case j.C.S.Raw:
			if p.Quality == flow.AKey {
				j.rawKey(call.Words[p.Word], cmd, flow.MaxCallers)
			}
		case j.C.IsAt(call, p):
			j.keyKind(call, cmd, p)
		case p.Quality == flow.AChannel:
			j.report(pos, Channel, "%s takes a channel here, but luagen cannot prove that this is a declared one",
				flow.Shown(cmd.Name))
		default:
			j.unproven = append(j.unproven, func() {
				if !j.isSettled(call.Words[p.Word]) {
					j.report(pos, Key, "%s takes a key here, but luagen cannot prove that this is a declared one", flow.Shown(cmd.Name))
				}
			})
		}
	}
}

func (j *judge) keyKind(call flow.CommandCall, cmd *flow.Command, p flow.Place) {
	e := call.Words[p.Word]
	b := j.C.DeclaredKey(e)
	if b == nil || b.Kind != parse.Key || b.KeyKind == "any" || len(cmd.Kinds) == 0 || slices.Contains(cmd.Kinds, b.KeyKind) ||
		b.KeyKind == "set" && flow.Is(cmd.Name, "set algebra") && p.Word > 1 { // which takes sets too
		return
	}
	j.report(e.Pos(), Kind, "%s is for a %s, and %s is declared a %s", flow.Shown(cmd.Name),
		strings.Join(cmd.Kinds, " or "), b.Name, b.KeyKind)
}

// includedCalls finds calls of included functions that use what they get as a key or channel, where that is none.
func (j *judge) includedCalls() {
	for _, call := range j.C.Flow.Calls {
		in, body := j.C.Enter(call)
		if body != nil && in.Misuses(body) {
			j.report(call.P, Key, "%s uses its argument as a key or channel, but luagen cannot prove "+
				"that it is a declared one", call.Fn.(*parse.NameExpr).Name)
		}
	}
}

// undeclarable says of commands that reach keys which no script can declare what is wrong with them.
var undeclarable = flow.ByName(map[string]string{
	"%s names keys that are not passed to the script, of one node only: pass them": "keys randomkey scan",
	"%s deletes keys that are not passed to the script: pass them, and call DEL":   "flushall flushdb",
	"%s is for databases, of which a cluster has one: use other keys":              "move select swapdb",
})

// isSettled reports whether a word is equal to a declared key in all states, or is a table.
func (j *judge) isSettled(e parse.Expr) bool { return j.settled[e] > 0 && j.settled[e] == j.words[e] }
