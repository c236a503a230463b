package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// field finds a field that the key of a call is declared without.
func (m *machine) field(match *matching, e parse.Expr, f form) {
	name, literal := m.c.origin(e).(*parse.StringExpr)
	if !literal || f.word != "field" {
		return
	}
	if key := m.c.declaredKey(match.words[1]); key != nil && key.Fields != nil {
		if _, msg := key.Field(name.Value); msg != "" {
			m.find(e.Pos(), Field, "%s", msg)
		}
	} else {
		cmd := match.cmd
		writes := cmd.writes && cmd.name != "hdel"
		m.fieldUsed(m.keyText(match.words, 1), name, !writes || cmd.name != "hset" && cmd.name != "hmset", writes)
	}
}

// hash finds a reply that is not what a result with the fields of a hash is read from.
func (m *machine) hash(r *parse.Result, v value, pos parse.Pos) {
	h := r.Type.Hash
	call, _ := m.c.commandCall(v.from)
	shown := strings.ToUpper(call.names[0])
	want := "HGETALL"
	if h.Listed {
		want = "HMGET"
	}
	switch key := m.c.declaredKey(call.words[1]); {
	case r.Type.List:
		m.find(pos, Result, "this is one hash, and %s", declares(r))
	case shown != want:
		m.find(pos, Result, "this is the reply of %s, and %s: write %s for HGETALL, and %s(a,b) for HMGET",
			shown, declares(r), h.Key.Name, h.Key.Name)
	case key != nil && key != h.Key:
		m.find(pos, Result, "this is the hash %s, and %s", key.Name, declares(r))
	case h.Listed && m.otherFields(call, h.Names()):
		m.find(pos, Result, "these are other fields, or in another order, than %s is declared: %s", r.Name, typeText(r.Type))
	}
}

// otherFields reports whether HMGET certainly replies with other fields than those.
func (m *machine) otherFields(call commandCall, names []string) bool {
	if len(call.words)-2 != len(names) {
		return !call.open
	}
	return slices.ContainsFunc(names, func(name string) bool {
		literal, ok := m.c.origin(call.words[2+slices.Index(names, name)]).(*parse.StringExpr)
		return ok && literal.Value != name && slices.Contains(names, literal.Value)
	})
}
