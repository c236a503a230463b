package check

import (
	"math"
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// rank is a number that is added to a name, to the length of a list, or to nothing.
type rank struct {
	of any
	n  float64
}

// rankOf returns the rank that an expression is, with NaN for another.
func (m *machine) rankOf(e parse.Expr) rank {
	of, n := added(m.c.origin(e))
	list, name := varOf(m.lengthOf(m.c.origin(e))), m.keyName(e, 1)
	switch {
	case n != 0:
		l := m.rankOf(of)
		return rank{l.of, l.n + n}
	case list != nil:
		return rank{list, 0}
	case name != "":
		return rank{name, 0}
	}
	return rank{nil, bound(e)}
}

// ranks notes up to which rank a call reads a list from its first element on, and finds one that removes one element more
// or less.
func (m *machine) ranks(match *matching) {
	words, key := match.words, m.keyText(match.words, 1)
	if len(words) < 4 || key == "" {
		return
	}
	from, last, place := m.rankOf(words[2]), m.rankOf(words[3]), words[3]
	switch first := from == (rank{}); {
	case first && match.cmd.name == "zremrangebyrank":
	case match.cmd.name == "ltrim" && last == (rank{nil, -1}):
		last, place = rank{from.of, from.n - 1}, words[2]
	case first && slices.Contains(byRank[:2], match.cmd.name):
		m.reads[key] = append(m.reads[key], last)
		return
	default:
		return
	}
	reads := slices.Clone(m.reads[key])
	if x, ok := last.of.(*parse.Var); ok && m.state.vars[x] != nil && m.state.vars[x].listed == key {
		reads = append(reads, rank{x, -1})
	}
	if slices.ContainsFunc(reads, func(r rank) bool {
		return r.of == last.of && math.Abs(last.n-r.n) == 1 && (r.of != nil || min(last.n, r.n) >= 0)
	}) {
		m.find(place.Pos(), Command, "%s removes one element more or less than was read: ranks count from 0, and the last one is included",
			shown(match.cmd.name))
	}
}
