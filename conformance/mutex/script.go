package mutex

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
)

// asks returns what a script asks of each of its mutexes.
func asks(s *engine.Script) (ins []In) {
	switch s.Name {
	case "mutex_acquire":
		in := In{In: lock.In{Op: lock.Acquire, Owner: s.Args[0], Lease: lock.Millis(s.Args[1])}}
		in.Queues = s.Args[3] != ""
		in.Number, in.Stamp = whole(s.Args[3]), whole(s.Args[4])
		return []In{in}
	case "mutex_beat":
		return []In{{
			In: lock.In{Op: beat, Lease: lock.Millis(s.Args[0])}, Stamp: whole(s.Args[2]),
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

// whole returns the number that a text is; 0 if it is none.
func whole(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// answers returns what a script answers for each of its mutexes.
func answers(s *engine.Script) ([]Out, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	var out Out
	var err error
	switch s.Name {
	case "mutex_acquire":
		out, err = acquired(s)
	case "mutex_beat":
		out, err = beaten(s)
	case "mutex_renew", "mutex_release_all":
		return statuses(s)
	case "mutex_holder":
		if !s.Reply.IsNil() {
			out.Owner, err = s.Reply.Text()
		}
	case "object_remaining":
		out.Left, err = s.Reply.Duration(time.Millisecond)
	case "mutex_release":
		out.Done, err = freed(s)
	default:
		var n int64
		n, err = s.Reply.Int()
		out.Done = n == 1
	}
	return []Out{out}, err
}

// acquired reads the answer to an acquire: a token, or how long the holder's lease still runs, and the place.
func acquired(s *engine.Script) (out Out, err error) {
	text, err := s.Reply.Text()
	if err != nil {
		return out, err
	}
	left, place, refused := strings.Cut(text, " ")
	if !refused {
		out.Owner = s.Args[0]
		out.Token, err = number(text, nil)
		return out, err
	}
	millis, leftErr := number(left, nil)
	out.Left = time.Duration(millis) * time.Millisecond
	out.Place, err = number(place, nil)
	return out, errors.Join(leftErr, err)
}

// beaten reads the answer to a beat.
func beaten(s *engine.Script) (out Out, err error) {
	items, err := s.Reply.Tuple(4)
	if err != nil {
		return out, err
	}
	left, leftErr := items[0].Duration(time.Millisecond)
	rank, rankErr := items[1].Int()
	out.Left, out.Rank = left, rank
	var tokenErr error
	if !items[2].IsNil() {
		out.Token, tokenErr = number(items[2].Text())
	}
	each, eachErr := items[3].Items()
	var words []string
	for _, item := range each {
		n, intErr := item.Int()
		words, eachErr = append(words, fmt.Sprint(n)), errors.Join(eachErr, intErr)
	}
	out.Status = strings.Join(words, " ")
	return out, errors.Join(leftErr, rankErr, tokenErr, eachErr)
}

// freed reads the answer to a release.
func freed(s *engine.Script) (done bool, err error) {
	n, err := s.Reply.Int()
	if n < 0 || n > 1 {
		err = errors.Join(err, errors.New("so many dead waiters there are not"))
	}
	return n == 1, err
}

// statuses reads one status for each mutex.
func statuses(s *engine.Script) (outs []Out, err error) {
	items, err := s.Reply.Items()
	for _, item := range items {
		n, intErr := item.Int()
		if n < -1 || n > 1 {
			intErr = fmt.Errorf("status %d", n)
		}
		outs = append(outs, Out{Out: lock.Out{Done: n == 1, Other: n == -1}})
		err = errors.Join(err, intErr)
	}
	return outs, err
}

// number reads a number that is a text.
func number(text string, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

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
	g = grant{Owner: words[0], Token: whole(words[1]), Stamp: whole(words[2])}
	return g, g.message() == text
}
