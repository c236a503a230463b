package check

import (
	"regexp"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

const tooWide = "%s may pass 2^53, and a Lua number is exact no further: give it bounds, as in " +
	"int(0..1000), or leave the arithmetic to a command"

// exact finds a number of which the last digits are lost in arithmetic, and what may be no number.
func (m *machine) exact(v value, pos parse.Pos) {
	m.scalar(v, pos, "arithmetic", ": take its elements, or their number")
	m.member(v, pos)
	switch {
	case v.lossy != nil:
		m.use(v)
	case v.wide != "" && v.is&isText != 0:
		m.find(pos, Precision, tooWide, v.wide)
	}
}

// use finds the number of an int without bounds, where it is used for anything but a comparison with
// a small number.
func (m *machine) use(v value) {
	if v.lossy != nil {
		m.find(*v.lossy, Precision, tooWide, v.wide)
	}
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
	if v.is&absent != 0 {
		n.missing = v.missing
	}
	return n
}

const rounds = "a number of more than 14 digits is rounded when it is made a text: " +
	"write string.format('%s', ...), or use the text that a command gives"

// shown finds a number that is made a text by the server's 14 digits. Code behind it may show that a time has 16.
func (m *machine) shown(v value, pos parse.Pos) {
	m.use(v)
	shown := map[bool]string{true: "%.6f", false: "%.0f"}[v.frac]
	switch {
	case !v.surely(isNumber) || v.lossy != nil:
	case v.large >= maxShown || v.frac && v.large >= now:
		m.find(pos, Precision, rounds, shown)
	case v.unit == unit{as: aTime} && m.quiet == 0:
		m.c.unproven = append(m.c.unproven, func() {
			if m.state.dead = false; m.unitOf(v, unit{}).per >= 1e6 {
				m.find(pos, Precision, rounds, shown)
			}
		})
	}
}

// rounded finds an id that is made a number, and a text again.
func (m *machine) rounded(e parse.Expr) {
	if m.identifies(e, "") {
		m.find(m.c.origin(e).Pos(), Precision, "an id may have more than the 15 digits that a Lua number holds: leave it a text")
	}
}

// concat checks the parts of "a .. b .. c".
func (m *machine) concat(e *parse.BinaryExpr) value {
	previous, dotted, all := role(0), false, textValue()
	for part := parse.Expr(e); part != nil; {
		operand := part
		b, more := part.(*parse.BinaryExpr)
		if more = more && b.Op == ".."; more {
			operand, part = b.L, b.R
		} else {
			part = nil
		}
		v := m.eval(operand)
		m.scalar(v, operand.Pos(), "..", ": join its elements with table.concat")
		m.shown(v, operand.Pos())
		m.rounded(operand)
		all.word = all.word || v.word
		if isLiteral(m.c.origin(e.L), "(") { // the score behind it is left out of a range
			all.unit, all.roots = v.unit, v.roots
		}
		if all.role = v.role; previous == aSecond && v.role == aMicro {
			m.find(operand.Pos(), Time, "the microseconds of TIME are not padded: "+
				"write string.format('%%06d', ...)")
		}
		dot, isString := operand.(*parse.StringExpr)
		if dotted = isString && dot.Value == "." && previous == aSecond && !dotted; !dotted {
			previous = v.role
		}
	}
	return all
}

// added returns the value of the reply of a command that adds an int to what a key holds.
func (m *machine) added(name string, e *parse.CallExpr, words []parse.Expr, v value) value {
	at := map[string]int{"incrby": 2, "decrby": 2, "hincrby": 3}[name]
	if at == 0 || at >= len(words) || m.plain {
		return v
	}
	if m.peek(words[at]).wide != "" {
		v.by, v.size, v.large = &e.P, maxInt64, maxInt64
	}
	return v
}

// sum finds the reply of a command that adds an int of any size, if it is returned as an integer.
func (m *machine) sum(v value, r *parse.Result) {
	exact := r.Type.Bounded && r.Type.Max <= maxExact && r.Type.Min >= -maxExact
	if v.by != nil && !exact && strings.HasPrefix(r.Type.Name, "int") {
		m.find(*v.by, Precision, "the sum passes through a Lua number, which is exact to 2^53 only: "+
			"return the text that GET or HGET gives")
	}
}

// format checks the numbers that string.format gets.
func (m *machine) format(e *parse.CallExpr, args []value) {
	layout, ok := m.c.origin(e.Args[0]).(*parse.StringExpr)
	if !ok {
		return
	}
	for i, verb := range formatVerb.FindAllString(strings.ReplaceAll(layout.Value, "%%", ""), -1) {
		switch {
		case i+1 >= len(args):
		case strings.HasSuffix(verb, "s"):
			m.present(args[i+1].itself(), e.Args[i+1].Pos())
			m.shown(args[i+1], e.Args[i+1].Pos())
		case strings.ContainsAny(verb, "diu") && m.fraction(e.Args[i+1], args[i+1]):
			m.find(e.Args[i+1].Pos(), Precision, "%s cuts the fraction of this: write %%.17g", verb)
		default:
			m.exact(args[i+1], e.Args[i+1].Pos())
		}
	}
}

// asScore finds the text of a number as the member that has the number as its score: 14 digits do not keep all times apart.
func (m *machine) asScore(score, member parse.Expr) {
	x, v := varOf(score), m.peek(score)
	if x != nil && varOf(m.passed(member, "tostring")) == x && v.surely(isNumber) && !v.whole && v.size == 0 && v.unit == (unit{as: aTime}) {
		m.find(member.Pos(), Precision, "tostring keeps 14 digits, and times that differ behind them are one member: pass the number as it is")
	}
}

// fraction reports whether a number may have a fraction that matters: it is no time in small units, and no result of math.max.
func (m *machine) fraction(e parse.Expr, v value) bool {
	_, made := unparen(e).(*parse.CallExpr)
	return (v.frac || v.split) && v.unit.per < 1000 && !made
}

// passed returns the only argument of a call of a function of the server, nil if an expression is none.
func (m *machine) passed(e parse.Expr, name string) parse.Expr {
	if call, ok := m.c.origin(e).(*parse.CallExpr); ok && m.c.callee(call) == name && len(call.Args) == 1 {
		return call.Args[0]
	}
	return nil
}

var formatVerb = regexp.MustCompile(`%[-+ #0-9.]*[a-zA-Z]`)

// inText finds a number in a table that cjson.encode or table.concat rounds.
func (m *machine) inText(table value) {
	if table.digits != nil {
		m.find(*table.digits, Precision, "a number of more than 14 digits is rounded in JSON, and in texts: write string.format('%%.0f', ...)")
	}
}

// insert notes that a value is put into a table, in a field if that has a name.
func (m *machine) insert(v *value, item value, e parse.Expr, field string) {
	v.hollow = false
	switch pos := e.Pos(); {
	case item.surely(isNumber) && (item.in(said(field, inName)).large >= maxShown || m.identifies(e, field)), m.converted(e):
		v.digits = &pos
	case item.digits != nil:
		v.digits = item.digits
	}
	if item.empty != nil {
		v.empty = item.empty
	} else if m.mayBeEmpty(e, item) {
		v.empty = e
	}
}

// converted reports whether an expression is a number for each value of a hash that is one: tonumber(x) or x.
func (m *machine) converted(e parse.Expr) bool {
	b, ok := unparen(e).(*parse.BinaryExpr)
	if !ok || b.Op != "or" {
		return false
	}
	number, ok := m.passed(b.L, "tonumber").(*parse.IndexExpr)
	return ok && m.peek(number.X).pairs && mentions(b.R, varOf(number.X))
}
