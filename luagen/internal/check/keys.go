package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// rawKey finds the first key of a raw script that certainly does not come from KEYS: it is an argument, or begins with a
// text that is written out, or with each argument in turn. What one argument or a reply begins with may be the hash tag of the
// script's keys, if it has any. Of a function's parameter it looks at what each call passes.
func (j *judge) rawKey(e parse.Expr, cmd *command, left int) {
	of, isParam := j.c.flow.params[varOf(unparen(e))]
	for _, call := range j.c.flow.called[of.owner] {
		if isParam && of.n < len(call.Args) && left > 0 {
			j.rawKey(call.Args[of.n], cmd, left-1)
		}
	}
	given := j.c.certainly(aForeign, e) && (j.c.certainly(aWritten, e) || j.eachOf(e))
	if !isParam && !given && hasKeys(j.c.s) && !j.c.assembled() && j.c.certainly(aForeign, e) && !j.c.flow.within(e, j.c.isParam) {
		j.note(e.Pos(), "this key is made of an argument or a reply: a cluster has it on the node of the script's keys only if it begins with their hash tag")
	}
	if isParam || j.keyFound || !given && (hasKeys(j.c.s) || j.c.assembled() || j.c.flow.within(e, j.c.isParam)) {
		return
	}
	j.keyFound = true
	j.report(e.Pos(), Key, "%s takes a key here that does not come from KEYS: a cluster may have it on "+
		"another node", shown(cmd.name))
}

// eachOf reports whether a key is an element of ARGV, or begins with each in turn.
func (j *judge) eachOf(key parse.Expr) bool {
	front := key
	for b, ok := j.c.origin(front).(*parse.BinaryExpr); ok && b.Op == ".."; b, ok = j.c.origin(front).(*parse.BinaryExpr) {
		front = b.L
	}
	return j.c.certainly(aGiven, front) && (front == key || j.c.nth(front, "ARGV") == 0)
}

// arguments checks the words of a call that must be keys or channels.
func (j *judge) arguments(call commandCall, cmd *command) {
	for _, p := range places(call, cmd) {
		pos := call.words[p.word].Pos()
		switch {
		case j.c.s.Raw:
			if p.quality == aKey {
				j.rawKey(call.words[p.word], cmd, maxCallers)
			}
		case j.c.isAt(call, p):
			j.keyKind(call, cmd, p)
		case p.quality == aChannel:
			j.report(pos, Channel, "%s takes a channel here, but luagen cannot prove that this is a declared one",
				shown(cmd.name))
		default:
			j.unproven = append(j.unproven, func() {
				if !j.isSettled(call.words[p.word]) {
					j.report(pos, Key, "%s takes a key here, but luagen cannot prove that this is a declared one", shown(cmd.name))
				}
			})
		}
	}
}

// keyKind checks that a command is for the kind of its key.
func (j *judge) keyKind(call commandCall, cmd *command, p place) {
	e := call.words[p.word]
	b := j.c.declaredKey(e)
	if b == nil || b.Kind != parse.Key {
		return
	}
	if b.KeyKind == "any" || len(cmd.kinds) == 0 ||
		slices.Contains(cmd.kinds, b.KeyKind) {
		return
	}
	// Sorted-set algebra takes sets too.
	if b.KeyKind == "set" && slices.Contains(setAlgebra, cmd.name) && p.word > 1 {
		return
	}
	j.report(e.Pos(), Kind, "%s is for a %s, and %s is declared a %s", shown(cmd.name),
		strings.Join(cmd.kinds, " or "), b.Name, b.KeyKind)
}

// includedCalls finds calls of included functions that use what they get as a key or channel, where
// that is none.
func (j *judge) includedCalls() {
	for _, call := range j.c.flow.calls {
		in, body := j.c.enter(call)
		if body != nil && in.misuses(body) {
			j.report(call.P, Key, "%s uses its argument as a key or channel, but luagen cannot prove "+
				"that it is a declared one", call.Fn.(*parse.NameExpr).Name)
		}
	}
}

// hidden finds the first use of the server's functions that is not followed: what it reaches is not checked.
func (j *judge) hidden() {
	if e := j.c.escape(); e != nil && (!j.c.s.Raw || hasKeys(j.c.s)) {
		j.report(e.Pos(), Key, "luagen cannot see which commands and keys this leads to: call redis.call directly")
	}
}

// undeclarable says of commands that reach keys which no script can declare what is wrong with them.
var undeclarable = byName(map[string]string{
	"%s names keys that are not passed to the script, of one node only: pass them": "keys randomkey scan",
	"%s deletes keys that are not passed to the script: pass them, and call DEL":   "flushall flushdb",
	"%s is for databases, of which a cluster has one: use other keys":              "move select swapdb",
})

// undeclared finds such a command.
func (j *judge) undeclared(call commandCall, cmd *command) {
	if text := undeclarable[cmd.name]; text != "" {
		j.report(call.words[0].Pos(), Key, text, strings.ToUpper(cmd.name))
	}
}

// isSettled reports whether a word is equal to a declared key in all states, or is a table.
func (j *judge) isSettled(e parse.Expr) bool { return j.settled[e] > 0 && j.settled[e] == j.words[e] }
