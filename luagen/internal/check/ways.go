package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// unending finds the keys that never expire on one way through the script, and do on another; or through a function, if no
// other code gives keys an expiry.
func (j *judge) unending() {
	if !j.gave && !j.unclear {
		return
	}
	var helping []*walk
	start, main := j.c.machine(), j.machine
	start.watch, j.machine = j.sees, start
	for _, e := range j.c.flow.exprs {
		if f, ok := e.(*parse.FuncExpr); ok && main.gave && !main.hintless[f] {
			if w := start.ways(f.Body, 1, false); len(w.given) > 0 {
				helping = append(helping, w)
			}
		}
	}
	w := start.ways(j.c.s.Body, 0, len(helping) > 0)
	j.machine = main
	if j.judge(w); len(helping) == 1 && len(w.given) == 0 {
		j.judge(helping[0])
	}
}

// judge finds the keys that a way leaves without an expiry, if no caller has chosen that way. It is compared with the way
// that gives one and parts last from it.
func (j *judge) judge(w *walk) {
	j.state = newState()
	for key, all := range w.left {
		for _, l := range all {
			if len(w.given[key]) == 0 {
				continue
			}
			g := slices.MaxFunc(w.given[key], func(a, b mark) int { return l.common(a) - l.common(b) })
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

// common returns how many turns the ways to two marks have in common.
func (l mark) common(g mark) int {
	n := 0
	for n < min(len(l.turns), len(g.turns)) && l.turns[n] == g.turns[n] {
		n++
	}
	return n
}

// optional reports whether a caller may have chosen that a key has no expiry: where the ways part, the script asks for the
// expiry, or for an argument only. A key that gets its expiry together with another is there if that is.
func (j *judge) optional(w *walk, key string, l, g mark) bool {
	n := l.common(g)
	if n == len(g.turns) || n == len(l.turns) {
		return n < len(g.turns)
	}
	cond := l.turns[n].cond
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
