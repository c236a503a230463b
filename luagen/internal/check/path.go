package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// path is what the ways through a script do with a key that it may create.
type path struct {
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
		sure.certain = true
		m.state.fresh[v.made] = &sure
	}
}

// counted notes what a comparison of such a reply with a number shows. If it is not 2, it may well be 1.
func (m *machine) counted(v value, op string, w value) {
	n := w.least
	if v.made == "" || !w.constant() && !w.low || v.is != isNumber {
		return
	}
	switch {
	case op == "==" && n == 1, op == "<" && n == 2, op == "<=" && n == 1, op == "~=" && (n == 0 || n == 2),
		op == ">" && n == 0, op == ">=" && n == 1:
		m.replied(v, true)
	case op == "==", op == "<" && n < 2, op == "<=" && n < 1, op == "~=" && n == 1, op == ">" && n >= 1, op == ">=" && n > 1:
		m.replied(v, false)
	}
}

// news are the commands whose reply shows whether they have created their key.
var news = []string{"incr", "lpush", "rpush", "setnx"}

// creator returns the key that a call of a command has created if its reply is 1, or true.
func (m *machine) creator(name string, words []parse.Expr) string {
	one := name == "incrby" && m.peek(words[len(words)-1]).size == 1
	if slices.Contains(news, name) && len(words) <= 3 || one || name == "set" && creates(name, words) {
		return m.keyText(words, 1)
	}
	return ""
}

// leaves notes which keys a way has created without an expiry where it ends.
func (m *machine) leaves(pos parse.Pos) {
	for key, made := range m.state.fresh {
		if p := m.pathOf(key); made.certain && !m.state.dead {
			p.lasting = made
			p.returned = append(p.returned, leaving{made, pos, slices.Clone(m.conds[min(made.depth, len(m.conds)):])})
		}
	}
}

// unending finds the keys that never expire on one way, and do on another.
func (m *machine) unending() {
	for _, p := range m.paths {
		if p.kept != "" && p.lasting != nil && !p.given {
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
	replies := func(e parse.Expr) bool {
		return e != nil && parse.Contains(e, func(e parse.Expr) bool {
			call, ok := e.(*parse.CallExpr)
			if ok {
				_, ok = m.c.words(call)
			}
			return ok
		})
	}
	return replies(cond) || slices.ContainsFunc(namesIn(cond), func(x *parse.Var) bool {
		return slices.ContainsFunc(m.c.flow.sources[x], func(s source) bool { return replies(s.expr) })
	})
}
