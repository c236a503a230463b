package check

import (
	"maps"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// state is what is known at one place of the code.
type state struct {
	vars  map[*parse.Var]*value // of what is not here nothing is known
	fresh map[string]*creation  // keys that were written and have no expiry yet
	sure  map[string]bool       // what certainly is so of keys: exists, there before, of a kind, permitted a command
	held  *held                 // the conditions that have led here
	dead  bool                  // control never comes here
}

// held is a condition, or the head of a loop, that is decided where control is, and those before it.
type held struct {
	cond  parse.Expr
	up    *held
	depth int
}

func (h *held) and(cond parse.Expr) *held {
	if h == nil {
		return &held{cond, nil, 1}
	}
	return &held{cond, h, h.depth + 1}
}

// common returns what is held on two ways.
func common(a, b *held) *held {
	for a != b && a != nil && b != nil {
		if a.depth < b.depth {
			a, b = b, a
		}
		a = a.up
	}
	if a != b {
		return nil
	}
	return a
}

// holds reports whether f is true of a condition that is held, or if they are too many to look at.
func (s *state) holds(f func(parse.Expr) bool) bool {
	h := s.held
	for h != nil && h.depth <= maxPassed && !f(h.cond) {
		h = h.up
	}
	return h != nil
}

// What is sure of a key, by its text, but for "hash x", its kind, and "expire x", a command that it certainly got.
const (
	exists      = "there "
	gone        = "gone "   // there is none
	before      = "before " // it was there before a command that may create it
	declaredKey = "key "    // it is equal to a declared one
)

func newState() *state {
	return &state{vars: map[*parse.Var]*value{}, fresh: map[string]*creation{}, sure: map[string]bool{}}
}

func (s *state) clone() *state {
	return &state{vars: maps.Clone(s.vars), fresh: maps.Clone(s.fresh), sure: maps.Clone(s.sure), held: s.held, dead: s.dead}
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
	s.held = common(a.held, b.held)
	for x, v := range a.vars {
		if w := b.vars[x]; w == v {
			s.vars[x] = v
		} else if w != nil {
			s.set(x, join(*v, *w, at))
		}
	}
	for fact := range a.sure {
		if b.sure[fact] {
			s.sure[fact] = true
		}
	}
	s.remain(a, b)
	s.remain(b, a)
	return s
}

// remain notes the keys that have no expiry yet where control comes from a, or from b.
func (s *state) remain(a, b *state) {
	for key, made := range a.fresh {
		if was := s.fresh[key]; was != nil && was.crossed != nil && was.rule != Refused {
			continue
		}
		merged := *made
		other := b.fresh[key]
		merged.certain = made.certain && (b.sure[before+key] || other != nil && other.certain)
		s.fresh[key] = &merged
	}
}

// refine notes that a condition is true, or is not. Where that would take too long, all is
// forgotten.
func (m *machine) refine(e parse.Expr, truth bool) {
	m.budget--
	if m.budget < 0 {
		m.state.vars, m.state.sure = map[*parse.Var]*value{}, map[string]bool{}
		return
	}
	switch e := e.(type) {
	case *parse.ParenExpr:
		m.refine(e.X, truth)
	case *parse.NameExpr:
		m.is(e, truth)
	case *parse.CallExpr:
		m.probed(e, truth)
	case *parse.UnaryExpr:
		if e.Op == "not" {
			m.refine(e.X, !truth)
		}
	case *parse.BinaryExpr:
		m.refineBinary(e, truth)
	}
}

func (m *machine) refineBinary(e *parse.BinaryExpr, truth bool) {
	if e.Op != "and" && e.Op != "or" {
		m.unsure(e)
	}
	switch {
	case e.Op == "and" && truth, e.Op == "or" && !truth:
		m.refine(e.L, truth)
		m.refine(e.R, truth)
	case e.Op == "and", e.Op == "or":
		other := m.state.clone()
		m.refine(e.L, truth)
		first := m.state
		m.state = other
		m.refine(e.L, !truth)
		m.refine(e.R, truth)
		m.state = merge(first, m.state, 0)
	case e.Op == "==" || e.Op == "~=":
		same := truth == (e.Op == "==")
		l, r := m.peek(e.L), m.peek(e.R)
		op := map[bool]string{true: "==", false: "~="}[same]
		m.counted(l, op, r)
		m.counted(r, op, l)
		m.equal(e.L, e.R, l, r, same)
		m.equal(e.R, e.L, r, l, same)
		m.typed(e, same)
	case e.Op == "<" || e.Op == ">=":
		m.above(e.R, e.L, truth == (e.Op == "<"))
	case e.Op == ">" || e.Op == "<=":
		m.above(e.L, e.R, truth == (e.Op == ">"))
	}
}

// is notes that a name is true for a condition, or is not.
func (m *machine) is(e *parse.NameExpr, truth bool) {
	v, ok := m.state.get(e.Var)
	if !ok {
		return
	}
	m.probed(e, truth)
	if truth {
		m.state.set(e.Var, v.truthy())
		return
	}
	m.state.set(e.Var, v.falsy().orUnknown())
}

// probed notes that a key exists, if a true reply shows that.
func (m *machine) probed(e parse.Expr, truth bool) {
	v := m.peek(e)
	if truth && v.probe != "" && v.is&isNumber == 0 {
		m.state.sure[exists+v.probe] = true
	}
	if v.is == isStatus|isFalseValue {
		m.replied(v, truth)
	}
}

// equal notes that e, which is v, has the value w, or has another.
func (m *machine) equal(e, other parse.Expr, v, w value, same bool) {
	zero := w.is == isNumber && w.size == zeroSize
	number := w.is == isNumber && w.size > 0
	switch {
	case v.probe == "":
	case same && (number && !zero || w.is == isText), !same && zero && v.is == isNumber,
		!same && w.is == isFalseValue && v.is == isText|isFalseValue:
		m.state.sure[exists+v.probe] = true
	}
	x := varOf(unparen(e))
	if _, known := m.state.get(x); !known {
		return
	}
	if key := m.keyName(e, 1); same && key != "" && m.c.certainly(aKey, other) {
		m.state.sure[declaredKey+key] = true
	}
	single := w.is == isNil || w.is == isFalseValue || w.is == isTrueValue
	switch {
	case same:
		v.is &= w.is
	case single:
		v.is &^= w.is
	}
	if v.is&isNil == 0 || v.is == isNil {
		v.nilAt = 0
	}
	m.state.set(x, v.orUnknown())
}

// above notes that a is more than b: then a is not 0, if b is a number that is written out.
func (m *machine) above(a, b parse.Expr, truth bool) {
	v, w := m.peek(a), m.peek(b)
	if truth {
		m.counted(v, ">", w)
		m.counted(w, "<", v)
	} else {
		m.counted(v, "<=", w)
		m.counted(w, ">=", v)
	}
	if _, literal := unparen(b).(*parse.NumberExpr); literal && truth && v.probe != "" {
		m.state.sure[exists+v.probe] = true
	}
}

var typeKinds = map[string]kinds{
	"nil": isNil, "boolean": boolean, "string": isText, "number": isNumber,
	"table": isTable | isStatus | isFailed,
}

// typed notes what type(x) == 'name' shows.
func (m *machine) typed(e *parse.BinaryExpr, same bool) {
	for _, pair := range [][2]parse.Expr{{e.L, e.R}, {e.R, e.L}} {
		call, isCall := pair[0].(*parse.CallExpr)
		text, isString := pair[1].(*parse.StringExpr)
		if !isCall || !isString || !isGlobal(call.Fn, "type") || len(call.Args) != 1 {
			continue
		}
		x := varOf(call.Args[0])
		v, known := m.state.get(x)
		was := v.is
		if k := typeKinds[text.Value]; known && k != 0 {
			if v.is &= k; !same {
				v.is = was &^ k
			}
			v.nilAt = 0
			m.state.set(x, v.orUnknown())
		}
	}
}

// doubt withdraws that names are certainly nil in some cases, if a condition may say more about them
// than refine sees.
func (m *machine) doubt(cond parse.Expr) {
	m.seen = map[*parse.Var]bool{}
	m.doubtIn(cond, true)
}

func (m *machine) doubtIn(e parse.Expr, direct bool) {
	switch e := e.(type) {
	case *parse.ParenExpr:
		m.doubtIn(e.X, direct)
		return
	case *parse.UnaryExpr:
		m.doubtIn(e.X, direct && e.Op == "not")
		return
	case *parse.BinaryExpr:
		comparesNil := (e.Op == "==" || e.Op == "~=") && (isFalsy(e.L) || isFalsy(e.R))
		direct = direct && (e.Op == "and" || e.Op == "or" || comparesNil)
		m.doubtIn(e.L, direct)
		m.doubtIn(e.R, direct)
		return
	}
	parse.Walk(e, func(inner parse.Expr) {
		if name, ok := inner.(*parse.NameExpr); ok && name.Var != nil {
			m.doubtName(name.Var, direct && inner == e)
		}
	})
}

func (m *machine) doubtName(x *parse.Var, direct bool) {
	if m.seen[x] {
		return
	}
	m.seen[x] = true
	if v, ok := m.state.get(x); ok && !direct && v.nilAt != 0 {
		v.nilAt = 0
		m.state.set(x, v)
	}
	for _, from := range m.c.flow.mentioned(x) {
		if len(m.seen) < maxNames {
			m.doubtName(from, false)
		}
	}
}
