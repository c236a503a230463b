package scriptcall

import (
	"fmt"
	"slices"

	"github.com/hasp-go/hasp/backend"
)

// Fields returns the values of fields of a hash, whose reply has the name and the value of each field, as HGETALL
// replies. Those of missing fields are nil.
func Fields(reply backend.Reply, names ...string) Tuple {
	t := Tuple{items: make([]backend.Reply, len(names))}
	var words []backend.Reply
	if words, t.err = reply.Items(); len(words)%2 != 0 {
		t.err = fmt.Errorf("%w: %d names and values of fields", backend.ErrReply, len(words))
		return t
	}
	for i := 0; i < len(words); i += 2 {
		name, _ := words[i].Text()
		if place := slices.Index(names, name); place >= 0 {
			t.items[place] = words[i+1]
		}
	}
	return t
}

// Listed returns the values of n fields, as HMGET replies.
func Listed(reply backend.Reply, n int) Tuple { return Result{reply: reply}.Tuple(n) }

// OrNone returns t, or, if no field has a value, a Tuple whose results are missing: there is no hash.
func (t Tuple) OrNone() Tuple {
	if t.err == nil && !slices.ContainsFunc(t.items, func(r backend.Reply) bool { return !r.IsNil() }) {
		t.err = errNone
	}
	return t
}
