package mutex

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
)

// What a beat says of an owner.
const (
	noPlace = "0"
	waits   = "1"
	holds   = "2"
)

// keep is what of a mutex outlives its key.
func keep(h Held) Held {
	h.Owner, h.Sign = "", own
	return h
}

// passedOn is the grant that a holder has by another's script.
func passedOn(s state) (g grant, ok bool) {
	if s.Kind != engine.Present || s.V.Sign == own {
		return g, false
	}
	return grant{Owner: s.V.Owner, Token: s.V.Token, Stamp: s.V.Sign}, true
}

// step is the model. In a history, without times, nobody is known to wait.
func step(s state, at time.Time, in In, out Out) (state, bool) {
	held := s.Kind == engine.Present
	mine := held && s.V.Owner == in.Owner
	switch {
	case in.Op == lock.Remaining:
		return s, s.Remains(at, out.Left)
	case out.Other, s.Kind == engine.Other:
		return s, out.Other && s.Kind == engine.Other
	case in.Op == lock.Acquire && out.Token > 0:
		return granted(s, at, in, out)
	case in.Op == lock.Acquire && at.IsZero():
		return s, true
	case in.Op == lock.Acquire:
		return refused(s, at, in, out)
	case in.Op == beat:
		return shown(s, at, in, out)
	case in.Op == lock.Renew && mine:
		return s.Until(at.Add(in.Lease)), out.Done
	case in.Op == lock.Renew:
		return s, !out.Done
	case in.Op == lock.Release:
		return freedBy(s, at, in.Owner), out.Done == mine
	case in.Op == lock.Force:
		return pass(s, at), out.Done == held
	}
	return s, held && out.Owner == s.V.Owner || !held && out.Owner == "" // Who holds it.
}

// tokenFits reports whether a token may be that of a grant at a moment.
func tokenFits(last int64, at time.Time, token int64) bool {
	return at.IsZero() && token > last || token == max(last+1, at.UnixMicro())
}

// granted is the model of an acquire that is granted: nobody who lives waits before it, or its owner has been
// granted the mutex by another.
func granted(s state, at time.Time, in In, out Out) (state, bool) {
	if s.Kind == engine.Present {
		return raised(s, at, in.Lease), s.V.Owner == in.Owner && out.Token == s.V.Token
	}
	first, ok, dead := s.V.survey()
	before := ok && first.owner != in.Owner && !in.comesBackBefore(first)
	fits := !before && tokenFits(s.V.Token, at, out.Token)
	s.V = s.V.without(dead...)
	if first.owner == in.Owner {
		s.V = s.V.without(in.Owner)
	}
	s = s.Is(s.V)
	s.V.Owner, s.V.Token, s.V.Sign = out.Owner, out.Token, own
	return s.Until(at.Add(in.Lease)), fits
}

// comesBackBefore reports whether an acquire asks for a place before that of a waiter.
func (in In) comesBackBefore(w waiter) bool {
	return in.Queues && in.Number > 0 && in.Number < w.number
}

// refused is the model of an acquire that is refused: somebody else has the mutex, or is granted it.
func refused(s state, at time.Time, in In, out Out) (state, bool) {
	if s.Kind == engine.Absent {
		first, ok, _ := s.V.survey()
		if !ok || first.owner == in.Owner || in.comesBackBefore(first) {
			return s, false
		}
		s = pass(s, at)
	}
	ok := s.V.Owner != in.Owner && s.Remains(at, out.Left)
	if !in.Queues {
		return s, ok && out.Place == 0
	}
	ok = ok && s.V.placeFits(at, in, out.Place)
	s.V = s.V.enqueue(at, in, out.Place)
	return s, ok
}

// placeFits reports whether an owner may get a place: that which it had, or one behind all others.
func (h Held) placeFits(at time.Time, in In, place int64) bool {
	if in.Number > 0 {
		return place == in.Number
	}
	return place == max(h.last()+1, at.UnixMicro())
}

// raised makes a hold last for so long, unless it lasts longer.
func raised(s state, at time.Time, lease time.Duration) state {
	if ends := at.Add(lease); s.Ends.Before(ends) {
		return s.Until(ends)
	}
	return s
}

// pass grants a free mutex, or one that is being freed, to the first who lives, from the last sign of its life
// on. If there is nobody it is free.
func pass(s state, at time.Time) state {
	first, ok, dead := s.V.survey()
	s.V = s.V.without(dead...)
	if !ok {
		return s.Gone(keep)
	}
	s.V = s.V.without(first.owner)
	token := max(s.V.Token+1, at.UnixMicro())
	s = s.Is(s.V)
	s.V.Owner, s.V.Token, s.V.Sign = first.owner, token, first.stamp
	return s.Until(at.Add(time.Duration(first.worth()-first.age(at)) * time.Millisecond))
}

// freedBy is a mutex after a release by an owner: it leaves, and the mutex goes to the next if nobody else has it.
func freedBy(s state, at time.Time, owner string) state {
	held := s.Kind == engine.Present
	if !held || s.V.Owner != owner {
		s.V = s.V.without(owner)
	}
	if held && s.V.Owner != owner {
		return s
	}
	return pass(s, at)
}

// shown is the model of a beat.
func shown(s state, at time.Time, in In, out Out) (state, bool) {
	var alive []string
	owners := strings.Fields(in.Owners)
	for _, owner := range owners {
		if _, ok := s.V.find(owner); ok {
			alive = append(alive, owner)
		}
	}
	if len(alive) > 0 {
		s.V = s.V.show(at, in.Stamp, alive...)
		s.V.Ends = at.Add(queueLife).UnixMicro()
	}
	if s.Kind == engine.Absent {
		s = pass(s, at)
	}
	if s.Kind == engine.Present && slices.Contains(owners, s.V.Owner) {
		s = raised(s, at, in.Lease)
	}
	rank, token, status := says(s, owners, alive)
	return s, s.Remains(at, out.Left) && out.Rank == rank && out.Token == token && out.Status == status
}

// says is what a beat says of owners, of whom some had a place.
func says(s state, owners, alive []string) (rank, token int64, status string) {
	rank = -1
	words := make([]string, len(owners))
	for i, owner := range owners {
		switch {
		case s.Kind == engine.Present && s.V.Owner == owner:
			words[i], token = holds, s.V.Token
		case !slices.Contains(alive, owner):
			words[i] = noPlace
		default:
			if words[i] = waits; rank < 0 {
				rank = s.V.rank(owner)
			}
		}
	}
	return rank, token, strings.Join(words, " ")
}

// ends is when a key ends; zero: there is none.
func ends(micros int64) (at time.Time) {
	if micros == 0 {
		return at
	}
	return time.UnixMicro(micros)
}

// stored are the keys of a mutex.
func stored(name string, s state) []engine.Key {
	key := keyOf(name)
	own, last := engine.Key{Name: key}, engine.Key{
		Name: key + ":token", Life: lock.TokenLife, After: time.UnixMicro(s.V.Token),
	}
	if s.Kind == engine.Present {
		own.Text = s.V.Owner
	}
	if s.V.Token > 0 {
		last.Text = strconv.FormatInt(s.V.Token, 10)
	}
	queue := engine.Key{Name: key + ":queue", Set: map[string]int64{}, Ends: ends(s.V.Ends)}
	signs := engine.Key{Name: key + ":signs", Fields: map[string]string{}, Ends: ends(s.V.Shown)}
	for _, w := range s.V.Queue.All() {
		queue.Set[w.owner] = w.number
		if w.signed() {
			signs.Fields[w.owner] = fmt.Sprint(w.sign, " ", w.stamp)
		}
	}
	return []engine.Key{own, last, queue, signs}
}

// byPeer lets another program hold the mutex, or end its hold: by a release as ours, or without any.
func byPeer(d engine.Dice[Held]) (c engine.Change[Held], ok bool) {
	held := d.Now.Kind == engine.Present
	switch {
	case held && d.Flag && d.Now.V.Owner != lock.PeerOwner:
		return c, false
	case held && d.Flag && d.Which == 0:
		c.Next = d.Now.Gone(keep)
	case held && d.Flag:
		d.Now.V.Ends -= d.Now.V.Ends % 1000 // What is written again has whole milliseconds.
		d.Now.V.Shown -= d.Now.V.Shown % 1000
		c.Next = pass(d.Now, d.At)
		if g, passed := passedOn(c.Next); passed {
			c.Message, c.Life = g.message(), c.Next.Ends.Sub(d.At)
		}
	default:
		c.Next = d.Now
		c.Next.V.Owner, c.Next.V.Sign, c.Next.Ends = lock.PeerOwner, own, time.Time{}
		if c.Next.Kind = engine.Present; d.Which < 4 {
			c.Life = d.For.Truncate(time.Millisecond) + time.Millisecond
		}
	}
	return c, true
}
