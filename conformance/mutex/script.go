package mutex

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/conformance/must"
)

// asks returns what a script asks of each of its mutexes.
func asks(s *engine.Script) (ins []In) {
	switch s.Name {
	case "mutex_acquire":
		in := In{In: lock.In{Op: lock.Acquire, Owner: s.Args[0], Lease: lock.Millis(s.Args[1])}}
		in.Queues = s.Args[3] != ""
		in.Number, in.Stamp = lock.Whole(s.Args[3]), lock.Whole(s.Args[4])
		return []In{in}
	case "mutex_beat":
		return []In{{
			In: lock.In{Op: beat, Lease: lock.Millis(s.Args[0])}, Stamp: lock.Whole(s.Args[2]),
			Owners: strings.Join(s.Args[5:], " "),
		}}
	case "mutex_release":
		return []In{release(s.Args[0])}
	case "mutex_force_release":
		return []In{{In: lock.In{Op: lock.Force}}}
	case "mutex_holder":
		return []In{{In: lock.In{Op: lock.IsLocked}}}
	case "object_remaining":
		return []In{{In: lock.In{Op: lock.Remaining}}}
	case "mutex_renew":
		for _, owner := range s.Args[1:] {
			ins = append(ins, In{In: lock.In{Op: lock.Renew, Owner: owner, Lease: lock.Millis(s.Args[0])}})
		}
	case "mutex_release_all":
		for _, owner := range s.Args[2 : 2+len(s.Keys)/4] {
			ins = append(ins, release(owner))
		}
	}
	return ins
}

// answers returns what a script answers for each of its mutexes.
func answers(s *engine.Script) (outs []Out, err error) {
	if s.Err != nil {
		return nil, s.Err
	}
	var out Out
	switch s.Name {
	case "mutex_acquire":
		out = acquired(s)
	case "mutex_beat":
		out = beaten(s)
	case "mutex_renew", "mutex_release_all":
		for _, status := range lock.Statuses(s.Reply) {
			outs = append(outs, Out{Out: status})
		}
		return outs, nil
	case "mutex_holder":
		if !s.Reply.IsNil() {
			out.Owner = must.Get(s.Reply.Text())
		}
	case "object_remaining":
		out.Left = must.Get(s.Reply.Duration(time.Millisecond))
	default:
		n := must.Get(s.Reply.Int())
		must.If(s.Name == "mutex_release" && (n < 0 || n > 1), "so many dead waiters there are not")
		out.Done = n == 1
	}
	return []Out{out}, nil
}

// acquired reads the answer to an acquire: a token, or how long the holder's lease still runs, and the place.
func acquired(s *engine.Script) (out Out) {
	text := must.Get(s.Reply.Text())
	left, place, refused := strings.Cut(text, " ")
	if !refused {
		out.Owner, out.Token = s.Args[0], number(text)
		return out
	}
	out.Left, out.Place = time.Duration(number(left))*time.Millisecond, number(place)
	return out
}

// beaten reads the answer to a beat.
func beaten(s *engine.Script) (out Out) {
	items := must.Get(s.Reply.Tuple(4))
	out.Left, out.Rank = must.Get(items[0].Duration(time.Millisecond)), must.Get(items[1].Int())
	if !items[2].IsNil() {
		out.Token = number(must.Get(items[2].Text()))
	}
	var words []string
	for _, item := range must.Get(items[3].Items()) {
		words = append(words, fmt.Sprint(must.Get(item.Int())))
	}
	out.Status = strings.Join(words, " ")
	return out
}

// number reads a number that is a text.
func number(text string) int64 { return must.Get(strconv.ParseInt(text, 10, 64)) }

// told is what of an answer a caller gets: nothing remains of a free mutex, and who holds it is not told.
func told(out Out) Out {
	if out.Owner != "" && out.Token == 0 {
		out.Owner, out.Done = "", true
	}
	if out.Left == -2*time.Millisecond {
		out.Left = 0
	}
	return out
}

// signs are the owners that something shows to live.
func signs(in In) (owners []string, stamp int64) {
	switch {
	case in.Op == beat:
		return strings.Fields(in.Owners), in.Stamp
	case in.Op == lock.Acquire && in.Queues:
		return []string{in.Owner}, in.Stamp
	}
	return nil, 0
}

// found is the owner that holds the mutex by the answer to a beat.
func found(in In, out Out) (owner string, token int64) {
	all := strings.Fields(in.Owners)
	for i, status := range strings.Fields(out.Status) {
		if status == holds && i < len(all) {
			return all[i], out.Token
		}
	}
	return "", 0
}

// groupOf is the group of an owner.
func groupOf(owner string) string { return owner[:max(0, strings.LastIndex(owner, ":"))] }

// grant is one by another's script.
type grant engine.Grant

// message is what is published of it.
func (g grant) message() string { return fmt.Sprint(g.Owner, " ", g.Token, " ", g.Stamp) }

// read reads a message.
func read(text string) (g grant, ok bool) {
	words := strings.Fields(text)
	if len(words) != 3 {
		return g, false
	}
	g = grant{Owner: words[0], Token: lock.Whole(words[1]), Stamp: lock.Whole(words[2])}
	return g, g.message() == text
}
