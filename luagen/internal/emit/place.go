package emit

import (
	"slices"
	"sort"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// A function that does not stand instead of its calls is made just before the first statement that needs it, in the
// innermost branch that has all statements that need it: runs that take another branch do not make it.

// atTop is the place of a function that is made before the script's own code.
const atTop = -1

// made returns the functions that are made before the statement at an offset of the script, or at the top for one file.
func (l *linker) made(offset int, file *parse.Script) (texts []string) {
	for _, f := range l.places[place{offset, file}] {
		texts = append(texts, (&printer{linker: l, unit: f.unit}).span(f.from, f.end+1))
	}
	return texts
}

// replace decides which calls of a function its body replaces: all, or those in the script itself, or none.
func (l *linker) replace(f *function) {
	fits := l.fits(f) && !slices.ContainsFunc(f.sites, func(s site) bool { return s.in == f })
	taken := func(s site) bool { return fits && l.takes(s, f) }
	few := len(f.sites) == 1 || f.end-f.from <= maxSmall
	all := few && !slices.ContainsFunc(f.sites, func(s site) bool { return !taken(s) })
	for _, s := range f.sites {
		if all || s.in == nil && taken(s) {
			l.inPlace[s.unit.calls[s.at]] = f
		} else {
			f.made = true
		}
	}
}

// place is where a function is made: at the top, for the file that has it, or before the statement at an offset of the script.
type place struct {
	offset int
	file   *parse.Script
}

func (l *linker) placeOf(f *function) place {
	needs := l.needs(f, map[*function]bool{}, false)
	first := slices.Min(needs)
	if first == atTop {
		return place{atTop, f.unit.Script}
	}
	script := l.units[len(l.units)-1].Script
	return place{before(script.Body, first, slices.Max(needs)), script}
}

// needs returns the offsets at which the script needs a function, for itself or for another function; with body, also
// those at which it needs only its body. A function is needed at the top if it uses a name which may mean something
// else further down.
func (l *linker) needs(f *function, known map[*function]bool, body bool) (all []int) {
	if known[f] {
		return nil
	}
	known[f] = true
	if !l.clear(f) {
		all = append(all, atTop)
	}
	for _, s := range f.sites {
		switch {
		case s.in != nil:
			all = append(all, l.needs(s.in, known, true)...)
		case body || l.inPlace[s.unit.calls[s.at]] == nil:
			all = append(all, s.at)
		}
	}
	return all
}

// before returns the offset of the first statement with one of two offsets, in the innermost block with both, but no loop's.
func before(b *parse.Block, first, last int) int {
	stmt := at(b, first)
	inner := branch(stmt, first)
	if inner != nil && at(b, last) == stmt && branch(stmt, last) == inner {
		return before(inner, first, last)
	}
	return stmt.Pos().Offset
}

// at returns the statement of a block that an offset lies in.
func at(b *parse.Block, offset int) parse.Stmt {
	behind := sort.Search(len(b.Stmts), func(i int) bool { return b.Stmts[i].Pos().Offset > offset })
	return b.Stmts[behind-1]
}

// branch returns the block of a condition, or of a do, that an offset lies in, or nil.
func branch(stmt parse.Stmt, offset int) (in *parse.Block) {
	if loops(stmt) {
		return nil
	}
	condition, _ := stmt.(*parse.IfStmt)
	for i, b := range parse.Blocks(stmt) {
		if condition != nil && i < len(condition.Conds) && condition.Conds[i].Pos().Offset <= offset {
			in = nil
		}
		if len(b.Stmts) > 0 && b.Stmts[0].Pos().Offset <= offset {
			in = b
		}
	}
	return in
}
