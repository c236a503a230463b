package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// mayBeEmpty reports whether a value is a list that is empty in some cases, and no condition that has led here is about it.
func (m *machine) mayBeEmpty(e parse.Expr, v value) bool {
	x := varOf(unparen(e))
	return v.hollow && (v.listed != "" || x != nil && m.c.flow.isList(x)) && !(x != nil && m.mentioned(x)) &&
		(v.listed == "" || v.listed == anyReply || !slices.ContainsFunc(answers(v.listed), m.state.holds))
}

// mentioned reports whether a condition that has led here is about a name.
func (m *machine) mentioned(x *parse.Var) bool {
	return slices.ContainsFunc(append(slices.Clone(m.c.flow.along[x]), x), func(x *parse.Var) bool { return m.state.holds(x) })
}

// listing notes the key of which a reply has the elements, and whether there may be none.
func (m *machine) listing(name string, words []parse.Expr, v value) value {
	key := m.keyText(words, 1)
	if v.endless = endless(name, words); m.depth > 0 || key == "" || v.elem == nil || v.known > 0 {
		return v
	}
	v.listed, v.hollow = key, !m.state.knows(later(key)) || strings.Contains(name, "by")
	return v
}

// unpacked notes that unpack has taken all of a list.
func (m *machine) unpacked(args []parse.Expr, v value) {
	if x := varOf(unparen(args[0])); x != nil && m.quiet == 0 && m.whole(args, v) && v.long() {
		m.state.ask(proved, limited{x}) // else it fails here
	}
}

// whole reports whether unpack gets a list to its end, of which the script has not asked how long it is.
func (m *machine) whole(args []parse.Expr, v value) bool {
	x := varOf(unparen(args[0]))
	whole := len(args) < 3 || x != nil && varOf(m.lengthOf(args[2])) == x
	return whole && !m.state.knows(limited{x}) && !m.state.knows(limited{v.listed})
}

// long reports whether a list may have more elements than unpack takes.
func (v value) long() bool { return v.endless || v.most >= maxUnpack }

const maxUnpack = 8000

// lengthOf returns the list of which an expression is the length, or the least of it and of what is no smaller, or too large.
func (m *machine) lengthOf(e parse.Expr) (list parse.Expr) {
	length := func(e parse.Expr) bool {
		u, ok := e.(*parse.UnaryExpr)
		if ok = ok && u.Op == "#"; ok {
			list = u.X
		}
		return ok || bound(e) >= maxUnpack-1
	}
	call, isCall := m.c.origin(e).(*parse.CallExpr)
	switch {
	case isCall && m.c.callee(call) == "table.getn" && len(call.Args) > 0:
		return call.Args[0]
	case !isCall:
		length(m.c.origin(e))
	case m.c.callee(call) != "math.min", slices.ContainsFunc(call.Args, func(arg parse.Expr) bool { return !m.c.flow.within(arg, length) }):
		return nil
	}
	return list
}

// bounds notes that a number of elements is less than a number that never changes, but 0 or 1.
func (m *machine) bounds(e parse.Expr, limit parse.Expr) {
	w := m.peek(limit)
	if m.peek(e).size != aCount().size || w.is == isNumber && w.size <= 1 && w.size > 0 ||
		slices.ContainsFunc(namesIn(limit), func(x *parse.Var) bool { return len(x.Writes) > 0 }) {
		return
	}
	for _, what := range m.touched(e) {
		m.state.ask(proved, limited{what})
	}
}

// limited is asked of a list, or of the key that it lists.
type limited struct{ what any }

// grow notes that the lists which a loop over an endless one, or up to an argument, appends to are endless, too.
func (m *machine) grow(stmt parse.Stmt, body *parse.Block) {
	for _, e := range parse.Exprs(stmt) {
		length, _ := added(e)
		list := m.lengthOf(length)
		if call, ok := e.(*parse.CallExpr); ok && m.c.callee(call) == "ipairs" && len(call.Args) > 0 {
			list = call.Args[0]
		}
		over := m.peek(list)
		given := list != nil && m.c.isList(list, "ARGV")
		if !over.endless && !given && !m.anyNumber(stmt, e) || breaks(body) {
			continue
		}
		all, changed := m.c.collected(body), assigned(body)
		for _, inner := range statements(body) {
			put, _ := inner.(*parse.AssignStmt)
			if put == nil {
				continue
			}
			if t, ok := put.Targets[0].(*parse.IndexExpr); ok {
				if i, _ := added(t.Key); slices.Contains(declaredBy(stmt), varOf(i)) {
					all = append(all, varOf(t.X))
				}
			}
		}
		for _, x := range all {
			if v, known := m.state.get(x); known && !changed[x] {
				v.endless, v.given, v.listed = !given || v.endless, given || v.given, over.listed
				m.state.set(x, v)
			}
		}
	}
}

// anyNumber reports whether a loop counts up to an argument that the script compares with no number that is written out.
func (m *machine) anyNumber(stmt parse.Stmt, e parse.Expr) bool {
	counts, ok := stmt.(*parse.NumForStmt)
	return ok && e == counts.To && m.c.nth(e, "ARGV") > 0 && !slices.ContainsFunc(m.c.comparedWith(e), func(by comparison) bool {
		return bound(by.with) > 1
	})
}

// endless reports whether the reply of a command may have any number of elements.
func endless(name string, words []parse.Expr) bool {
	switch name {
	case "smembers", "sinter", "sunion", "sdiff", "keys", "hgetall", "hkeys", "hvals":
		return true
	case "zrangebyscore", "zrevrangebyscore", "zrangebylex", "zrevrangebylex":
		return !slices.ContainsFunc(words, func(e parse.Expr) bool { return isLiteral(e, "limit") })
	case "lrange", "zrange", "zrevrange":
		return len(words) > 3 && bound(words[3]) == -1
	}
	return false
}

// sized reports whether a script compares the length of a list, looks at an element, or has a function of its own do so.
func (c *code) sized(x *parse.Var) bool {
	is := func(e parse.Expr) bool {
		length, isUnary := e.(*parse.UnaryExpr)
		return isUnary && length.Op == "#" && varOf(length.X) == x
	}
	return x != nil && (len(c.flow.indices[x]) > 0 || slices.ContainsFunc(c.flow.exprs, func(e parse.Expr) bool {
		b, isBinary := e.(*parse.BinaryExpr)
		call, isCall := e.(*parse.CallExpr)
		return isBinary && negated[b.Op] != "" && c.flow.within(b, is) || isCall && !slices.Contains(readers[2:], c.callee(call)) &&
			slices.ContainsFunc(call.Args, func(arg parse.Expr) bool { return varOf(arg) == x })
	}))
}
