package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// unending finds the keys that never expire on one way through the script, and do on another; or through a function, if no
// other code gives keys an expiry.
func (j *judge) unending() {
	j.State = flow.NewState()
	j.compareWays(j.Frame)
	var helping []*flow.Frame
	for _, f := range j.Frames {
		if len(f.Given) > 0 {
			helping = append(helping, f)
		}
	}
	if len(helping) == 1 && len(j.Frame.Given) == 0 {
		j.compareWays(helping[0])
	}
}

// compareWays finds the keys that a way leaves without an expiry, if no caller has chosen that way. It is compared with the
// way that gives one and parts last from it.
func (j *judge) compareWays(w *flow.Frame) {
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
	if cond == nil {
		return true
	}
	if slices.ContainsFunc(g.Words, func(word parse.Expr) bool {
		return j.C.Flow.Within(cond, func(e parse.Expr) bool { return j.C.Shares(word, e) }) ||
			j.C.Flow.Within(word, func(e parse.Expr) bool { return j.C.Nth(e, "ARGV") > 0 && j.C.Shares(e, cond) })
	}) {
		return true
	}
	keys, unclear := j.AsksOf(cond)
	if b, ok := flow.Unparen(cond).(*parse.BinaryExpr); ok && strings.ContainsAny(b.Op, "<>") && l.Made.Name[0] == 'h' { // A hash may end so.
		unclear = unclear || l.Made.Turn <= n && slices.Contains(keys, key)
	}
	states := strings.HasPrefix(g.Made.Value, "'") && strings.HasPrefix(l.Made.Value, "'") && g.Made.Value != l.Made.Value
	decided := slices.ContainsFunc(keys, func(other string) bool { return other == key || len(w.Given[other]) == 0 })
	counts := flow.AnyOf(key) && slices.ContainsFunc(flow.NamesIn(cond), func(x *parse.Var) bool {
		return slices.Equal(j.C.Flow.Sources[x], []flow.Source{{}})
	})
	same := g.Made.Name == l.Made.Name && l.Made.Turn > n && len(keys) == 0
	return unclear || states && l.Made.Drops || !decided && !counts && !same
}
