package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// hash finds a reply that is not what a result with the fields of a hash is read from.
func (j *judge) hash(r *parse.Result, v flow.Value, pos parse.Pos) {
	h := r.Type.Hash
	call, _ := j.C.CommandCall(v.From)
	shown := strings.ToUpper(call.Names[0])
	want := "HGETALL"
	if h.Listed {
		want = "HMGET"
	}
	switch key := j.C.DeclaredKey(call.Words[1]); {
	case r.Type.List:
		j.find(pos, Result, "this is one hash, and %s", declares(r))
	case shown != want:
		j.find(pos, Result, "this is the reply of %s, and %s: write %s for HGETALL, and %s(a,b) for HMGET",
			shown, declares(r), h.Key.Name, h.Key.Name)
	case key != nil && key != h.Key:
		j.find(pos, Result, "this is the hash %s, and %s", key.Name, declares(r))
	case h.Listed && j.otherFields(call, h.Names()):
		j.find(pos, Result, "these are other fields, or in another order, than %s is declared: %s", r.Name, typeText(r.Type))
	}
}

// otherFields reports whether HMGET certainly replies with other fields than those.
func (j *judge) otherFields(call flow.CommandCall, names []string) bool {
	if len(call.Words)-2 != len(names) {
		return !call.Open
	}
	return slices.ContainsFunc(names, func(name string) bool {
		literal, ok := j.C.Origin(call.Words[2+slices.Index(names, name)]).(*parse.StringExpr)
		return ok && literal.Value != name && slices.Contains(names, literal.Value)
	})
}
