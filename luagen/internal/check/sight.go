package check

import (
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// use is how the code uses an expression, or what it does.
type use int

// The first uses fail for nil.
const (
	inArithmetic use = iota
	inText           // an operand of .., or of what makes a text of a number
	asWord           // of a command, behind its first
	indexed          // x[key]: key is the second expression
	measured         // by #
	ordered          // an operand of <
	passed           // to a function, or to a loop that counts
	called           // as a function

	asked     // a condition
	equal     // l == r
	less      // l < r
	sum       // l + r, l - r and l / r
	either    // l and r, l or r: of the left one only
	taken     // by the parameter of a local function
	formatted // by a verb of string.format
	replaced  // l or r
	chained   // all operands of a chain of ..

	used       // for anything but a comparison
	named      // it gets a name, of which the unit is the second value's
	reassigned // to a name that had another value
	stored     // into a table
	inserted   // likewise, by table.insert
	listed     // an item of a table that is written out
	given      // a function of the server gets its arguments
	sent       // a command gets its words
	refusable  // a command gives an expiry to a key that was just created
	dropped    // the result of a call that is a statement
	returned   // by a return statement
	looped     // over its elements
	entered    // a block
	ended      // the script, without a return statement
	unreached  // a statement that never runs
)

// sight is what the machine sees of one use, in the state in which it stands.
type sight struct {
	use  use
	e, f parse.Expr // two where a use is of two
	stmt parse.Stmt
	in   *parse.Block
	v, w value   // of e, and of f
	args []value // of a call, or of a chain
	call commandCall
	name string
	pos  parse.Pos
}

// see passes on what the machine sees where it stands, unless it only looks again, or control never comes here.
func (m *machine) see(s sight) {
	if m.quiet == 0 && !m.state.dead && m.watch != nil {
		m.watch(s)
	}
}

// uses passes on that an expression is used in a way for which nil fails: behind it the value is there.
func (m *machine) uses(u use, e parse.Expr, v value) {
	if u != inArithmetic && u != ordered { // A counter may be missing where the rest of a hash is there.
		v.missing = strings.TrimSuffix(v.missing, itsOwn)
	}
	m.see(sight{use: u, e: e, v: v})
	m.proves(v)
	m.state.fails = m.state.fails || m.quiet == 0 && v.is == isNil && m.independent(v.since) // It ends here.
}

// proves notes that a value is there: the script would fail here else.
func (m *machine) proves(v value) {
	if m.mayMiss(v) {
		m.state.ask(proved, v.missing)
	}
}

// useAt is what identifies a use.
type useAt struct {
	use   use
	of    any
	pos   parse.Pos
	never bool
}

func (s sight) place(never bool) useAt {
	at := useAt{use: s.use, pos: s.pos, never: never}
	switch {
	case s.e != nil:
		at.of = s.e
	case s.stmt != nil:
		at.of = s.stmt
	case s.in != nil:
		at.of = s.in
	default:
		at.of = s.call.expr
	}
	return at
}
