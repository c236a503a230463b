package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// touch is a call of a command on one key.
type touch struct {
	call      commandCall
	name, key string
	in        *parse.Block
	gives     bool // the key an expiry
}

// touches returns these calls in the order of the text, none if there are too many to compare.
func (m *machine) touches() (all []touch) {
	for _, e := range m.c.flow.calls {
		if call, ok := m.c.commandCall(e); ok && len(call.names) == 1 && len(call.words) > 1 {
			name := call.names[0]
			gives := slices.Contains(ending, name) || slices.Contains(replacing, name) && m.expires(call, name)
			all = append(all, touch{call, name, m.keyText(call.words, 1), m.c.flow.blocks[e], gives})
		}
		if len(all) > maxAsked {
			return nil
		}
	}
	return all
}

// wrongKeys finds an EXPIRE that was meant for another key, and a key without one that the script uses like another which
// has one.
func (m *machine) wrongKeys() {
	m.state = newState()
	all, given := m.touches(), map[string]bool{}
	for _, t := range all {
		given[t.key] = given[t.key] || t.gives
		given[""] = given[""] || t.gives && anyOf(t.key)
	}
	for i, t := range all {
		m.renewed(t, all[i+1:])
		left := t.key != "" && !given[t.key] && !given[""] && slices.Contains(creating, t.name)
		if left && !m.misdirected(all, i) {
			m.unlike(t, all, given)
		}
		if left && m.c.s.Raw && !strings.HasPrefix(t.name, "decr") { // which is for what is there
			m.watched(t, all)
		}
	}
}

// renewed finds a second EXPIRE of a key that changes nothing.
func (m *machine) renewed(t touch, rest []touch) {
	next := slices.IndexFunc(rest, func(u touch) bool { return u.key == t.key || u.key == "" })
	if next < 0 || t.key == "" || !slices.Contains(ending, t.name) {
		return
	}
	if u := rest[next]; u.key == t.key && u.name == t.name && sameWords(t, u) && u.in == t.in {
		m.find(u.call.expr.P, Expire, "line %d gives the same key the same expiry: name the key that is meant", t.call.expr.P.Line)
	}
}

// misdirected finds an EXPIRE of a key that was not written before, behind the write of one that never gets an expiry.
// Several in a row make keys last that others have written.
func (m *machine) misdirected(all []touch, i int) bool {
	ends := func(j int) bool { return j < len(all) && slices.Contains(ending, all[j].name) }
	if !ends(i+1) || ends(i+2) || slices.ContainsFunc(all[:i], func(t touch) bool {
		return t.key == all[i+1].key && !slices.Contains(ending, t.name) && m.writes(t.call.expr)
	}) {
		return false
	}
	m.find(all[i+1].call.expr.P, Expire, "this key was not written before, and the one that line %d writes never expires: name that one",
		all[i].call.expr.P.Line)
	return true
}

// unlike finds the write of a key that never expires where the script writes its twin, which does.
func (m *machine) unlike(t touch, all []touch, given map[string]bool) {
	twin := slices.IndexFunc(all, func(u touch) bool {
		return u.in == t.in && u.key != t.key && given[u.key] && kin(t.name) == kin(u.name) && m.twins(t, u, all)
	})
	if twin >= 0 {
		m.find(t.call.expr.P, Expire, "this key never expires, and that of line %d, which is used in the same way, does: give it "+
			"an expiry, too", all[twin].call.expr.P.Line)
	}
}

// kin returns one name for SET, SETEX, PSETEX and SETNX, and so on.
func kin(name string) string {
	return strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(name, "ex"), "nx"), "p")
}

// twins reports whether two keys get the same words, or are deleted together, or get the same commands in the same places.
func (m *machine) twins(t, u touch, all []touch) bool {
	var uses [2][]touch
	for _, one := range all {
		var keys []string
		for i := range one.call.words {
			keys = append(keys, m.keyText(one.call.words, i))
		}
		if (one.name == "del" || one.name == "unlink") && slices.Contains(keys, t.key) && slices.Contains(keys, u.key) {
			return true
		}
		for i, key := range []string{t.key, u.key} {
			if one.key == key && !slices.Contains(ending, one.name) {
				uses[i] = append(uses[i], one)
			}
		}
	}
	return len(t.call.words) > 3 && sameWords(t, u) || len(uses[0]) > 1 &&
		slices.EqualFunc(uses[0], uses[1], func(a, b touch) bool { return kin(a.name) == kin(b.name) && a.in == b.in })
}

// sameWords reports whether two calls have the same words behind their keys.
func sameWords(t, u touch) bool {
	return slices.EqualFunc(t.call.words[2:], u.call.words[2:], func(a, b parse.Expr) bool { return spelt(a) == spelt(b) })
}

// watched finds a key that never expires, of which the script asks when it does, or which only counts up to a limit.
func (m *machine) watched(t touch, all []touch) {
	limit, counts := 0, m.gave
	for _, u := range all {
		switch {
		case u.key != t.key:
		case units[shapes[u.name]].per != 0 && !m.gave:
			m.find(t.call.expr.P, Expire, "this key never expires, and line %d asks when it does: give it an expiry", u.call.expr.P.Line)
		case u.name == "get" && m.c.inCondition(u.call.expr):
			limit = u.call.expr.P.Line
		default:
			counts = counts && u.name == "incr"
		}
	}
	if counts && limit > 0 {
		m.find(t.call.expr.P, Expire, "this counter never expires, and line %d compares it with a limit: give it an expiry", limit)
	}
}
