package check

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// maxLevel is how deep expressions are followed: a sum of so many, say.
const maxLevel = 300

// eval returns what is known of the value of an expression, and checks what is in it.
func (m *machine) eval(e parse.Expr) value {
	if m.level == maxLevel {
		return unknown()
	}
	m.level++
	defer func() { m.level-- }()
	switch e := e.(type) {
	case *parse.NilExpr:
		return value{is: isNil, nilAt: m.branch}
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
		return v
	case *parse.IndexExpr:
		return m.index(e)
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
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		v.size, v.large, v.whole = max(n, -n, 1), max(n, -n), n == math.Trunc(n)
		v.frac, v.low = !v.whole, n <= 0
	}
	return v
}

// numberLetters are all that a text may have in it which is a number for Lua.
const numberLetters = " \t\r\n+-.0123456789abcdefABCDEFxXpPintyINTY"

// zeroSize is the size of a literal 0: it has one, too.
const zeroSize = 0.5

// numeral returns the value of a literal number.
func numeral(s string) value {
	n, err := strconv.ParseFloat(s, 64)
	if i, intErr := strconv.ParseInt(s, 0, 64); err != nil && intErr == nil {
		n, err = float64(i), nil
	}
	if err != nil {
		return value{is: isNumber}
	}
	whole := n > maxInt64 || n == float64(int64(n))
	return value{is: isNumber, number: number{
		size: max(n, zeroSize), large: n, least: n, whole: whole, frac: !whole, low: n == 0,
	}}
}

func (m *machine) index(e *parse.IndexExpr) value {
	x, key := m.eval(e.X), m.eval(e.Key)
	if x.elem == nil || x.is != isTable {
		return unknown()
	}
	m.element(e.Key, key)
	if number, ok := e.Key.(*parse.NumberExpr); ok {
		i, err := strconv.Atoi(number.Text)
		if err == nil && i > 0 && i <= len(x.items) {
			return x.items[i-1]
		}
		if err == nil && i > 0 && i <= x.known {
			return *x.elem
		}
	}
	v := *x.elem
	v.is, v.nilAt = v.is|isNil, 0
	if n := m.c.nth(e, "ARGV"); n > 0 {
		v.unit = said(m.c.said["ARGV["+itoa(n)+"]"])
	}
	return v
}

func (m *machine) unary(e *parse.UnaryExpr) value {
	v := m.eval(e.X)
	switch e.Op {
	case "not":
		m.condition(e.X)
		return value{is: boolean}
	case "#":
		m.present(v, e.X.Pos())
		return aCount()
	}
	m.exact(v, e.X.Pos())
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
			m.use(m.eval(f.Key))
			v.elem = nil
			v.is |= m.named(f.Key)
		}
		item := m.eval(f.Value)
		m.use(item)
		v.put(item, f.Value.Pos())
		if f.Key == nil && item.is == isFailed {
			m.find(f.Value.Pos(), Result, "an error in a table is no error of the script, but an element of its reply: "+
				"return it alone")
		}
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

// named returns what a table with such a field is to the server.
func (m *machine) named(key parse.Expr) kinds {
	switch s, ok := key.(*parse.StringExpr); {
	case !ok:
		return isStatus | isFailed
	case s.Value == "ok":
		return isStatus
	case s.Value == "err":
		return isFailed
	}
	return 0
}

// single reports whether a call certainly has one value: that of a command has.
func (c *checker) single(e parse.Expr) bool {
	call, ok := e.(*parse.CallExpr)
	if !ok {
		return false
	}
	_, isCommand := c.words(call)
	name := c.callee(call)
	return isCommand && name != "pcall" || name == "tonumber" || name == "cjson.decode" ||
		name != "string.gsub" && slices.Contains(textFunctions, name)
}

func (m *machine) binary(e *parse.BinaryExpr) value {
	switch e.Op {
	case "..":
		return m.concat(e)
	case "and", "or":
		return m.either(e)
	case "==", "~=":
		if not, ok := unparen(e.L).(*parse.UnaryExpr); ok {
			m.covered[unparen(not.X)] = true // "not n == 1" is one mistake
		}
		l, r := m.eval(e.L), m.eval(e.R)
		m.mixes(e, l, r)
		m.equality(e, l, r)
		return value{is: boolean}
	case "<", "<=", ">", ">=":
		l, r := m.eval(e.L), m.eval(e.R)
		m.mixes(e, l, r)
		m.inequality(e, l, r)
		return value{is: boolean}
	}
	l, r := m.eval(e.L), m.eval(e.R)
	m.exact(l, e.L.Pos())
	m.exact(r, e.R.Pos())
	if e.Op == "+" || e.Op == "-" {
		m.mixes(e, l, r)
	}
	v := arithmetic(e, l, r)
	v.large = larger(e.Op, l.large, r.large)
	m.passes(e, l, r, v)
	return v
}

// either returns the value of "x and y" or "x or y".
func (m *machine) either(e *parse.BinaryExpr) value {
	m.cover(e)
	l := m.eval(e.L)
	m.operand(e)
	before := m.state
	m.state = before.clone()
	m.assume(e.L, e.Op == "and")
	assumed := maps.Clone(m.state.fresh)
	m.asked.left = append(m.asked.left, e.L)
	r := m.eval(e.R)
	m.asked.left = m.asked.left[:len(m.asked.left)-1]
	if fresh := m.state.fresh; !maps.Equal(assumed, fresh) {
		before.fresh = fresh
	}
	m.state = before
	switch {
	case e.Op == "or" && l.is&absent == 0:
		return l
	case e.Op == "or":
		l.is, l.nilAt = l.is&^absent, 0
		return join(l, r, 0)
	case l.is&absent == 0:
		return r
	case l.is&^absent == 0:
		return l
	}
	return join(l.falsy(), r, 0)
}

// arithmetic returns the value of a sum, a difference, and so on.
func arithmetic(e *parse.BinaryExpr, l, r value) value {
	v := value{is: isNumber, number: number{
		whole: l.whole && r.whole, frac: l.frac || r.frac, split: l.split || r.split,
	}}
	known := l.size > 0 && r.size > 0
	switch e.Op {
	case "+":
		v.size, v.unit = max(l.size, r.size), summed(e, l, r)
		if v.low = l.low && r.low; l.least > 0 && r.least > 0 {
			v.least = l.least + r.least
		}
	case "-":
		v.unit = summed(e, l, r)
		if known && r.size <= l.size/2 {
			v.size = l.size
		}
	case "*":
		v.low, v.least = l.low || r.low, l.least*r.least
		switch {
		case r.constant():
			v.unit = l.unit.scaled(r.size)
		case l.constant():
			v.unit = r.unit.scaled(l.size)
		}
		if known {
			v.size = l.size * r.size
		}
	case "%":
		v.size = r.size
	case "/":
		v.whole = false
		if r.constant() {
			v.size, v.least, v.unit = l.size/r.size, l.least/r.size, l.unit.scaled(1/r.size)
			v.low, v.split = l.low, r.size > 1 && !l.constant()
		}
	default:
		v.whole = false
	}
	if e.Op == "+" || e.Op == "-" {
		v.by = cmp.Or(l.by, r.by)
	}
	return v
}

// textFunctions return a text.
var textFunctions = []string{
	"string.char", "string.format", "string.gsub", "string.lower", "string.rep", "string.reverse",
	"string.sub", "string.upper", "table.concat", "cjson.encode", "cmsgpack.pack", "struct.pack",
	"redis.sha1hex", "type", "tostring",
}

// callee returns the name of a function of the server that is called, such as "string.sub".
func (c *checker) callee(call *parse.CallExpr) string {
	if call.Method != "" {
		return ""
	}
	switch fn := c.origin(call.Fn).(type) {
	case *parse.NameExpr:
		if fn.Var == nil {
			return fn.Name
		}
	case *parse.IndexExpr:
		lib, isName := c.origin(fn.X).(*parse.NameExpr)
		key, isString := fn.Key.(*parse.StringExpr)
		if isName && isString && lib.Var == nil {
			return lib.Name + "." + key.Value
		}
	}
	return ""
}

func (m *machine) call(e *parse.CallExpr) value {
	if words, ok := m.c.words(e); ok {
		return m.command(e, words)
	}
	if name, isName := e.Fn.(*parse.NameExpr); !isName {
		m.eval(e.Fn)
	} else if name.Var != nil && name.Var.Decl != nil {
		m.find(e.P, Undeclared, "%s is declared, and no function here", name.Name)
	}
	args := make([]value, len(e.Args))
	for i, arg := range e.Args {
		args[i] = m.eval(arg)
	}
	name := m.c.callee(e)
	if name == "" && m.quiet == 0 {
		m.asked.passed = append(m.asked.passed, e)
	}
	if len(args) > 0 {
		if v, ok := m.numeric(name, e, args); ok {
			return v
		}
	}
	for _, v := range args {
		m.use(v)
	}
	if len(args) > 0 {
		m.given(name, e, args)
	}
	switch {
	case name == "redis.error_reply":
		m.errorReply(e)
		return value{is: isFailed}
	case name == "redis.status_reply":
		return value{is: isStatus}
	case name == "tostring" && len(args) > 0:
		m.shown(args[0], e.Args[0].Pos())
		return asText(args[0])
	case name == "cjson.decode":
		return value{is: anything, decoded: true}
	case name == "string.len":
		return aCount()
	case slices.Contains(textFunctions, name):
		return textValue()
	}
	return m.resultOf(e)
}

// given checks what a function of the server gets.
func (m *machine) given(name string, e *parse.CallExpr, args []value) {
	switch name {
	case "string.format":
		m.format(e, args)
	case "unpack":
		m.unpacked(e, args[0])
	case "table.insert":
		last := len(args) - 1
		m.put(e.Args[0], args[last], e.Args[last].Pos())
	case "cjson.decode":
		m.present(args[0], e.Args[0].Pos())
	case "cjson.encode":
		m.jsonOf(e.Args[0], args[0])
		m.inJSON(args[0])
	}
}

// asText returns what tostring makes of a value.
func asText(v value) value {
	if v.is != isText {
		return textValue()
	}
	return v
}

// numeric returns the value of a function that makes a number of numbers.
func (m *machine) numeric(name string, e *parse.CallExpr, args []value) (value, bool) {
	switch name {
	case "tonumber":
		if len(args) == 1 {
			return toNumber(args[0], e.P), true
		}
	case "math.floor", "math.ceil", "math.abs":
		m.exact(args[0], e.Args[0].Pos())
		n := args[0].number
		n.low = n.low || name == "math.floor" && n.split && n.least < 1
		if name != "math.abs" {
			n.whole, n.frac, n.split = true, false, false
		}
		return value{is: isNumber, number: n}, true
	case "math.max", "math.min":
		for i, arg := range args {
			m.exact(arg, e.Args[i].Pos())
		}
		return extreme(args, name == "math.min"), true
	}
	return value{}, false
}

// extreme returns the least or the largest of some numbers.
func extreme(args []value, least bool) value {
	v := countUpTo(0)
	for _, arg := range args {
		v.whole, v.frac, v.split = v.whole && arg.whole, v.frac || arg.frac, v.split || arg.split
		v.unit, v.low = v.unit.or(arg.unit), v.low || arg.low
		if v.large = max(v.large, arg.large); least {
			v.large = 0
		}
		switch {
		case !least:
			v.size, v.least = max(v.size, arg.size), max(v.least, arg.least)
		case v.size == 0 || arg.size > 0 && arg.size < v.size:
			v.size = arg.size
		}
	}
	if least {
		v.least = slices.MinFunc(args, func(a, b value) int { return cmp.Compare(a.least, b.least) }).least
	}
	v.low = v.low && v.least <= 0
	return v
}
