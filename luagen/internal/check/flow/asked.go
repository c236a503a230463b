package flow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// By what a script has asked and written on its way, it may know that a key, a field or an argument is there. That
// stands in state.asked, by the numbers of names and of the texts of keys, of their parts and of arguments. It is proved if a
// reply or a write has shown it, else the way behind the condition that may have shown it. Where two ways join that know
// different things, it is negative: there the script knows nothing, but behind another condition it may, as that may be
// about what one of the ways did.
const (
	proved     = math.MaxInt
	everything = ""          // what is too much to follow may have shown all
	anyReply   = "call"      // what is not known may reply with, or write
	SomeWhole  = "whole"     // that something has no fraction
	aboveZero  = "above "    // begins the text of an argument, or of a name, that is above 0
	AnArgument = "argument " // begins the text of an argument
	aField     = "field "    // begins the text of a field of what came from JSON
	aWhole     = "whole "    // begins the text of a key of which it is known that there is one
	itsOwn     = "\x00"      // ends the text of a part that may be missing though its key is there
)

// later is the text of what is there for each command from now on.
type later string

// facts numbers all that a script has asked in one function. The first is everything.
type facts struct {
	ids map[any]int
	all []any
}

func (f *facts) id(what any) int {
	return recalled(f.ids, what, func() int {
		f.all = append(f.all, what)
		return len(f.all) - 1
	})
}

// ask notes what the script knows, or may know, which is all for ever if it is too much.
func (s *state) ask(at int, all ...any) {
	if s.knowsAll() {
		return
	}
	for _, what := range all {
		s.learn(at, s.facts.id(what))
		if text, isText := what.(string); isText {
			s.learn(at, s.facts.id(later(text)))
		}
	}
	known := 0
	for _, at := range s.asked {
		known += min(1, max(at, -at))
	}
	if s.knowsAll() || known > MaxAsked {
		s.asked = []int{proved}
	}
}

func (s *state) learn(at, id int) {
	s.asked = long(s.asked, id+1)
	if s.asked[id] <= 0 || at == proved {
		s.asked[id] = at
	}
}

// long returns a list with zeros up to a length.
func long(list []int, n int) []int {
	return append(list, make([]int, max(0, n-len(list)))...)
}

// about returns what the script knows of something: 0 is nothing.
func (s *state) about(what any) int {
	if id, ok := s.facts.ids[what]; ok && id < len(s.asked) {
		return s.asked[id]
	}
	return 0
}

func (s *state) knowsAll() bool { return s.asked[0] > 0 }

// Holds reports whether a condition that has led here is about something.
func (s *state) Holds(what any) bool { return s.knowsAll() || s.about(what) > 0 }

// Knows reports whether the script may know something.
func (s *state) Knows(what any) bool {
	at := s.about(what)
	return s.knowsAll() || at > 0 || at < 0 && at != -s.At
}

// answers returns what shows that a source is there.
func answers(source string) []any {
	source, apart := strings.CutSuffix(source, itsOwn)
	key, _, _ := strings.Cut(source, "\n")
	all := append(likes(source), key, anyReply)
	if !apart {
		all = append(all, aWhole+key)
	}
	return all
}

// likes returns a source and what stands for its likes: if one field that is written out is there, others are.
func likes(source string) []any {
	source = strings.TrimSuffix(source, itsOwn)
	if key, part, _ := strings.Cut(source, "\n"); strings.HasPrefix(part, "'") {
		return []any{source, key + "\n'"}
	}
	return []any{source}
}

// joinAsked returns what is known where control comes from two ways.
func joinAsked(a, b *state, at int) []int {
	if a.knowsAll() || b.knowsAll() {
		return []int{proved}
	}
	all, other := long(slices.Clone(a.asked), len(b.asked)), long(b.asked, len(a.asked))
	for id, x := range all {
		y := other[id]
		if all[id] = min(x, y); (x != 0 || y != 0) && (all[id] <= 0 || x != y && max(x, y) < proved) {
			all[id] = -at
		}
	}
	return all
}

// says notes what a part of a condition shows, of which the value was v and is of some kinds on this way.
func (m *Machine) says(e parse.Expr, v Value, left Kinds) {
	switch {
	case v.Is&Absent == 0 || v.Missing == "", strings.HasPrefix(v.Missing, AnArgument) && left&^Absent != 0:
		m.asks(m.State.At, e)
	case left&Absent == 0:
		m.there(v)
	}
}

// there notes that what a value is a reply about is there.
func (m *Machine) there(v Value) {
	if v.Missing != "" {
		m.State.ask(proved, likes(v.Missing)...)
		if strings.HasPrefix(v.Missing, anyReply) { // whose key is not known
			m.State.ask(m.State.At, anyReply)
		}
	}
}

// asks notes a part of a condition that shows something which is not followed.
func (m *Machine) asks(at int, e parse.Expr) {
	m.State.ask(at, m.touched(e)...)
}

// touched returns what an expression is about: the names and the replies in it, and in what the names hold.
func (m *Machine) touched(e parse.Expr) []any {
	if m.State.knowsAll() {
		return []any{everything}
	}
	all := make([]any, 0, 16)
	if m.C.Flow.Within(e, func(e parse.Expr) bool {
		switch e := e.(type) {
		case *parse.NameExpr:
			if e.Var != nil {
				all = append(all, e.Var, AnArgument+e.Name)
			}
		case *parse.IndexExpr:
			if v, _ := m.State.Get(parse.VarOf(e.X)); v.Decoded {
				all = append(all, aField+m.C.NameOf(e))
			}
		case *parse.CallExpr:
			all = append(all, m.replies(e)...)
		}
		return false
	}) {
		return []any{everything}
	}
	return all
}

// replies returns what a call may say something about.
func (m *Machine) replies(e *parse.CallExpr) (all []any) {
	call, ok := m.C.CommandCall(e)
	library, _, _ := strings.Cut(m.C.Callee(e), ".")
	frame := m.Frames[m.C.Flow.Bodies[parse.VarOf(e.Fn)]]
	if !ok && (parse.KnownGlobal(library) || e.Method != "" || frame != nil && frame.calls == 0) { // It calls no command, and nothing that is not known.
		return nil
	}
	m.Frame.calls++
	if !ok && m.straight(m.C.Flow.Bodies[parse.VarOf(e.Fn)]) { // It says something of what it gets alone.
		for i := range e.Args {
			all = append(all, cmp.Or(m.KeyText(e.Args, i), anyReply))
		}
		return all
	}
	for _, s := range m.sources(call) {
		all = append(all, likes(s)...)
	}
	return all
}

// sources returns a text for each key that a command reads, or for each part of one, behind a line's end.
func (m *Machine) sources(call CommandCall) (all []string) {
	key, rest := m.KeyText(call.Words, 1), call.Words[min(1, len(call.Words)):]
	switch name := strings.Join(call.Names, " "); {
	case key != "" && Is(name, "parts"):
		for i := 1; i < len(rest); i++ {
			all = append(all, strings.TrimSuffix(key+"\n"+m.KeyText(rest, i), "\n"))
		}
	case name == "exists" || name == "mget":
		for i := range rest {
			all = append(all, cmp.Or(m.KeyText(rest, i), anyReply))
			if name == "exists" && all[i] != anyReply {
				all[i] = aWhole + all[i]
			}
		}
	case key != "" && (units.ByType[Shapes[name]].Per != 0 || name == "type"):
		all = []string{aWhole + key}
	default:
		all = []string{cmp.Or(key, anyReply)}
	}
	return all
}

// maybe notes in a reply what it is about, if it is nothing, or has no elements, where a key, a field or an element is missing.
func (m *Machine) maybe(call CommandCall, v Value) Value {
	sources := m.sources(call)
	if len(sources) == 0 {
		return v
	}
	for i, s := range sources {
		if s == anyReply { // A condition about this reply, or about an unknown one, may show that it is there.
			sources[i] = anyReply + fmt.Sprint(call.Expr.P)
		}
		if _, field, _ := strings.Cut(s, "\n"); call.Names[0][0] == 'h' && field != "" && (field[0] == '\'' || field[0] == 'A') {
			sources[i] += itsOwn
		}
		if slices.ContainsFunc(answers(sources[i]), func(what any) bool { return m.State.Knows(later(what.(string))) }) {
			sources[i] = ""
		}
	}
	switch {
	case v.Is&IsStatus != 0:
	case v.Elem == nil, v.Elem.Is == IsText && v.Known == 0 && m.Depth == 0: // The callers of a function may know that a list has elements.
		v.Missing = sources[0]
	case v.Elem.Is&IsFalseValue != 0:
		element := *v.Elem
		element.Missing, v.Elem = sources[0], &element
		for i := range v.Items {
			v.Items[i].Missing = sources[min(i, len(sources)-1)]
		}
	}
	return v
}

// wrote notes a call that may write, as a call of a module may: what it writes is there for the next command.
func (m *Machine) wrote(call CommandCall) {
	known := len(call.Names) > 0 && !strings.Contains(call.Names[0], ".")
	if m.Quiet > 0 || known && (!m.C.Writes(call.Expr) || Is(call.Names[0], "ending")) {
		return
	}
	for i := 1; i < len(call.Words); i++ { // such as the second key of RENAME
		if key := m.KeyText(call.Words, i); key != "" || i == 1 {
			m.State.ask(proved, later(cmp.Or(key, anyReply)))
		}
	}
}

// MayMiss reports whether a value certainly is nil or false in some cases, if its key, say, is missing, and the script has not
// asked whether it is there.
func (m *Machine) MayMiss(v Value) bool {
	return v.Is&Absent != 0 && v.Missing != "" && m.Quiet == 0 && !slices.ContainsFunc(answers(v.Missing), m.State.Knows)
}
