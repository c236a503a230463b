package flow

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// FormOf matches the words of a call with the form of its command: it has that of one server, for a raw script, or of
// all that are meant.
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
		if match = m.matched(call, cmd); (match.As != nil) == m.C.S.Raw {
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

// maxOpen is the most words that are tried in the place of an expression with any number of values.
const maxOpen = 8

// matched looks for a match of a call's words, which has none if it finds none.
func (m *Machine) matched(call CommandCall, cmd *Command) *Matching {
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
		match := &Matching{Cmd: cmd, Words: words}
		match.fits = func(i int, f Form) bool { return m.fits(match, i, f) }
		if match.match(parts, from) {
			return match
		}
		best.Furthest = max(best.Furthest, match.Furthest)
		if n < last {
			words = append(slices.Clone(words), call.Words[len(call.Words)-1])
		}
	}
	return best
}

// fits reports whether a word of a call may stand in a place. Only a word that is not known to be a number may be a
// token at run time, and only if there is no such token before it: the caller chooses all of them.
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
		} else if f.Number && worded(e) {
			return false
		}
	}
	_, behind := m.C.Origin(match.Words[i-1]).(*parse.StringExpr)
	return !f.IsToken() || !m.Peek(match.Words[i]).numeric() && !(behind && match.As[i-1].IsToken())
}

// worded reports whether texts are joined that are no number, as one of them has other letters.
func worded(e parse.Expr) bool {
	b, ok := Unparen(e).(*parse.BinaryExpr)
	part, literal := Unparen(e).(*parse.StringExpr)
	return ok && b.Op == ".." && (worded(b.L) || worded(b.R)) || literal && text(strings.TrimLeft(part.Value, "(#")).Word
}
