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
	in        *parse.Block
	gives     bool // the key an expiry
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
		t := touch{call: call, name: call.Names[0], in: j.C.Flow.Blocks[e]}
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
	if j.C.S.Raw {
		j.wrongKinds(all)
	}
}

// wrongKeys finds a key that the script writes and gives no expiry: an EXPIRE was meant for it, all others that the
// script writes have an expiry, or the script asks when it ends.
func (j *judge) wrongKeys(all []touch) {
	given, marks, seen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range all {
		marks[t.key] = marks[t.key] || slices.Contains([]string{"exists", "get", "hget"}, t.name) && j.asked(t.call.Expr)
		given[t.key] = given[t.key] || t.gives
		given[""] = given[""] || t.gives && flow.AnyOf(t.key)
	}
	for i, t := range all {
		left := t.key != "" && !given[t.key] && !given[""] && slices.Contains(flow.Creating, t.name) && j.Creates(t.call, t.name)
		if left && !seen[t.key] && !j.misdirected(all, i) {
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

// misdirected finds an EXPIRE behind the write of a key that never gets one, of another key that was not written before, and
// that no condition is about, and reports whether it does. Several in a row make keys last that others have written.
func (j *judge) misdirected(all []touch, i int) bool {
	ends := func(j int) bool { return j < len(all) && slices.Contains(flow.Ending, all[j].name) }
	if !ends(i+1) || ends(i+2) {
		return false
	}
	line, next := all[i].call.Expr.P.Line, all[i+1]
	if slices.ContainsFunc(all[:i], func(t touch) bool {
		writes := j.Writes(t.call.Expr) && !slices.Contains(flow.Ending, t.name)
		return writes && (flow.AnyOf(t.key) || slices.Contains(t.keys, next.key)) || t.key == next.key && j.C.InCondition(t.call.Expr)
	}) {
		return false
	}
	j.find(next.call.Expr.P, Expire, "this key was not written before, and the one that line %d writes never expires: name that one", line)
	return true
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

// wrongKinds finds two commands on one key that are for different kinds of keys, of which the second fails. It finds none if
// the script may replace or delete the key, or asks for its kind.
func (j *judge) wrongKinds(all []touch) {
	replaced := map[string]bool{"": true}
	for _, t := range all {
		if !slices.Contains(replacers, t.name) {
			continue
		} else if slices.ContainsFunc(t.keys, flow.AnyOf) {
			return
		}
		for _, key := range t.keys {
			replaced[key] = true
		}
	}
	for i, u := range all {
		first := slices.IndexFunc(all[:i], func(t touch) bool {
			return t.key == u.key && !replaced[u.key] && (flow.Inside(t.in, u.in) || flow.Inside(u.in, t.in)) && j.unlikeKinds(t, u)
		})
		if first >= 0 {
			j.report(u.call.Words[1].Pos(), Kind, "%s is for a %s, and line %d takes this key for a %s: name the key that is meant",
				flow.Shown(u.name), j.kindOf(u), all[first].call.Expr.P.Line, j.kindOf(all[first]))
			return
		}
	}
}

// replacers are the commands behind which a key may be of another kind, or by which a script knows its kind.
var replacers = flow.Words("replacing kinds")

// unlikeKinds reports whether two calls are for different kinds of keys, and end the script if they fail.
func (j *judge) unlikeKinds(t, u touch) bool {
	a, b := j.kindOf(t), j.kindOf(u)
	return a != "" && b != "" && a != b && j.Raises(t.call.Expr) && j.Raises(u.call.Expr) &&
		!strings.HasSuffix(t.name, "store") && !strings.HasSuffix(u.name, "store")
}

// kindOf returns the kind of key that a command is for, "" if there are several, or any will do.
func (j *judge) kindOf(t touch) string {
	cmd := j.C.Targets[0].Of(t.call, t.name)
	if cmd == nil || len(cmd.Kinds) != 1 || len(cmd.Specs) == 0 || cmd.Specs[0].Index != 1 || slices.Contains(flow.SetAlgebra, t.name) {
		return ""
	}
	return cmd.Kinds[0]
}
