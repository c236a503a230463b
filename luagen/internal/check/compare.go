package check

import (
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// never finds an argument that is compared with a text which it never is.
func (c *checker) never(e *parse.BinaryExpr) {
	if e.Op != "==" && e.Op != "~=" {
		return
	}
	for _, pair := range [][2]parse.Expr{{e.L, e.R}, {e.R, e.L}} {
		x := varOf(pair[0])
		text, isText := pair[1].(*parse.StringExpr)
		if !isText || x == nil || x.Decl == nil {
			continue
		}
		b := x.Decl
		if text.Value == "" && b.Type.Optional {
			c.find(e.P, Optional, "%s is nil if it is absent, never ''", b.Name)
		}
		if b.Kind == parse.Arg && b.Choices != nil && !slices.Contains(b.Choices, text.Value) {
			c.find(e.P, Compare, "%s is never '%s': it is %s", b.Name, text.Value, strings.Join(b.Choices, "|"))
		}
	}
}

// equality checks "l == r" and "l ~= r".
func (m *machine) equality(e *parse.BinaryExpr, l, r value) {
	m.compared(e, e.Op, l, r)
	m.compared(e, mirrored[e.Op], r, l)
	never := map[string]string{"==": "never true", "~=": "always true"}[e.Op]
	if l.is == isNumber && l.least >= 1 && r.is == isNumber && r.size == zeroSize {
		m.find(e.P, Compare, "this is %s: the number is 1 or more", never)
	}
	if bound(e.R) == -2 && m.created(e.L) {
		m.find(e.P, Compare, "this is %s: the script has written the key before, so its TTL is -1 if it has none", never)
	}
	mixed := l.surely(isText) && r.surely(isNumber) || l.surely(isNumber) && r.surely(isText)
	if l.is&r.is != 0 && !mixed || m.covered[e] {
		return
	}
	for _, pair := range [][2]value{{l, r}, {r, l}} {
		v, constant := pair[0].is, pair[1].is
		switch {
		case constant == isNil && v&boolean == isFalseValue:
			m.find(e.P, Compare, "this is %s: a nil reply is false in Lua, not nil", never)
			m.there(pair[0]) // else that is one more finding of one mistake
			return
		case constant == isNil, constant == isFalseValue && v != isNumber:
			return // to be on the safe side is no mistake
		}
	}
	m.find(e.P, Compare, "this is %s: it compares %s with %s%s", never, l.is, r.is, advice(l, r))
}

// created reports whether an expression is the TTL of a key that the script certainly has, as it wrote it before, and removes none.
func (m *machine) created(e parse.Expr) bool {
	call, ok := m.c.origin(e).(*parse.CallExpr)
	if !ok {
		return false
	}
	command, _ := m.c.commandCall(call)
	if len(command.names) != 1 || command.names[0] != "ttl" && command.names[0] != "pttl" {
		return false
	}
	key, wrote := m.keyText(command.words, 1), false
	for _, other := range m.c.flow.calls {
		c, _ := m.c.commandCall(other)
		if len(c.names) != 1 || m.keyText(c.words, 1) != key && !slices.Contains(removing, c.names[0]) {
			continue
		}
		if slices.Contains(removing, c.names[0]) {
			return false
		}
		wrote = wrote || slices.Contains(creating, c.names[0]) && other.P.Line < call.P.Line && m.creates(c, c.names[0]) &&
			inside(m.c.flow.blocks[other], m.c.flow.blocks[call])
	}
	return wrote && key != ""
}

// advice says how to compare a text with a number.
func advice(l, r value) string {
	if (l.is|r.is)&^absent == isText|isNumber {
		return "; write tonumber, or compare texts"
	}
	return ""
}

// inequality checks "l < r" and its like.
func (m *machine) inequality(e *parse.BinaryExpr, l, r value) {
	m.compared(e, e.Op, l, r)
	m.compared(e, mirrored[e.Op], r, l)
	m.present(l, e.L.Pos())
	m.present(r, e.R.Pos())
	m.member(l, e.L.Pos())
	m.member(r, e.R.Pos())
	m.failing(l, e.L.Pos())
	m.failing(r, e.R.Pos())
	switch {
	case l.surely(isText) && r.surely(isNumber), l.surely(isNumber) && r.surely(isText):
		m.find(e.P, Compare, "this fails: it compares a text with a number; write tonumber")
	case l.surely(isText) && r.surely(isText) && !l.named() && !r.named() && !m.c.isLetter(e.L) && !m.c.isLetter(e.R):
		m.find(e.P, Compare, "texts are compared letter by letter: '10' comes before '9'")
	}
}

// named reports whether a text is a name, which need not be a number.
func (v value) named() bool {
	return v.free || v.role == aMember || v.role == aScored
}

// compared finds an int without bounds that is compared with a number which may be large. It also finds a length that a
// reply cannot have: the reply has fewer elements, or two for each of its parts.
func (m *machine) compared(e *parse.BinaryExpr, op string, v, other value) {
	if v.lossy != nil && other.is&isNumber != 0 && !other.small() {
		m.use(v)
	}
	most := float64(v.most)
	if v.is == isNumber && other.written() && (most > 0 && op[0] == '>' && !compares(most, op, other.least) ||
		op == "==" && (most > 0 && other.least > most || v.pairs && math.Mod(other.least, 2) == 1)) {
		m.find(e.P, Compare, "this is never true: the reply is shorter, or has two elements for each of its parts")
	}
}

// isLetter reports whether e is a literal text that is not meant to be a number, or the beginning of another text.
func (c *checker) isLetter(e parse.Expr) bool {
	if call, ok := c.origin(e).(*parse.CallExpr); ok {
		return c.callee(call) == "string.sub" && len(call.Args) > 2 && bound(call.Args[1]) == 1 &&
			!c.flow.within(call.Args[2], c.isPlace) // else it is the first part
	}
	s, ok := unparen(e).(*parse.StringExpr)
	return ok && (s.Value == "" || s.Value[0] < '0' || s.Value[0] > '9')
}

// isPlace reports whether an expression is the place of a separator in a text.
func (c *checker) isPlace(e parse.Expr) bool {
	call, ok := e.(*parse.CallExpr)
	return ok && (c.callee(call) == "string.find" || call.Method == "find")
}

var kindTexts = map[kinds]string{
	isText: "a text", isNumber: "a number", isText | isNumber: "a text or a number", isTrueValue: "true or false",
	isStatus: "a status reply (a table with the field ok)", isFailed: "an error", isOther: "a function",
}

// String says in words what a value may be, nil and false left out if there is more.
func (k kinds) String() string {
	switch rest := k &^ absent; {
	case kindTexts[rest] != "":
		return kindTexts[rest]
	case k == isNil:
		return "nil"
	case rest == 0:
		return "false"
	case rest&^(isTable|isStatus|isFailed) == 0:
		return "a table"
	}
	return "a value of another kind"
}
