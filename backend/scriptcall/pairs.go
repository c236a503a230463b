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
	words, err := pairs(reply)
	t.err = err
	for i := 0; i < len(words); i += 2 {
		name, _ := words[i].Text()
		if place := slices.Index(names, name); place >= 0 {
			t.items[place] = words[i+1]
		}
	}
	return t
}

// pairs returns the elements of an array, of which each two belong together.
func pairs(reply backend.Reply) ([]backend.Reply, error) {
	items, err := reply.Items()
	if len(items)%2 != 0 {
		return nil, fmt.Errorf("%w: want pairs, got %d elements", backend.ErrReply, len(items))
	}
	return items, err
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

// Scored is an element of a sorted set.
type Scored struct {
	Member string
	Score  float64
}

// Scores decodes elements, each with its score, as commands reply with the word WITHSCORES, and ZPOPMIN does.
func Scores(reply backend.Reply) ([]Scored, error) {
	words, err := pairs(reply)
	all := make([]Scored, len(words)/2)
	for i := range all {
		if err == nil {
			all[i].Member, err = words[2*i].Text()
		}
		if err == nil {
			all[i].Score, err = words[2*i+1].Float()
		}
	}
	return all, err
}
