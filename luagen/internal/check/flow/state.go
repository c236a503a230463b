package flow

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// state is what is known at one place of the code.
type state struct {
	vars  map[*parse.Var]*Value // of what is not here nothing is known
	fresh map[string]*creation  // keys that were written and have no expiry yet
	Sure  map[string]bool       // what certainly is so of keys: see the constants below
	facts *facts                // of the function, and by their numbers
	asked []int                 // what the script knows, or may know: see asked.go
	At    int                   // the way behind the last condition of which only one way leads here
	trail *branch               // the last condition on the way to here, as far as all ways have it
	line  int                   // which of the states before the loop around the code it comes from, 0: several
	Dead  bool                  // control never comes here,
	Never bool                  // or comes here only if what is known is wrong
}

// What is sure of a key, by its text, but for "expire x", a command that it certainly got.
const (
	exists      = "there "
	lives       = "lives "  // it got an expiry
	looked      = "looked " // the script has asked for its expiry
	DeclaredKey = "key "    // it is equal to a declared one
	unitOf      = "unit "   // of an argument, by its number
)

// NewState returns a state in which nothing is known.
func NewState() *state {
	f := &facts{map[any]int{everything: 0}, []any{everything}}
	return &state{vars: map[*parse.Var]*Value{}, fresh: map[string]*creation{}, Sure: map[string]bool{}, facts: f, asked: []int{0}, At: 1}
}

func (s *state) clone() *state {
	c := *s
	c.vars, c.fresh, c.Sure, c.asked = maps.Clone(s.vars), maps.Clone(s.fresh), maps.Clone(s.Sure), slices.Clone(s.asked)
	return &c
}

// Get returns what is known of a name, if anything is.
func (s *state) Get(x *parse.Var) (Value, bool) {
	if v := s.vars[x]; v != nil {
		return *v, true
	}
	return unknown(), false
}

func (s *state) set(x *parse.Var, v Value) { s.vars[x] = &v }

// merge returns what is known where control comes from a or b.
func merge(a, b *state) *state {
	s := a.clone()
	s.line, s.Never, s.trail = same(a.line, b.line), a.Never && b.Never, Common(a.trail, b.trail)
	s.asked = joinAsked(a, b, s.At)
	for x, v := range a.vars {
		if w := b.vars[x]; w == nil {
			delete(s.vars, x)
		} else if w != v && !reflect.DeepEqual(w, v) {
			s.set(x, Join(a.settled(*v), b.settled(*w)))
		}
	}
	maps.DeleteFunc(s.Sure, func(fact string, _ bool) bool { return !b.Sure[fact] })
	maps.Copy(s.fresh, b.fresh)
	return s
}

// settled returns a value that is there if a state knows that, for where the state is no more.
func (s *state) settled(v Value) Value {
	if v.Missing != "" && s.Knows(strings.TrimSuffix(v.Missing, itsOwn)) {
		v.Missing = ""
	}
	return v
}

// refine notes that a condition without parts is true, or is not.
func (m *Machine) refine(e parse.Expr, truth bool) {
	b, ok := parse.Unparen(e).(*parse.BinaryExpr)
	switch {
	case !ok || b.Op == "and" || b.Op == "or":
		m.is(parse.Unparen(e), truth)
	case negated[b.Op] == "":
		m.asks(m.State.At, e)
	default:
		m.unsure(b)
		op := b.Op
		if !truth {
			op = negated[op]
		}
		m.side(b.L, op, b.R)
		m.side(b.R, Mirrored[op], b.L)
	}
}

// negated and mirrored have what is so if a comparison is false, and of its other side.
var (
	negated  = map[string]string{"==": "~=", "~=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
	Mirrored = map[string]string{"==": "==", "~=": "~=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
)

// is notes that an expression is true for a condition, or is not.
func (m *Machine) is(e parse.Expr, truth bool) {
	if b, ok := m.C.Origin(e).(*parse.BinaryExpr); ok && negated[b.Op] != "" {
		m.unsure(b)
	}
	v := m.Peek(e)
	left := v.falsy()
	if truth {
		left = v
		left.Is &^= Absent
	}
	if v.Is&Absent != 0 {
		m.says(e, v, left.Is)
		m.counted(v, map[bool]string{true: "~=", false: "=="}[truth], Value{Is: IsNil})
	}
	if _, known := m.State.Get(parse.VarOf(e)); known && v.Is != IsTable {
		m.State.set(parse.VarOf(e), left.orUnknown())
	}
}

// side notes what a comparison with another expression shows of e.
func (m *Machine) side(e parse.Expr, op string, other parse.Expr) {
	v, w := m.Peek(e), m.Peek(other)
	if !m.first(e, op, other) {
		m.counted(v, op, w)
	}
	if op == "<" || op == "<=" {
		for _, what := range m.touched(e) {
			m.State.ask(proved, limited{what})
		}
	}
	left, zero := v.remaining(op, w), w.Size == ZeroSize
	switch {
	case v.Is&w.Is == 0: // It says nothing.
	case v.Is != IsNumber || v.Missing == "" || !zero && !w.Constant():
		m.says(e, v, left)
	case zero && (op == ">" || op == "~="), !zero && op != "~=" && op[0] != '<':
		m.there(v)
	}
	above := aboveZero + fixed(e) // that an argument, or a name, is above 0
	if n := m.C.Nth(e, "ARGV"); n > 0 {
		above = aboveZero + Itoa(n)
	}
	if op == ">" || zero && op == "~=" || !zero && (op == "==" || op == ">=") {
		m.State.ask(proved, above)
	}
	if x, k := typed(e, other); x != nil {
		if op == "~=" {
			k = anything &^ k
		}
		if v, known := m.State.Get(x); known {
			v.Is &= k
			m.State.set(x, v.orUnknown())
		}
	}
	x := parse.VarOf(parse.Unparen(e))
	if _, known := m.State.Get(x); !known {
		return
	}
	if key := m.KeyName(e, 1); op == "==" && key != "" && m.C.Certainly(AKey, other) {
		m.State.Sure[DeclaredKey+key] = true
	}
	if v.Is != IsTable { // always is true, and never nil
		positive := above != aboveZero && m.State.about(above) == proved
		v.Is, v.Low = left, v.Low || zero && op == "<=" && !positive // for the script says that it may be so
		m.State.set(x, v.orUnknown())
	}
}

// remaining returns of which kinds a value may be if its comparison with another is true.
func (v Value) remaining(op string, w Value) Kinds {
	switch {
	case op == "==":
		return v.Is & w.Is
	case op != "~=": // nil fails
		return v.Is &^ Absent
	case w.Is == IsNil || w.Is == IsFalseValue || w.Is == IsTrueValue:
		return v.Is &^ w.Is
	}
	return v.Is
}

var typeKinds = map[string]Kinds{
	"nil": IsNil, "boolean": Boolean, "string": IsText, "number": IsNumber,
	"table": IsTable | IsStatus | IsFailed,
}

// typed reads a test of the type of a name, "type(x) == 'name'". It returns the kinds of that type.
func typed(e, other parse.Expr) (x *parse.Var, k Kinds) {
	call, isCall := e.(*parse.CallExpr)
	text, isString := other.(*parse.StringExpr)
	if !isCall || !isString || !parse.IsGlobal(call.Fn, "type") || len(call.Args) != 1 {
		return nil, 0
	}
	return parse.VarOf(call.Args[0]), typeKinds[text.Value]
}
