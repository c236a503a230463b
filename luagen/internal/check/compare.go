package check

import "github.com/hasp-go/hasp/luagen/internal/parse"

// equality checks "l == r" and "l ~= r".
func (m *machine) equality(e *parse.BinaryExpr, l, r value) {
	m.compared(l, r)
	m.compared(r, l)
	if l.is&r.is != 0 || m.covered[e] {
		return
	}
	never := "never true"
	if e.Op == "~=" {
		never = "always true"
	}
	for _, pair := range [][2]value{{l, r}, {r, l}} {
		v, constant := pair[0].is, pair[1].is
		switch {
		case constant == isNil && v&boolean == isFalseValue:
			m.find(e.P, Compare, "this is %s: a nil reply is false in Lua, not nil", never)
			return
		case constant == isNil, constant == isFalseValue && v != isNumber:
			return // to be on the safe side is no mistake
		}
	}
	m.find(e.P, Compare, "this is %s: it compares %s with %s%s", never, l.is, r.is, advice(l, r))
}

// cover notes the comparisons of a name with constants of several kinds, as in "x == nil or x == false or x == 0": they
// are to be on the safe side.
func (m *machine) cover(e *parse.BinaryExpr) {
	kinds, comparisons := map[*parse.Var]kinds{}, map[*parse.Var][]*parse.BinaryExpr{}
	for _, operand := range m.chain(e) {
		x, kind, comparison := constantTest(operand)
		if x == nil {
			continue
		}
		kinds[x] |= kind
		if comparison != nil {
			comparisons[x] = append(comparisons[x], comparison)
		}
	}
	for x, all := range comparisons {
		for _, b := range all {
			_, kind, _ := constantTest(b)
			m.covered[b] = m.covered[b] || kinds[x] != kind
		}
	}
}

// chain returns the operands of a chain of "or", or of "and"; none for a part of a chain that was seen before.
func (m *machine) chain(e *parse.BinaryExpr) (operands []parse.Expr) {
	if m.chained[e] {
		return nil
	}
	rest := []parse.Expr{e}
	for len(rest) > 0 {
		last := unparen(rest[len(rest)-1])
		rest = rest[:len(rest)-1]
		if b, ok := last.(*parse.BinaryExpr); ok && b.Op == e.Op {
			m.chained[b] = true
			rest = append(rest, b.L, b.R)
		} else {
			operands = append(operands, last)
		}
	}
	return operands
}

// constantTest reads a test of a name for a constant: "x == 0", "x ~= nil", "not x", "x".
func constantTest(e parse.Expr) (x *parse.Var, kind kinds, comparison *parse.BinaryExpr) {
	switch e := unparen(e).(type) {
	case *parse.NameExpr:
		return e.Var, isFalseValue, nil
	case *parse.UnaryExpr:
		if name, ok := unparen(e.X).(*parse.NameExpr); ok && e.Op == "not" {
			return name.Var, isFalseValue, nil
		}
	case *parse.BinaryExpr:
		for _, pair := range [][2]parse.Expr{{e.L, e.R}, {e.R, e.L}} {
			name, ok := unparen(pair[0]).(*parse.NameExpr)
			if kind := constantKind(pair[1]); ok && kind != 0 && (e.Op == "==" || e.Op == "~=") {
				return name.Var, kind, e
			}
		}
	}
	return nil, 0, nil
}

// constantKind returns the kind of a constant, 0 if an expression is none.
func constantKind(e parse.Expr) kinds {
	switch unparen(e).(type) {
	case *parse.NilExpr:
		return isNil
	case *parse.BoolExpr:
		return isFalseValue
	case *parse.NumberExpr:
		return isNumber
	case *parse.StringExpr:
		return isText
	}
	return 0
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
	m.compared(l, r)
	m.compared(r, l)
	switch {
	case l.surely(isText) && r.surely(isNumber), l.surely(isNumber) && r.surely(isText):
		m.find(e.P, Compare, "this fails: it compares a text with a number; write tonumber")
	case l.surely(isText) && r.surely(isText) && !isLetter(e.L) && !isLetter(e.R):
		m.find(e.P, Compare, "texts are compared letter by letter: '10' comes before '9'")
	}
}

// compared finds the number of an int without bounds that is compared with one that may be large.
func (m *machine) compared(v, other value) {
	if v.lossy != nil && other.is&isNumber != 0 && !other.small() {
		m.use(v)
	}
}

// isLetter reports whether e is a literal text that is not meant to be a number.
func isLetter(e parse.Expr) bool {
	s, ok := unparen(e).(*parse.StringExpr)
	return ok && (s.Value == "" || s.Value[0] < '0' || s.Value[0] > '9')
}

// String says in words what a value may be, nil and false left out if there is more.
func (k kinds) String() string {
	switch k &^ absent {
	case isText:
		return "a text"
	case isNumber:
		return "a number"
	case isText | isNumber:
		return "a text or a number"
	case isStatus:
		return "a status reply (a table with the field ok)"
	case isFailed:
		return "an error"
	case isTrueValue:
		return "true or false"
	case isOther:
		return "a function"
	case 0:
		if k == isNil {
			return "nil"
		}
		return "false"
	}
	if k&^absent&^(isTable|isStatus|isFailed) == 0 {
		return "a table"
	}
	return "a value of another kind"
}
