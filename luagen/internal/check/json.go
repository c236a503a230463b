package check

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// jsonOf finds the first list in what cjson.encode gets that may be empty: an empty table is {} in JSON.
func (m *machine) jsonOf(e parse.Expr, v value) (found bool) {
	if table, ok := unparen(e).(*parse.TableExpr); ok {
		return slices.ContainsFunc(table.Fields, func(f parse.Field) bool { return m.jsonOf(f.Value, m.peek(f.Value)) })
	}
	x := varOf(unparen(e))
	switch {
	case x != nil && slices.ContainsFunc(append(slices.Clone(m.c.flow.along[x]), x), m.mentioned):
		return false
	case v.elem != nil && m.unproved(v), x != nil && v.hollow && m.c.flow.isList(x):
		m.find(e.Pos(), JSON, "this list may be empty, and then cjson makes {} of it: write '[]' if it has no elements")
	case x != nil && v.decoded && m.takenApart(x):
		m.find(e.Pos(), JSON, "a list in this may be empty, and then cjson makes {} of it, where [] was decoded: "+
			"keep the list in a key of its own, or write '[]' if it has no elements")
	default:
		return false
	}
	return true
}

// mentioned reports whether the script has asked about a name, but for the head of a loop over its elements.
func (m *machine) mentioned(x *parse.Var) bool {
	return m.asked.some(func(e parse.Expr) bool {
		head, ok := e.(*parse.CallExpr)
		return mentions(e, x) && !(ok && m.c.callee(head) == "ipairs")
	})
}

// takenApart reports whether the script goes through a name's table, or one in it, as a list, or removes elements, and
// adds none.
func (m *machine) takenApart(x *parse.Var) bool {
	read, known := m.asked.apart[x]
	if !known {
		read = m.c.takesApart(x)
		m.asked.apart[x] = read
	}
	return read
}

func (c *checker) takesApart(x *parse.Var) bool {
	read := false
	for _, call := range c.flow.calls {
		if len(call.Args) == 0 || !mentions(call.Args[0], x) {
			continue
		}
		switch c.callee(call) {
		case "ipairs", "table.remove":
			read = true
		case "table.insert":
			return false
		}
	}
	return read
}

// unpacked finds unpack of a reply that has no bound.
func (m *machine) unpacked(e *parse.CallExpr, v value) {
	if v.endless && len(e.Args) == 1 && !m.asked.some(m.bounds) {
		m.find(e.P, Command, "unpack fails from 8000 elements on, and this reply may have as many: go through it in parts")
	}
}

// bounds reports whether a condition compares a length or a reply with anything but 0 or 1.
func (m *machine) bounds(cond parse.Expr) bool {
	small := func(e parse.Expr) bool {
		v := m.peek(e)
		return v.is == isNumber && v.size <= 1 && v.size > 0
	}
	return parse.Contains(cond, func(e parse.Expr) bool {
		b, ok := e.(*parse.BinaryExpr)
		return ok && (b.Op[0] == '<' || b.Op[0] == '>') && !small(b.L) && !small(b.R)
	})
}

// endless reports whether the reply of a command may have any number of elements. Those of hashes have few.
func endless(name string, words []parse.Expr) bool {
	switch name {
	case "smembers", "sinter", "sunion", "sdiff", "keys":
		return true
	case "zrangebyscore", "zrevrangebyscore", "zrangebylex", "zrevrangebylex":
		return !slices.ContainsFunc(words, func(e parse.Expr) bool { return isLiteral(e, "limit") })
	case "lrange", "zrange", "zrevrange":
		return len(words) > 3 && isMinusOne(words[3])
	}
	return false
}

func isMinusOne(e parse.Expr) bool {
	minus, ok := e.(*parse.UnaryExpr)
	if !ok || minus.Op != "-" {
		return isLiteral(e, "-1")
	}
	one, ok := minus.X.(*parse.NumberExpr)
	return ok && one.Text == "1"
}
