package check

import (
	"maps"
	"reflect"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// state is what is known at one place of the code.
type state struct {
	vars  map[*parse.Var]*value // of what is not here nothing is known
	fresh map[string]*creation  // keys that were written and have no expiry yet
	sure  map[string]bool       // what certainly is so of keys: see the constants below
	asked map[any]int           // what the script knows, or may know: see asked.go
	at    int                   // the way behind the last condition of which only one way leads here
	trail *branch               // the last condition on the way to here, as far as all ways have it
	line  int                   // which of the states before the loop around the code it comes from, 0: several
	dead  bool                  // control never comes here,
	fails bool                  // as the script fails,
	never bool                  // or comes here only if what is known is wrong
}

// What is sure of a key, by its text, but for "expire x", a command that it certainly got.
const (
	exists      = "there "
	lives       = "lives "  // it got an expiry
	looked      = "looked " // the script has asked for its expiry
	declaredKey = "key "    // it is equal to a declared one
)

func newState() *state {
	return &state{vars: map[*parse.Var]*value{}, fresh: map[string]*creation{}, sure: map[string]bool{}, asked: map[any]int{}, at: 1}
}

func (s *state) clone() *state {
	c := *s
	c.vars, c.fresh, c.sure, c.asked = maps.Clone(s.vars), maps.Clone(s.fresh), maps.Clone(s.sure), maps.Clone(s.asked)
	return &c
}

// get returns what is known of a name, if anything is.
func (s *state) get(x *parse.Var) (value, bool) {
	if v := s.vars[x]; v != nil {
		return *v, true
	}
	return unknown(), false
}

func (s *state) set(x *parse.Var, v value) { s.vars[x] = &v }

// merge returns what is known where control comes from a or b.
func merge(a, b *state, at int) *state {
	switch {
	case a.dead:
		return b
	case b.dead:
		return a
	}
	s := newState()
	if s.at = a.at; a.at != b.at {
		s.at = at
	}
	s.line, s.never, s.trail = same(a.line, b.line), a.never && b.never, common(a.trail, b.trail)
	s.asked = joinAsked(a.asked, b.asked, s.at)
	for x, v := range a.vars {
		if w := b.vars[x]; w == v || reflect.DeepEqual(w, v) {
			s.vars[x] = v
		} else if w != nil {
			s.set(x, join(a.settled(*v), b.settled(*w), at))
		}
	}
	s.sure = inBoth(a.sure, b.sure)
	maps.Copy(s.fresh, a.fresh)
	maps.Copy(s.fresh, b.fresh)
	return s
}

// inBoth returns the facts that are in both.
func inBoth(a, b map[string]bool) map[string]bool {
	both := maps.Clone(a)
	maps.DeleteFunc(both, func(fact string, _ bool) bool { return !b[fact] })
	return both
}

// refine notes that a condition without parts is true, or is not.
func (m *machine) refine(e parse.Expr, truth bool) {
	b, ok := unparen(e).(*parse.BinaryExpr)
	switch {
	case !ok || b.Op == "and" || b.Op == "or":
		m.is(unparen(e), truth)
	case negated[b.Op] == "":
		m.asks(m.state.at, e)
	default:
		m.unsure(b)
		op := b.Op
		if !truth {
			op = negated[op]
		}
		m.side(b.L, op, b.R)
		m.side(b.R, mirrored[op], b.L)
	}
}

// negated and mirrored have what is so if a comparison is false, and of its other side.
var (
	negated  = map[string]string{"==": "~=", "~=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
	mirrored = map[string]string{"==": "==", "~=": "~=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
)

// is notes that an expression is true for a condition, or is not.
func (m *machine) is(e parse.Expr, truth bool) {
	if b, ok := m.c.origin(e).(*parse.BinaryExpr); ok && negated[b.Op] != "" {
		m.unsure(b)
	}
	v := m.peek(e)
	left := v.falsy()
	if truth {
		left = v.truthy()
	}
	if v.is&absent != 0 {
		m.says(e, v, left.is)
		m.counted(v, map[bool]string{true: "~=", false: "=="}[truth], value{is: isNil})
	}
	if _, known := m.state.get(varOf(e)); known && v.is != isTable {
		m.state.set(varOf(e), left.orUnknown())
	}
}

// side notes what a comparison with another expression shows of e.
func (m *machine) side(e parse.Expr, op string, other parse.Expr) {
	v, w := m.peek(e), m.peek(other)
	if !m.first(e, op, other) {
		m.counted(v, op, w)
	}
	if op == "<" || op == "<=" {
		m.bounds(e, other)
	}
	left, zero := v.remaining(op, w), w.size == zeroSize
	switch {
	case v.is&w.is == 0: // It says nothing.
	case v.is != isNumber || v.missing == "" || !zero && !w.constant():
		m.says(e, v, left)
	case zero && (op == ">" || op == "~="), !zero && op != "~=" && op[0] != '<':
		m.there(v)
	}
	above := m.above(e)
	if op == ">" || zero && op == "~=" || !zero && (op == "==" || op == ">=") {
		m.state.ask(proved, above)
	}
	if x, k := typed(e, other); x != nil {
		if op == "~=" {
			k = anything &^ k
		}
		if v, known := m.state.get(x); known {
			v.is &= k
			m.state.set(x, v.orUnknown())
		}
	}
	x := varOf(unparen(e))
	if _, known := m.state.get(x); !known {
		return
	}
	if key := m.keyName(e, 1); op == "==" && key != "" && m.c.certainly(aKey, other) {
		m.state.sure[declaredKey+key] = true
	}
	if v.is != isTable { // always is true, and never nil
		positive := above != aboveZero && m.state.asked[above] == proved
		v.is, v.low = left, v.low || zero && op == "<=" && !positive // for the script says that it may be so
		m.state.set(x, v.orUnknown())
	}
}

// remaining returns of which kinds a value may be if its comparison with another is true.
func (v value) remaining(op string, w value) kinds {
	switch {
	case op == "==":
		return v.is & w.is
	case op != "~=": // nil fails
		return v.is &^ absent
	case w.is == isNil || w.is == isFalseValue || w.is == isTrueValue:
		return v.is &^ w.is
	}
	return v.is
}

// above returns what is asked when a comparison shows that an argument, or a name, is above 0.
func (m *machine) above(e parse.Expr) string {
	if n := m.c.nth(e, "ARGV"); n > 0 {
		return aboveZero + itoa(n)
	}
	return aboveZero + fixed(e)
}

var typeKinds = map[string]kinds{
	"nil": isNil, "boolean": boolean, "string": isText, "number": isNumber,
	"table": isTable | isStatus | isFailed,
}

// typed reads a test of the type of a name, "type(x) == 'name'". It returns the kinds of that type.
func typed(e, other parse.Expr) (x *parse.Var, k kinds) {
	call, isCall := e.(*parse.CallExpr)
	text, isString := other.(*parse.StringExpr)
	if !isCall || !isString || !isGlobal(call.Fn, "type") || len(call.Args) != 1 {
		return nil, 0
	}
	return varOf(call.Args[0]), typeKinds[text.Value]
}
