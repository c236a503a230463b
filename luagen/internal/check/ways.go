package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// unending finds the keys that never expire on one way through the script, and do on another; or through a function, if no
// other code gives keys an expiry.
func (j *judge) unending() {
	j.state = newState()
	j.compareWays(j.frame)
	var helping []*frame
	for _, f := range j.frames {
		if len(f.given) > 0 {
			helping = append(helping, f)
		}
	}
	if len(helping) == 1 && len(j.frame.given) == 0 {
		j.compareWays(helping[0])
	}
}

// compareWays finds the keys that a way leaves without an expiry, if no caller has chosen that way. It is compared with the
// way that gives one and parts last from it.
func (j *judge) compareWays(w *frame) {
	for key, all := range w.left {
		for _, l := range all {
			if len(w.given[key]) == 0 {
				continue
			}
			g := slices.MaxFunc(w.given[key], func(a, b mark) int { return common(l.way, a.way).turns() - common(l.way, b.way).turns() })
			how := "comes to its end"
			if l.pos.Line > 0 {
				how = "returns in line " + itoa(l.pos.Line)
			}
			if !j.optional(w, key, l, g) {
				j.find(l.made.pos, Expire, "the key that this writes never expires if the script then %s: give it an expiry on "+
					"that way, too, as in line %d", how, g.pos.Line)
			}
		}
	}
}

// optional reports whether a caller may have chosen that a key has no expiry: where the ways part, the script asks for the
// expiry, or for an argument only. A key that gets its expiry together with another is there if that is.
func (j *judge) optional(w *frame, key string, l, g mark) bool {
	last := common(l.way, g.way)
	if last == g.way || last == l.way {
		return last != g.way
	}
	parts := l.way
	for parts.up != last {
		parts = parts.up
	}
	cond, n := parts.cond, last.turns()
	if cond == nil {
		return true
	}
	if slices.ContainsFunc(g.words, func(word parse.Expr) bool {
		return j.c.flow.within(cond, func(e parse.Expr) bool { return j.c.shares(word, e) })
	}) {
		return true
	}
	keys, unclear := j.asksOf(cond)
	if b, ok := unparen(cond).(*parse.BinaryExpr); ok && strings.ContainsAny(b.Op, "<>") && l.made.name[0] == 'h' { // A hash may end so.
		unclear = unclear || l.made.turn <= n && slices.Contains(keys, key)
	}
	states := strings.HasPrefix(g.made.value, "'") && strings.HasPrefix(l.made.value, "'") && g.made.value != l.made.value
	decided := slices.ContainsFunc(keys, func(other string) bool { return other == key || len(w.given[other]) == 0 })
	counts := anyOf(key) && slices.ContainsFunc(namesIn(cond), func(x *parse.Var) bool {
		return slices.Equal(j.c.flow.sources[x], []source{{}})
	})
	same := g.made.name == l.made.name && l.made.turn > n && len(keys) == 0
	return unclear || states && l.made.drops || !decided && !counts && !same
}
