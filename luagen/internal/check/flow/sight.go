package flow

import (
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Use is how the code uses an expression, or what it does.
type Use int

// The first uses fail for nil.
const (
	InArithmetic Use = iota
	InText           // an operand of .., or of what makes a text of a number
	AsWord           // of a command, behind its first
	Indexed          // x[key]: key is the second expression
	Measured         // by #
	Ordered          // an operand of <
	Passed           // to a function, or to a loop that counts
	Called           // as a function

	Asked   // a condition
	Equal   // l == r
	Less    // l < r
	Sum     // l + r, l - r and l / r
	Either  // l and r, l or r: of the left one only
	Taken   // by the parameter of a local function
	Chained // all operands of a chain of ..

	Used      // for anything but a comparison
	Given     // a function of the server gets its arguments
	Sent      // a command gets its words
	Refusable // a command gives an expiry to a key that was just created
	Dropped   // the result of a call that is a statement
	Returned  // by a return statement
	Entered   // a block
	Ended     // the script, without a return statement
	Unreached // a statement that never runs
)

// Sight is what the machine sees of one use, in the state in which it stands.
type Sight struct {
	Use  Use
	E, F parse.Expr // two where a use is of two
	Stmt parse.Stmt
	In   *parse.Block
	V, W Value   // of e, and of f
	Args []Value // of a call, or of a chain
	Call CommandCall
	Name string
	Pos  parse.Pos
}

// see passes on what the machine sees where it stands, unless it only looks again, or control never comes here.
func (m *Machine) see(s Sight) {
	if m.Quiet == 0 && !m.State.Dead && m.Watch != nil {
		m.Watch(s)
	}
}

// uses passes on that an expression is used in a way for which nil fails: behind it the value is there.
func (m *Machine) uses(u Use, e parse.Expr, v Value) {
	if u != InArithmetic && u != Ordered { // A counter may be missing where the rest of a hash is there.
		v.Missing = strings.TrimSuffix(v.Missing, itsOwn)
	}
	m.see(Sight{Use: u, E: e, V: v})
	m.proves(v)
}

// proves notes that a value is there: the script would fail here else.
func (m *Machine) proves(v Value) {
	if m.MayMiss(v) {
		m.State.ask(proved, v.Missing)
	}
}

// UseAt is what identifies a use.
type UseAt struct {
	use   Use
	of    any
	pos   parse.Pos
	Never bool
}

// Place returns what identifies the use.
func (s Sight) Place(never bool) UseAt {
	at := UseAt{use: s.Use, pos: s.Pos, Never: never}
	switch {
	case s.E != nil:
		at.of = s.E
	case s.Stmt != nil:
		at.of = s.Stmt
	case s.In != nil:
		at.of = s.In
	default:
		at.of = s.Call.Expr
	}
	return at
}
