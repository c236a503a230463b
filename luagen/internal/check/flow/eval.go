package flow

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// eval returns what is known of the value of an expression, and passes on how what is in it is used.
func (m *Machine) eval(e parse.Expr) Value {
	if m.level == maxLevel {
		return unknown()
	}
	m.level++
	defer func() { m.level-- }()
	switch e := parse.Unparen(e).(type) {
	case *parse.NilExpr:
		return Value{Is: IsNil}
	case *parse.BoolExpr:
		return Value{Is: map[bool]Kinds{true: IsTrueValue, false: IsFalseValue}[e.Value]}
	case *parse.StringExpr:
		return text(e.Value)
	case *parse.NumberExpr:
		return Numeral(e.Text)
	case *parse.FuncExpr:
		m.function(e)
		return Value{Is: isOther}
	case *parse.NameExpr:
		if e.Var == nil {
			return m.list(e)
		}
		v, _ := m.State.Get(e.Var)
		return v.In(m.C.says(e.Var)).In(m.learned(e))
	case *parse.IndexExpr:
		if parse.IsGlobal(e.X, "math") && parse.IsLiteral(e.Key, "huge") {
			return Value{Is: IsNumber}
		}
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
	}
	return unknown()
}

func text(s string) Value {
	v := textValue()
	v.Word = strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(numberLetters, r) })
	if !v.Word && isNumeral(s) {
		v.Number = Numeral(s).Number
	}
	return v
}

// numberLetters are all that a text may have in it which is a number for Lua.
const numberLetters = " \t\r\n+-.0123456789abcdefABCDEFxXpPintyINTY"

func (m *Machine) index(e *parse.IndexExpr, x, key Value) Value {
	m.see(Sight{Use: Indexed, E: e.X, F: e.Key, V: x, W: key})
	m.proves(x)
	if x.ByName != nil && key.Surely(IsText) && x.Is&(IsText|IsNumber) == 0 && len(m.C.Flow.aliases[parse.VarOf(e.X)]) == 0 {
		return x.ByName.In(m.C.Hears(m.C.NameOf(e), units.InName))
	}
	if x.Elem == nil || !x.Surely(IsTable) {
		name := m.C.NameOf(e)
		v := unknown().In(m.C.Hears(name, units.InName))
		if name != "" && x.Decoded && (x.doubted || x.hollow && x.listed == "") {
			v.Missing = aField + name
		}
		return v
	}
	i, v := key.Place(), *x.Elem
	if i > 0 && i <= len(x.Items) {
		return x.Items[i-1]
	}
	v.Is, v.Missing = v.Is|IsNil, cmp.Or(v.Missing, x.Missing)
	loop := m.C.Flow.Loops[parse.VarOf(e.Key)]
	v.Paired = v.Paired && loop != nil && loop.Step == nil && m.C.blind(loop.Body, loop.Var)
	for _, list := range []string{"ARGV", "KEYS"} {
		if n := m.C.Nth(e, list); n > 0 {
			text := m.C.Said[list+"["+Itoa(n)+"]"]
			v = v.In(m.C.Hears(text, units.InComment).Or(m.C.Hears(text, units.InName))).In(m.learned(e))
		}
	}
	return v
}

// Place returns the place in a list that an index is, 0 if it is not written out.
func (v Value) Place() int {
	if v.Constant() && v.Whole {
		return int(min(v.Size, MaxExact))
	}
	return 0
}

func (m *Machine) unary(e *parse.UnaryExpr) Value {
	v := m.eval(e.X)
	switch e.Op {
	case "not":
		m.see(Sight{Use: Asked, E: e.X})
		return Value{Is: Boolean, of: v.of, mixed: true}
	case "#":
		m.uses(Measured, e.X, v)
		n := aCount()
		n.of, n.made, n.Paired = v.of, v.made, v.Elem != nil && v.Elem.Paired
		return n
	}
	m.uses(InArithmetic, e.X, v)
	n := v.Number
	n.Low, n.Unit, n.Least, n.Split = v.Constant(), units.Unit{}, 0, false
	return Value{Is: IsNumber, Number: n}
}

func (m *Machine) table(e *parse.TableExpr) Value {
	element := unknown()
	v := Value{Is: IsTable, Closed: true, Elem: &element, hollow: len(e.Fields) == 0}
	for i, f := range e.Fields {
		if f.Key != nil {
			m.eval(f.Key)
			v.Elem = nil
			if parse.IsLiteral(f.Key, "ok") {
				v.Is |= IsStatus
			} else if parse.IsLiteral(f.Key, "err") {
				v.Is |= IsFailed
			}
		}
		item := m.eval(f.Value)
		m.insert(&v, item, f.Value)
		if v.Rows = v.Rows || f.Key == nil; f.Key != nil {
			v.name(f.Key, m.Peek(f.Key), item)
		}
		if f.Key != nil || i == len(e.Fields)-1 && parse.ManyValues(f.Value) && !m.C.single(f.Value) {
			v.Closed = false
			continue
		}
		v.Items, v.Places = append(v.Items, item), append(v.Places, f.Value.Pos())
	}
	if v.Is&(IsStatus|IsFailed) != 0 {
		return Value{Is: v.Is &^ IsTable}
	}
	return v
}

func (m *Machine) binary(e *parse.BinaryExpr) Value {
	switch e.Op {
	case "..":
		return m.concat(e)
	case "and", "or":
		return m.either(e)
	}
	l, r := m.eval(e.L), m.eval(e.R)
	truth := Value{Is: Boolean, of: cmp.Or(l.of, r.of), mixed: true}
	switch {
	case e.Op == "==" || e.Op == "~=":
		m.see(Sight{Use: Equal, E: e, V: l, W: r})
		for _, pair := range [][2]Value{{l, r}, {r, l}} { // What the script does for a nil reply, which is false, is one mistake.
			if pair[1].Is == IsNil && pair[0].Is&Boolean == IsFalseValue && !m.C.Flow.Careful[e] {
				m.there(pair[0])
			}
		}
		return truth
	case negated[e.Op] != "":
		m.see(Sight{Use: Less, E: e, V: l, W: r})
		m.uses(Ordered, e.L, l)
		m.uses(Ordered, e.R, r)
		return truth
	}
	m.uses(InArithmetic, e.L, l)
	m.uses(InArithmetic, e.R, r)
	m.see(Sight{Use: Sum, E: e, V: l, W: r})
	v := arithmetic(e, l, r)
	switch sum, _ := m.C.Origin(e.L).(*parse.BinaryExpr); {
	case e.Op != "-":
	case l.Large > 0 && r.Large > 0: // Their bounds are declared.
		v.Low = r.Large >= l.Least && !slices.ContainsFunc(parse.NamesIn(e), m.Mentioned)
	default: // The sum of a time and a duration is later than others.
		v.Low = len(m.touched(e.L)) > 0 && !(sum != nil && sum.Op == "+") && !m.ordered(e)
	}
	v.Unit = timeOf(e, l, r)
	v.of, v.mixed = truth.of, true
	return v.In(units.Unit{})
}

func (m *Machine) either(e *parse.BinaryExpr) Value {
	l := m.eval(e.L)
	m.see(Sight{Use: Either, E: e})
	before := m.State
	m.State = before.clone()
	if len(parse.Operands(e, e.Op)) <= maxParts { // Each part asks all before it.
		m.assume(e.L, e.Op == "and")
	}
	assumed := maps.Clone(m.State.fresh)
	m.Conds = append(m.Conds, e.L)
	r := m.eval(e.R)
	m.Conds = m.Conds[:len(m.Conds)-1]
	if fresh := m.State.fresh; !maps.Equal(assumed, fresh) {
		before.fresh = fresh
	}
	m.State = before
	switch {
	case e.Op == "and":
		return Join(l.falsy(), r)
	case l.Is&Absent == 0:
		return l
	}
	l.Is &^= Absent
	r.of = map[bool]string{true: l.of, false: r.of}[ConstantKind(e.R) != 0]
	v := Join(l, r)
	v.Role, v.listed = l.Role, l.listed
	return v
}

// toNumber returns the value of tonumber(x), which stands at pos.
func toNumber(v Value, pos parse.Pos) Value {
	n := Value{Is: IsNumber, Number: v.Number, Role: v.Role, Wide: v.Wide, Lossy: v.Lossy, made: v.made, of: v.of, mixed: v.mixed, Paired: v.Paired}
	if v.Wide != "" && v.Lossy == nil {
		n.Lossy = &pos
	}
	if v.Is != IsNumber && v.Size == 0 && !v.Frac || v.Is&Absent != 0 {
		n.Is |= IsNil
	}
	if v.Is&Absent != 0 || v.Is == IsNumber {
		n.Missing = v.Missing
	}
	return n
}

func (m *Machine) concat(e *parse.BinaryExpr) Value {
	all, args := textValue(), []Value{}
	for _, operand := range parse.Operands(e, "..") {
		v := m.eval(operand)
		m.uses(InText, operand, v)
		args = append(args, v)
		all.Word, all.Role, all.Paired = all.Word || v.Word, v.Role, all.Paired || v.Paired
	}
	m.see(Sight{Use: Chained, E: e, Args: args})
	return all
}

// Passed returns the only argument of a call of a function of the server, nil if an expression is none.
func (m *Machine) Passed(e parse.Expr, name string) parse.Expr {
	if call, ok := m.C.Origin(e).(*parse.CallExpr); ok && m.C.Callee(call) == name && len(call.Args) == 1 {
		return call.Args[0]
	}
	return nil
}

// ZeroSize is the size of a literal 0: it has one, too.
const ZeroSize = 0.5

// Numeral returns the value of a number that is written out.
func Numeral(s string) Value {
	n, err := strconv.ParseFloat(s, 64)
	if hex, wrong := strconv.ParseUint(s, 0, 64); err != nil && wrong == nil {
		n = float64(hex)
	} else if err != nil {
		return Value{Is: IsNumber}
	}
	whole, size := n == math.Trunc(n), math.Abs(n)
	return Value{Is: IsNumber, Number: Number{
		Size: max(size, ZeroSize), Large: size, Least: max(n, 0), Whole: whole, Frac: !whole, Low: n <= 0,
	}}
}

func arithmetic(e *parse.BinaryExpr, l, r Value) Value {
	v := Value{Is: IsNumber, Number: Number{
		Whole: l.Whole && r.Whole && e.Op != "^" && e.Op != "/", Frac: l.Frac || r.Frac, Split: l.Split || r.Split,
		Size: extent(e.Op, l.Size, r.Size), Large: extent(e.Op, l.Large, r.Large),
	}}
	switch e.Op {
	case "+":
		v.Low = l.Low && r.Low
		v.Frac = v.Frac || max(l.Size, r.Size) > 1 && (l.Split && l.Size > 0 && l.Size < 1 || r.Split && r.Size > 0 && r.Size < 1)
	case "*":
		v.Low, v.Least = l.Low || r.Low, l.Least*r.Least
	case "-":
		v.Split = v.Split && !isRemainder(e.R)
	case "%":
		v.Low = true
	case "^":
		v.Frac = v.Frac || !l.Whole
	case "/":
		v.Low = l.Low
		v.Split = (r.Size == 0 || r.Size == aCount().Size) && !without(e.L)
		if r.Constant() {
			v.Least, v.Split = l.Least/r.Size, r.Size > 1 && !l.Constant() && l.Size != aCount().Size && !without(e.L)
			v.Frac = v.Frac || l.Constant() && math.Mod(l.Size, r.Size) != 0
		}
	}
	return v
}

// without reports whether an expression is a number without the rest of a division: x - x % 60.
func without(e parse.Expr) bool {
	b, ok := parse.Unparen(e).(*parse.BinaryExpr)
	return ok && b.Op == "-" && isRemainder(b.R)
}

// numeric returns the value of a function that makes a number of numbers.
func (m *Machine) numeric(name string, e *parse.CallExpr, args []Value) (Value, bool) {
	switch name {
	case "tonumber":
		if len(args) == 1 || parse.Bound(e.Args[1]) == 10 {
			return toNumber(args[0], e.P), true
		}
	case "math.floor", "math.ceil", "math.abs":
		m.uses(InArithmetic, e.Args[0], args[0])
		n := args[0].Number
		n.Low = n.Low || name == "math.floor" && n.Split && n.Least < 1 && !m.ordered(e.Args[0])
		if name != "math.abs" {
			n.Whole, n.Frac, n.Split = true, false, false
		}
		return Value{Is: IsNumber, Number: n}, true
	case "math.max", "math.min":
		for i, arg := range args {
			m.uses(InArithmetic, e.Args[i], arg)
			args[i].Low = arg.Low && (name == "math.min" || arg.Size != MaxLife) // a TTL is -1, and the other is larger
		}
		return extreme(args, name == "math.min"), true
	}
	return Value{}, false
}

// extreme returns the least or the largest of some numbers.
func extreme(args []Value, least bool) Value {
	n := args[0].Number
	for _, arg := range args[1:] {
		was := n
		n = joinNumbers(was, arg.Number)
		if n.Unit = was.Unit.Or(arg.Unit); least {
			n.Size, n.Large = cmp.Or(min(was.Size, arg.Size), max(was.Size, arg.Size)), 0
		} else {
			n.Least = max(was.Least, arg.Least)
		}
	}
	n.Low = n.Low && n.Least <= 0
	return Value{Is: IsNumber, Number: n}
}

// extent returns how large the result of an operation is. What is added may be small.
func extent(op string, l, r float64) float64 {
	switch {
	case op == "+":
		return max(l, r)
	case op == "*":
		return l * r
	case op == "/" && r > 0:
		return l / r
	}
	return 0
}
