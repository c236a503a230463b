package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// kinds finds two commands on one key that are for different kinds of keys, of which the second fails. It finds none if
// the script may replace or delete the key, or asks for its kind.
func (m *machine) kinds() {
	all, replaced := m.touches(), map[string]bool{}
	for _, t := range all {
		for i := 1; i < len(t.call.words) && slices.Contains(replacers, t.name); i++ {
			key := m.keyText(t.call.words, i)
			replaced[key], replaced[""] = true, replaced[""] || anyOf(key)
		}
	}
	for i, u := range all {
		first := slices.IndexFunc(all[:i], func(t touch) bool {
			return t.key == u.key && t.key != "" && !replaced[""] && !replaced[u.key] && (inside(t.in, u.in) || inside(u.in, t.in)) && m.unlikeKinds(t, u)
		})
		if first >= 0 {
			m.c.find(u.call.words[1].Pos(), Kind, "%s is for a %s, and line %d takes this key for a %s: name the key that is meant", shown(u.name),
				m.kindOf(u), all[first].call.expr.P.Line, m.kindOf(all[first]))
			return
		}
	}
}

// replacers are the commands behind which a key may be of another kind, or by which a script knows its kind.
var replacers = strings.Fields("copy del flushall flushdb getdel getset move mset rename renamenx restore set setex psetex sort type unlink")

func (m *machine) unlikeKinds(t, u touch) bool {
	a, b := m.kindOf(t), m.kindOf(u)
	return a != "" && b != "" && a != b && m.raises(t.call.expr) && m.raises(u.call.expr) &&
		!strings.HasSuffix(t.name, "store") && !strings.HasSuffix(u.name, "store")
}

// kindOf returns the kind of key that a command is for, "" if there are several, or any will do.
func (m *machine) kindOf(t touch) string {
	cmd := m.c.targets[0].of(t.call, t.name)
	if cmd == nil || len(cmd.kinds) != 1 || cmd.specs[0].index != 1 || slices.Contains(setAlgebra, t.name) {
		return ""
	}
	return cmd.kinds[0]
}

// inside reports whether a block is another, or in it.
func inside(outer, b *parse.Block) bool {
	return outer == b || slices.ContainsFunc(outer.Stmts, func(s parse.Stmt) bool {
		return slices.ContainsFunc(parse.Blocks(s), func(inner *parse.Block) bool { return inside(inner, b) })
	})
}
