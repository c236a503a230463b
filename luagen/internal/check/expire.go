package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// unending finds the keys that never expire on one way through the script: it compares a way that leaves a key without an
// expiry with the way that gives one and parts last from it.
func (j *judge) unending() {
	w := j.Frame
	j.State = flow.NewState()
	for key, all := range w.Left {
		for _, l := range all {
			if len(w.Given[key]) == 0 {
				continue
			}
			g := slices.MaxFunc(w.Given[key], func(a, b flow.Mark) int { return flow.Common(l.Way, a.Way).Turns() - flow.Common(l.Way, b.Way).Turns() })
			how := "comes to its end"
			if l.Pos.Line > 0 {
				how = "returns in line " + flow.Itoa(l.Pos.Line)
			}
			if !j.optional(w, key, l, g) {
				j.find(l.Made.Pos, Expire, "the key that this writes never expires if the script then %s: give it an expiry on "+
					"that way, too, as in line %d", how, g.Pos.Line)
			}
		}
	}
}

// optional reports whether a caller may have chosen that a key has no expiry: where the ways part, the script asks for the
// expiry, or for an argument only. A key that gets its expiry together with another is there if that is.
func (j *judge) optional(w *flow.Frame, key string, l, g flow.Mark) bool {
	last := flow.Common(l.Way, g.Way)
	if last == g.Way || last == l.Way {
		return last != g.Way
	}
	parts := l.Way
	for parts.Up != last {
		parts = parts.Up
	}
	cond, n := parts.Cond, last.Turns()
	isCount := func(e parse.Expr) bool { return j.C.IsList(j.LengthOf(e), "ARGV") }
	isAsked := func(word parse.Expr) bool {
		return j.C.Flow.Within(cond, func(e parse.Expr) bool { return j.C.Shares(word, e) }) ||
			j.C.Flow.Within(word, func(e parse.Expr) bool { return j.C.Nth(e, "ARGV") > 0 && j.C.Shares(e, cond) })
	}
	if cond == nil || parse.Contains(cond, isCount) || slices.ContainsFunc(g.Words, isAsked) {
		return true
	}
	keys, unclear := j.AsksOf(cond)
	if b, ok := parse.Unparen(cond).(*parse.BinaryExpr); ok && strings.ContainsAny(b.Op, "<>") && l.Made.Name[0] == 'h' { // A hash may end so.
		unclear = unclear || l.Made.Turn <= n && slices.Contains(keys, key)
	}
	states := strings.HasPrefix(g.Made.Value, "'") && strings.HasPrefix(l.Made.Value, "'") && g.Made.Value != l.Made.Value
	decided := slices.ContainsFunc(keys, func(other string) bool { return other == key || len(w.Given[other]) == 0 })
	same := g.Made.Name == l.Made.Name && l.Made.Turn > n && len(keys) == 0
	return unclear || states && l.Made.Drops || !decided && !same
}

// touch is a call of a command on a key.
type touch struct {
	call      flow.CommandCall
	name, key string
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
		name := call.Names[0]
		if all = append(all, touch{call, name, j.KeyText(call.Words, 1), j.Expires(call, name)}); len(all) > flow.MaxAsked {
			return
		}
	}
	j.wrongKeys(all)
	j.habits(all)
}

// wrongKeys finds a key without an expiry where all others that the script writes have one.
func (j *judge) wrongKeys(all []touch) {
	given, marks, seen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range all {
		marks[t.key] = marks[t.key] || slices.Contains([]string{"exists", "get", "hget"}, t.name) && slices.ContainsFunc(j.C.Flow.Conds, func(cond parse.Expr) bool {
			return parse.Contains(cond, func(e parse.Expr) bool { return j.C.Origin(e) == parse.Expr(t.call.Expr) }) // not a number that is made of it
		})
		given[t.key] = given[t.key] || t.gives
		given[""] = given[""] || t.gives && flow.AnyOf(t.key)
	}
	for _, t := range all {
		if t.key != "" && !given[t.key] && !given[""] && !seen[t.key] && flow.Is(t.name, "creating") && j.Creates(t.call, t.name) {
			seen[t.key] = j.unlike(t, all, given, marks)
		}
	}
}

// unlike finds the write of a key that never expires where all others do that the script writes, and reports whether it does. A
// mark, by which the script knows what was done, is no such other, nor is a word that is written out, which is a flag, nor a
// hash with any number of fields.
func (j *judge) unlike(t touch, all []touch, given, marks map[string]bool) bool {
	_, written := parse.ConstantText(j.C.Origin(t.call.Words[min(2, len(t.call.Words)-1)]))
	flag := t.name == "set" && len(t.call.Words) == 3 && j.Peek(t.call.Words[2]).Word || t.name[0] == 'h' && !written
	alike, only := false, strings.HasPrefix(t.key, "KEYS") && !marks[t.key] && !flag
	for _, u := range all {
		switch {
		case u.key == t.key:
			only = only && !flow.Is(u.name, "shared")
		case flow.Is(u.name, "creating") || flow.Is(u.name, "with expiry"):
			only = only && given[u.key]
			alike = alike || !marks[u.key] && (!u.gives || t.name == "set" && flow.Is(u.name, "with expiry"))
		}
	}
	if alike && only {
		j.find(t.call.Expr.P, Expire, "this key never expires, and others that the script writes do: give it an expiry, too")
	}
	return alike && only
}
