package check

import (
	"maps"
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

// anyOrder reports whether the writes of a loop over pairs leave the same behind in any order: nobody uses their replies,
// no write gets what another turn has changed, and each adds, removes, or has a place of its own, by the loop's first name.
func (m *machine) anyOrder(s *parse.GenForStmt, inner *values) bool {
	if breaks(s.Body) || len(inner.returned[nil]) > 0 {
		return false
	}
	changed := slices.DeleteFunc(slices.Collect(maps.Keys(assigned(s.Body))), func(x *parse.Var) bool { return slices.Contains(s.Vars, x) })
	alone := map[*parse.CallExpr]bool{} // calls whose values are not used
	for _, stmt := range statements(s.Body) {
		if s, ok := stmt.(*parse.CallStmt); ok {
			alone[s.Call] = true
		}
	}
	return !slices.ContainsFunc(inner.calls, func(e *parse.CallExpr) bool {
		return m.writes(e) && !(alone[e] && m.placed(e, s.Vars) && !mentions(e, changed...))
	})
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
