package flow

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Form is a part of the form of a command's arguments.
type Form struct {
	Word   string   // a token in capital letters, or the name of a value; "" for a group
	Number bool     // the value is one
	alts   [][]Form // of a group: its choices

	optional, many bool
}

var formParts = regexp.MustCompile(`\.\.\.|[][()|,]|[^][()|,.]+`)

// readForm reads the choices of a form as a table has it: key,value,[NX|XX],[EX,seconds#|PX,milliseconds#].
func readForm(parts []string) (alts [][]Form, rest []string) {
	alts = [][]Form{nil}
	for len(parts) > 0 {
		var f Form
		part, last := parts[0], &alts[len(alts)-1]
		parts = parts[1:]
		switch part {
		case "]", ")":
			return alts, parts
		case "|":
			alts = append(alts, nil)
			continue
		case "...":
			if len(*last) > 0 {
				(*last)[len(*last)-1].many = true
			}
			continue
		case ",":
			continue
		case "[", "(":
			f.optional = part == "["
			f.alts, parts = readForm(parts)
		default:
			f.Word, f.Number = strings.CutSuffix(part, "#")
		}
		*last = append(*last, f)
	}
	return alts, nil
}

// IsToken reports whether a word of a form stands in a call as it is.
func (f Form) IsToken() bool { return f.Word != "" && strings.ToUpper(f.Word) == f.Word }

// movable reports whether a part may stand in any order with its like: all of its choices begin with a token.
func (f Form) movable() bool {
	return len(f.alts) > 0 && !slices.ContainsFunc(f.alts, func(alt []Form) bool {
		return len(alt) == 0 || !alt[0].IsToken() && !alt[0].movable()
	})
}

// Matching finds out whether the words of a call have a form, which is given by its parts.
type Matching struct {
	Cmd      *Command
	Words    []parse.Expr
	fits     func(i int, f Form) bool // whether a word may stand in a place
	As       []Form                   // the places that the words have, if they match
	Furthest int                      // the first word that fits nowhere
	steps    int
}

func (m *Matching) sequence(s []Form, i int, next func(int) bool) bool {
	if len(s) == 0 {
		return next(i)
	}
	moved := 0
	for moved < len(s) && s[moved].movable() {
		moved++
	}
	for k := range moved {
		rest := append(append([]Form{}, s[:k]...), s[k+1:]...)
		if m.part(s[k], i, func(j int) bool { return j > i && m.sequence(rest, j, next) }) {
			return true
		}
	}
	if moved == 0 {
		return m.part(s[0], i, func(j int) bool { return m.sequence(s[1:], j, next) })
	}
	needed := slices.ContainsFunc(s[:moved], func(f Form) bool { return !f.optional })
	return !needed && m.sequence(s[moved:], i, next)
}

// part matches one part from a word on, and goes on with next.
func (m *Matching) part(f Form, i int, next func(int) bool) bool {
	m.steps++
	again := next
	if f.many {
		more := f
		more.optional = false
		again = func(j int) bool { return j > i && m.part(more, j, next) || next(j) }
	}
	switch {
	case m.steps > maxSteps:
		return true
	case f.alts == nil && i < len(m.Words) && m.fits(i, f):
		m.As[i] = f
		return again(i + 1)
	case f.alts == nil:
		m.Furthest = max(m.Furthest, i)
		return false
	}
	for _, alt := range f.alts {
		if m.sequence(alt, i, again) {
			return true
		}
	}
	return f.optional && next(i)
}

// tokens are words of a call that stand in the form of its command.
type tokens []string

func (t tokens) Has(some ...string) bool {
	return slices.ContainsFunc(some, func(token string) bool { return slices.Contains(t, token) })
}

// Options returns the tokens of a call, in small letters, and whether the words match and all tokens are written out.
func (m *Matching) Options() (all tokens, written bool) {
	written = m.As != nil
	for i, f := range m.As {
		switch token, literal := m.Words[i].(*parse.StringExpr); {
		case f.IsToken() && literal:
			all = append(all, strings.ToLower(token.Value))
		case f.IsToken():
			written = false
		}
	}
	return all, written
}

// isNumeral reports whether the server may take a text for a number, or for the bound of a range.
func isNumeral(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimLeft(text, "(#"), 64)
	return err == nil
}

// FormOf matches the words of a call with the form of its command on one server, for a raw script, or on all that are meant.
func (m *Machine) FormOf(call CommandCall, name string) *Matching {
	if known := m.forms[call.Expr]; known != nil {
		return known
	}
	targets := m.C.Targets
	if m.C.S.Raw {
		targets = slices.Concat(targets, m.C.Tables.all)
	}
	match := &Matching{}
	for _, t := range targets {
		cmd := t.Of(call, name)
		if cmd == nil || cmd.Form == "" {
			continue
		}
		if match = m.Matched(call, cmd); (match.As != nil) == m.C.S.Raw {
			break
		}
	}
	m.forms[call.Expr] = match
	return match
}

// Of returns what a server knows of a command, or of a subcommand, that a call may be.
func (t *Table) Of(call CommandCall, name string) *Command {
	cmd := t.Commands[name]
	if cmd != nil && cmd.Subs {
		sub, _ := Subcommand(call)
		cmd = t.Commands[name+"|"+sub]
	}
	if cmd == nil || cmd.Noscript || cmd.Refuses(call) {
		return nil
	}
	return cmd
}

// Matched looks for a match of a call's words, which has none if it finds none.
func (m *Machine) Matched(call CommandCall, cmd *Command) *Matching {
	words, from, last := call.Words, 1+strings.Count(cmd.Name, "|"), 0
	if call.Open {
		last = maxOpen
		words = words[:len(words)-1]
	}
	parts := recalled(m.C.formsOf, cmd.Form, func() []Form {
		alts, _ := readForm(formParts.FindAllString(cmd.Form, -1))
		return alts[0]
	})
	best := &Matching{Cmd: cmd}
	for n := range last + 1 {
		match := &Matching{Cmd: cmd, Words: words, As: make([]Form, len(words))}
		match.fits = func(i int, f Form) bool { return m.fits(match, i, f) }
		if match.sequence(parts, from, func(i int) bool {
			match.Furthest = max(match.Furthest, i)
			return i == len(words)
		}) {
			return match
		}
		best.Furthest = max(best.Furthest, match.Furthest)
		if n < last {
			words = append(slices.Clone(words), call.Words[len(call.Words)-1])
		}
	}
	return best
}

// fits reports whether a word of a call may stand in a place. What is not known to be a number may be a token at run time.
func (m *Machine) fits(match *Matching, i int, f Form) bool {
	if f.Number && m.C.Keyed[m.C.Nth(match.Words[i], "KEYS")] {
		return false
	}
	switch e := m.C.Origin(match.Words[i]).(type) {
	case *parse.StringExpr:
		tokens := strings.FieldsFunc(match.Cmd.Form, func(r rune) bool { return r < 'A' || r > 'Z' })
		value := match.Cmd.Writes && i == len(match.Words)-1 && i < 4 // SET key 'GET' may mean the text
		lost := len(e.Value) > 1 && !value && (slices.Contains(tokens, e.Value) || i > 3 && match.Cmd.Name == "set" && slices.Contains(tokens, strings.ToUpper(e.Value)))
		return !f.IsToken() && !lost && (!f.Number || isNumeral(e.Value) && !(strings.HasPrefix(f.Word, "st") && strings.Contains(e.Value, "inf"))) ||
			f.IsToken() && strings.EqualFold(e.Value, f.Word)
	case *parse.NumberExpr:
		return !f.IsToken()
	case *parse.BinaryExpr:
		if first, literal := m.C.Origin(e.L).(*parse.StringExpr); literal && e.Op == ".." && f.IsToken() {
			return strings.HasPrefix(f.Word, strings.ToUpper(first.Value))
		}
	}
	_, behind := m.C.Origin(match.Words[i-1]).(*parse.StringExpr)
	v := m.Peek(match.Words[i])
	number := v.Surely(IsNumber) || v.Surely(IsText) && (v.Whole || v.Frac)
	return !f.IsToken() || !number && !(behind && match.As[i-1].IsToken())
}
