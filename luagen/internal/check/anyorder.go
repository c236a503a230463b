package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// commuting are the commands that leave the same behind in any order.
var commuting = strings.Fields(`decr decrby del hdel hincrby hincrbyfloat incr incrby incrbyfloat pfadd sadd srem unlink
	zincrby zrem`)

// lasting are those that do so if each turn gives the same expiry.
var lasting = strings.Fields("expire expireat persist pexpire pexpireat")

// placing are the words that say where a command writes. Writes to different places leave the same behind in any order.
var placing = []string{"key", "field", "member"}

// turn is what one turn of a loop does.
type turn struct {
	changes  map[*parse.Var]bool      // names from outside
	alone    map[*parse.CallExpr]bool // calls whose values are not used
	deciding []parse.Expr             // all that is evaluated, but for what is assigned to such names
}

// anyOrder reports whether the writes of a loop over pairs leave the same behind in any order: nobody uses their replies,
// no turn depends on another, and each write adds, removes, or has a place of its own, by the loop's first name.
func (m *machine) anyOrder(s *parse.GenForStmt, inner *values) bool {
	t := turn{changes: assigned(s.Body), alone: map[*parse.CallExpr]bool{}}
	t.read(s.Body)
	if breaks(s.Body) || len(inner.returned[nil]) > 0 || t.changes[s.Vars[0]] {
		return false
	}
	for _, x := range s.Vars[1:] {
		delete(t.changes, x)
	}
	return !slices.ContainsFunc(inner.calls, func(e *parse.CallExpr) bool {
		return m.writes(e) && !(t.alone[e] && m.placed(e, s.Vars))
	}) && !slices.ContainsFunc(t.deciding, t.depends)
}

func (t *turn) read(b *parse.Block) {
	for _, stmt := range statements(b) {
		switch s := stmt.(type) {
		case *parse.CallStmt:
			t.alone[s.Call] = true
		case *parse.AssignStmt:
			for _, target := range s.Targets {
				if index, ok := target.(*parse.IndexExpr); ok {
					t.changes[varOf(index.X)] = true
				}
			}
			if t.changes[varOf(s.Targets[0])] {
				continue
			}
		}
		t.deciding = append(t.deciding, parse.Exprs(stmt)...)
	}
}

// depends reports whether an expression has a name in it that a turn changes.
func (t *turn) depends(e parse.Expr) bool {
	return slices.ContainsFunc(namesIn(e), func(x *parse.Var) bool { return t.changes[x] })
}

// placed reports whether a write adds or removes, or writes to a place that has the first name in it, or the same in each turn.
func (m *machine) placed(e *parse.CallExpr, vars []*parse.Var) bool {
	call, _ := m.c.commandCall(e)
	if len(call.names) != 1 {
		return false
	}
	name := call.names[0]
	match := m.formOf(call, name)
	for i, f := range match.as {
		if slices.Contains(placing, f.word) && carries(match.words[i], vars[0]) {
			return name != "xadd" && len(places(call, match.cmd)) == 1
		}
	}
	same := len(match.words) > 1 && !slices.ContainsFunc(match.words[2:], func(e parse.Expr) bool { return mentions(e, vars...) })
	return slices.Contains(commuting, name) || slices.Contains(lasting, name) && same
}

// carries reports whether a text is a name's, or is joined of it and others.
func carries(e parse.Expr, x *parse.Var) bool {
	switch e := unparen(e).(type) {
	case *parse.NameExpr:
		return e.Var == x
	case *parse.BinaryExpr:
		return e.Op == ".." && (carries(e.L, x) || carries(e.R, x))
	}
	return false
}
