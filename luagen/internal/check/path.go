package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// path is what the ways through a script do with a key that it may create.
type path struct {
	inside   int          // how many calls in functions give it one
	given    bool         // some way gives the key an expiry after creating it,
	kept     string       // the command by which one does where the key was there before
	words    []parse.Expr // the words of all such commands
	lasting  *creation    // the creation that a way ends with
	returned []leaving
}

// leaving is a return from a script that has just created a key.
type leaving struct {
	made  *creation
	pos   parse.Pos
	conds []parse.Expr // the conditions since then
}

// pathOf returns that of a key.
func (m *machine) pathOf(key string) *path {
	if m.paths[key] == nil {
		m.paths[key] = &path{}
	}
	return m.paths[key]
}

// replied notes what the reply of a command shows of the key that the command may have created.
func (m *machine) replied(v value, created bool) {
	made := m.state.fresh[v.made]
	switch {
	case v.made == "":
	case !created:
		delete(m.state.fresh, v.made)
		m.state.sure[before+v.made] = true
	case made != nil:
		sure := *made
		sure.certain, sure.likely = true, false
		m.state.fresh[v.made] = &sure
	}
}

// counted notes what a comparison of such a reply with a number shows. If it is not 2, or not more than a limit, it may
// well be 1.
func (m *machine) counted(v value, op string, w value) {
	n, constant := w.least, w.constant() || w.low
	m.existed(v, op, n, constant)
	made := m.state.fresh[v.made]
	if v.made == "" || v.is != isNumber {
		return
	}
	switch {
	case !constant && strings.HasPrefix(op, ">"):
		m.replied(v, false)
	case !constant && strings.HasPrefix(op, "<"), op == "~=" && n > 1, op == "<" && n > 1, op == "<=" && n > 0:
		if made != nil && !made.certain && !made.looked {
			m.replied(v, true)
			m.state.fresh[v.made].likely = true
		}
	case !constant:
	case op == "==" && n == 1, op == "~=" && n == 0, op == ">" && n == 0, op == ">=" && n == 1:
		m.replied(v, true)
	case op == "==", op == "<" && n < 2, op == "<=" && n < 1, op == "~=" && n == 1, op == ">" && n >= 1, op == ">=" && n > 1:
		m.replied(v, false)
	}
}

// existed notes what a comparison of the reply of EXISTS shows.
func (m *machine) existed(v value, op string, n float64, constant bool) {
	switch {
	case v.there == "" || !constant || m.state.sure[exists+v.there]:
	case op == "==" && n == 0, op == "~=" && n == 1, op == "<" && n == 1, op == "<=" && n == 0:
		m.state.sure[gone+v.there] = true
	case op == "==" && n == 1, op == "~=" && n == 0, op == ">" && n == 0, op == ">=" && n == 1:
		m.state.sure[before+v.there] = true
	}
}

// news are the commands whose reply shows whether they have created their key.
var news = []string{"incr", "lpush", "rpush", "setnx"}

// creator returns the key that a call of a command has created if its reply is 1, or true.
func (m *machine) creator(call commandCall, name string) string {
	words := call.words
	one := name == "incrby" && m.peek(words[len(words)-1]).size == 1
	if slices.Contains(news, name) && len(words) <= 3 || one || name == "set" && m.creates(call, name) {
		return m.keyText(words, 1)
	}
	return ""
}

// leaves notes which keys a way has created without an expiry where it ends.
func (m *machine) leaves(pos parse.Pos) {
	for key, made := range m.state.fresh {
		p := m.pathOf(key)
		if !made.certain || m.state.dead {
			continue
		}
		if p.lasting = made; m.depth == 0 && !made.likely {
			p.returned = append(p.returned, leaving{made, pos, slices.Clone(m.conds[min(made.depth, len(m.conds)):])})
		}
	}
}

// unending finds the keys that never expire on one way, and do on another.
func (m *machine) unending() {
	for _, p := range m.paths {
		if p.kept != "" && p.lasting != nil && !p.given && (!p.lasting.inside || p.inside == m.ended) {
			m.c.find(p.lasting.pos, Expire, "the key that this creates never expires, for %s is called only if it was "+
				"there before: call it if it was not", strings.ToUpper(p.kept))
		}
		for _, l := range p.returned {
			about := func(cond parse.Expr) bool {
				return slices.ContainsFunc(p.words, func(word parse.Expr) bool { return mentions(word, namesIn(cond)...) })
			}
			if p.given && len(l.conds) > 0 && m.decides(l.conds[len(l.conds)-1]) && !slices.ContainsFunc(l.conds, about) {
				m.c.find(l.pos, Expire, "the key that line %d creates never expires if the script returns here: give it "+
					"an expiry first", l.made.pos.Line)
			}
		}
	}
}

// decides reports whether the reply of a command is in a condition: then no caller chooses that it is true.
func (m *machine) decides(cond parse.Expr) bool {
	return m.c.flow.within(cond, func(e parse.Expr) bool {
		call, ok := e.(*parse.CallExpr)
		if ok {
			_, ok = m.c.words(call)
		}
		return ok
	})
}
