package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// touch is a call of a command on a key.
type touch struct {
	call      flow.CommandCall
	name, key string
	keys      []string // the texts of all its words but the command: more than the first may be keys
	gives     bool     // the key an expiry
}

// compareTouches finds what these calls say of each other, unless there are too many to compare.
func (j *judge) compareTouches() {
	j.State = flow.NewState()
	var all []touch
	for _, e := range j.C.Flow.Calls {
		call, ok := j.C.CommandCall(e)
		if !ok || len(call.Names) != 1 || len(call.Words) < 2 {
			continue
		}
		t := touch{call: call, name: call.Names[0]}
		for i := range call.Words[1:] {
			t.keys = append(t.keys, j.KeyText(call.Words, i+1))
		}
		t.key, t.gives = t.keys[0], j.Expires(call, t.name)
		if all = append(all, t); len(all) > flow.MaxAsked {
			return
		}
	}
	j.wrongKeys(all)
	j.habits(all)
}

// wrongKeys finds a key that the script writes and gives no expiry: all others that the script writes have one, or the
// script asks when it ends.
func (j *judge) wrongKeys(all []touch) {
	given, marks, seen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range all {
		marks[t.key] = marks[t.key] || slices.Contains([]string{"exists", "get", "hget"}, t.name) && j.asked(t.call.Expr)
		given[t.key] = given[t.key] || t.gives
		given[""] = given[""] || t.gives && flow.AnyOf(t.key)
	}
	for _, t := range all {
		left := t.key != "" && !given[t.key] && !given[""] && slices.Contains(flow.Creating, t.name) && j.Creates(t.call, t.name)
		if left && !seen[t.key] {
			seen[t.key] = j.unlike(t, all, given, marks)
		}
		if left && j.C.S.Raw && !strings.HasPrefix(t.name, "decr") { // which is for what is there
			j.watched(t, all)
		}
	}
}

// asked reports whether some condition is about the reply of a call itself, and no number that is made of it.
func (j *judge) asked(call *parse.CallExpr) bool {
	return slices.ContainsFunc(j.C.Flow.Conds, func(cond parse.Expr) bool {
		return parse.Contains(cond, func(e parse.Expr) bool { return j.C.Origin(e) == parse.Expr(call) })
	})
}

// unlike finds the write of a key that never expires where all others do that the script writes, and reports whether it does. A
// mark, by which the script knows what was done, is no such other, nor is a word that is written out, which is a flag.
func (j *judge) unlike(t touch, all []touch, given, marks map[string]bool) bool {
	flag := t.name == "set" && len(t.call.Words) == 3 && j.Peek(t.call.Words[2]).Word
	alike, only := false, strings.HasPrefix(t.key, "KEYS") && !marks[t.key] && !flag
	for _, u := range all {
		switch {
		case u.key == t.key:
			only = only && !slices.Contains(shared, u.name)
		case slices.Contains(flow.Creating, u.name) || slices.Contains(flow.Replacing, u.name):
			only = only && given[u.key]
			alike = alike || !marks[u.key] && (!u.gives || t.name == "set" && slices.Contains(flow.Replacing, u.name))
		}
	}
	if alike && only {
		j.find(t.call.Expr.P, Expire, "this key never expires, and others that the script writes do: give it an expiry, too")
	}
	return alike && only
}

// shared are the commands of stocks, queues and lists of all, which have no expiry, or get one elsewhere.
var shared = flow.Words("shared")

// watched finds a key that never expires, of which the script asks when it does.
func (j *judge) watched(t touch, all []touch) {
	for _, u := range all {
		if u.key == t.key && flow.Units[flow.Shapes[u.name]].Per != 0 && !slices.ContainsFunc(all, func(t touch) bool { return t.gives || slices.Contains(flow.Ending, t.name) }) {
			j.find(t.call.Expr.P, Expire, "this key never expires, and line %d asks when it does: give it an expiry", u.call.Expr.P.Line)
		}
	}
}
