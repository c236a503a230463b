package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// maxLevel is how deep expressions are followed: a sum of so many, say.
const maxLevel = 300

// eval returns what is known of the value of an expression, and passes on how what is in it is used.
func (m *machine) eval(e parse.Expr) value {
	if m.level == maxLevel {
		return unknown()
	}
	m.level++
	defer func() { m.level-- }()
	switch e := e.(type) {
	case *parse.NilExpr:
		return m.nothing()
	case *parse.BoolExpr:
		if e.Value {
			return value{is: isTrueValue}
		}
		return value{is: isFalseValue}
	case *parse.StringExpr:
		return text(e.Value)
	case *parse.NumberExpr:
		return numeral(e.Text)
	case *parse.FuncExpr:
		m.function(e)
		return value{is: isOther}
	case *parse.NameExpr:
		if e.Var == nil {
			return m.list(e)
		}
		v, _ := m.state.get(e.Var)
		return v.in(m.c.says(e.Var))
	case *parse.IndexExpr:
		x, key := m.eval(e.X), m.eval(e.Key)
		v := m.index(e, x, key)
		v.of, v.mixed, v.made = x.of, x.mixed, x.made
		return v
	case *parse.CallExpr:
		return m.call(e)
	case *parse.BinaryExpr:
		return m.binary(e)
	case *parse.UnaryExpr:
		return m.unary(e)
	case *parse.TableExpr:
		return m.table(e)
	case *parse.ParenExpr:
		return m.eval(e.X)
	}
	return unknown()
}

// text returns the value of a literal text.
func text(s string) value {
	v := textValue()
	v.word = strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(numberLetters, r) })
	if !v.word && isNumeral(s) {
		v.number = numeral(s).number
	}
	return v
}

// numberLetters are all that a text may have in it which is a number for Lua.
const numberLetters = " \t\r\n+-.0123456789abcdefABCDEFxXpPintyINTY"

// index returns the value of an element of x.
func (m *machine) index(e *parse.IndexExpr, x, key value) value {
	m.see(sight{use: indexed, e: e.X, f: e.Key, v: x, w: key})
	m.proves(x)
	if x.elem == nil || !x.surely(isTable) {
		name := m.c.nameOf(e)
		v := unknown().in(said(name, inName))
		if name != "" && x.decoded && (x.doubted || x.hollow && x.listed == "" || m.c.members[name]) {
			v.missing = aField + name
		}
		return v
	}
	i, v := key.place(), *x.elem
	switch {
	case x.most > 0 && i > x.most:
		return unknown()
	case x.pairs:
		if v = *x.elem; m.turnOf(e.Key) >= 0 {
			v = x.items[m.turnOf(e.Key)]
		}
	case i > 0 && i <= len(x.items):
		return x.items[i-1]
	case i > 0 && i <= x.known:
		return v
	}
	v.is, v.nilAt, v.missing = v.is|isNil, 0, cmp.Or(v.missing, x.missing)
	for _, list := range []string{"ARGV", "KEYS"} {
		if n := m.c.nth(e, list); n > 0 {
			v.roots = []root{{list + " " + itoa(n), 1}}
			v = v.in(m.c.argument(list, n))
		}
	}
	return v
}

// place returns the place in a list that an index is, 0 if it is not written out.
func (v value) place() int {
	if v.constant() && v.whole {
		return int(min(v.size, maxExact))
	}
	return 0
}

func (m *machine) unary(e *parse.UnaryExpr) value {
	v := m.eval(e.X)
	switch e.Op {
	case "not":
		m.see(sight{use: asked, e: e.X})
		return value{is: boolean, of: v.of, mixed: true}
	case "#":
		m.uses(measured, e.X, v)
		n := aCount()
		n.of, n.made, n.most, n.pairs = v.of, v.made, v.most, v.pairs
		return n
	}
	m.uses(inArithmetic, e.X, v)
	n := v.number
	n.low, n.unit, n.least, n.split = v.constant(), unit{}, 0, false
	return value{is: isNumber, number: n}
}

// table evaluates a table constructor.
func (m *machine) table(e *parse.TableExpr) value {
	element := unknown()
	v := value{is: isTable, closed: true, elem: &element, hollow: len(e.Fields) == 0}
	for i, f := range e.Fields {
		if f.Key != nil {
			m.see(sight{use: used, e: f.Key, v: m.eval(f.Key)})
			v.elem = nil
			if isLiteral(f.Key, "ok") {
				v.is |= isStatus
			} else if isLiteral(f.Key, "err") {
				v.is |= isFailed
			}
		}
		item := m.eval(f.Value)
		m.see(sight{use: listed, e: f.Value, f: f.Key, v: item})
		name, _ := constantText(f.Key)
		m.insert(&v, item, f.Value, name)
		if f.Key != nil || i == len(e.Fields)-1 && parse.ManyValues(f.Value) && !m.c.single(f.Value) {
			v.closed = false
			continue
		}
		v.items, v.places = append(v.items, item), append(v.places, f.Value.Pos())
	}
	if v.is&(isStatus|isFailed) != 0 {
		return value{is: v.is &^ isTable}
	}
	return v
}

func (m *machine) binary(e *parse.BinaryExpr) value {
	switch e.Op {
	case "..":
		return m.concat(e)
	case "and", "or":
		return m.either(e)
	case "==", "~=":
		l, r := m.eval(e.L), m.eval(e.R)
		m.see(sight{use: equal, e: e, v: l, w: r})
		if l.is&r.is == 0 && !m.c.flow.careful[e] {
			m.mistaken(l, r)
			m.mistaken(r, l)
		}
		return value{is: boolean, of: cmp.Or(l.of, r.of), mixed: true}
	case "<", "<=", ">", ">=":
		l, r := m.eval(e.L), m.eval(e.R)
		m.see(sight{use: less, e: e, v: l, w: r})
		m.uses(ordered, e.L, l)
		m.uses(ordered, e.R, r)
		return value{is: boolean, of: cmp.Or(l.of, r.of), mixed: true}
	}
	l, r := m.eval(e.L), m.eval(e.R)
	m.uses(inArithmetic, e.L, l)
	m.uses(inArithmetic, e.R, r)
	m.see(sight{use: sum, e: e, v: l, w: r})
	v := arithmetic(e, l, r)
	switch sum, _ := m.c.origin(e.L).(*parse.BinaryExpr); {
	case e.Op != "-":
	case l.large > 0 && r.large > 0: // Their bounds are declared.
		v.low = r.large >= l.least && !slices.ContainsFunc(namesIn(e), m.mentioned)
	default: // The sum of a time and a duration is later than others.
		v.low = len(m.touched(e.L)) > 0 && !(sum != nil && sum.Op == "+") && !m.ordered(e)
	}
	v.unit, v.roots = timeOf(e, l, r)
	v.of, v.mixed = cmp.Or(l.of, r.of), true
	v = v.in(unit{})
	return v
}

// either returns the value of "x and y" or "x or y".
func (m *machine) either(e *parse.BinaryExpr) value {
	l := m.eval(e.L)
	m.see(sight{use: either, e: e})
	before := m.state
	m.state = before.clone()
	m.assume(e.L, e.Op == "and")
	assumed := maps.Clone(m.state.fresh)
	m.conds = append(m.conds, e.L)
	r := m.eval(e.R)
	m.conds = m.conds[:len(m.conds)-1]
	if fresh := m.state.fresh; !maps.Equal(assumed, fresh) {
		before.fresh = fresh
	}
	m.state = before
	switch {
	case e.Op == "or" && l.is&absent == 0:
		return l
	case e.Op == "or":
		l.is, l.nilAt = l.is&^absent, 0
		m.see(sight{use: replaced, e: e, v: l, w: r})
		if constantKind(e.R) != 0 {
			r.of = l.of
		}
		v := join(l, r, 0)
		v.role, v.listed = l.role, l.listed
		if _, isNil := unparen(e.R).(*parse.NilExpr); isNil {
			v.nilAt, v.since = m.state.at, m.state.trail.turns()
		}
		return v
	case l.is&absent == 0:
		return r
	case l.is&^absent == 0:
		return l
	}
	return join(l.falsy(), r, 0)
}

// toNumber returns the value of tonumber(x), which stands at pos.
func toNumber(v value, pos parse.Pos) value {
	n := value{is: isNumber, number: v.number, role: v.role, wide: v.wide, lossy: v.lossy, made: v.made, of: v.of, mixed: v.mixed}
	if v.wide != "" && v.lossy == nil {
		n.lossy = &pos
	}
	if v.is != isNumber && v.size == 0 && !v.frac || v.is&absent != 0 {
		n.is |= isNil
	}
	if v.is&absent != 0 || v.is == isNumber {
		n.missing = v.missing
	}
	return n
}

// concat evaluates "a .. b .. c".
func (m *machine) concat(e *parse.BinaryExpr) value {
	all, args := textValue(), []value{}
	for _, operand := range operands(e) {
		v := m.eval(operand)
		m.uses(inText, operand, v)
		args = append(args, v)
		if isLiteral(m.c.origin(e.L), "(") { // the score behind it is left out of a range
			all.unit, all.roots = v.unit, v.roots
		}
		all.word, all.role = all.word || v.word, v.role
	}
	m.see(sight{use: chained, e: e, args: args})
	return all
}

// operands returns those of "a .. b .. c".
func operands(e parse.Expr) (all []parse.Expr) {
	for {
		b, ok := e.(*parse.BinaryExpr)
		if !ok || b.Op != ".." {
			return append(all, e)
		}
		all, e = append(all, b.L), b.R
	}
}

// passed returns the only argument of a call of a function of the server, nil if an expression is none.
func (m *machine) passed(e parse.Expr, name string) parse.Expr {
	if call, ok := m.c.origin(e).(*parse.CallExpr); ok && m.c.callee(call) == name && len(call.Args) == 1 {
		return call.Args[0]
	}
	return nil
}
