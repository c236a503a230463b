package readwrite

import (
	"cmp"
	"slices"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
)

// Held is a read-write lock at one time.
type Held struct {
	Writer  string              // the owner; "": none
	Token   int64               // of the last writer
	Readers engine.List[reader] // the readers that have a field, by their names
	Waiting engine.List[string] // the writers that have a place, by their names
	Places  int64               // until when, by the server's clock in nanoseconds
}

// reader has a lease of its own, until a time of the server's clock in nanoseconds.
type reader struct {
	owner string
	ends  int64
	ended bool // the lease, but for less than a millisecond; its field is still there
}

// with returns h with other readers.
func (h Held) with(all []reader) Held {
	slices.SortFunc(all, func(a, b reader) int { return cmp.Compare(a.owner, b.owner) })
	h.Readers = engine.ListOf(all...)
	return h
}

// until returns h with a reader whose lease ends at ends.
func (h Held) until(owner string, ends time.Time) Held {
	others := h.Readers.Without(func(r reader) bool { return r.owner == owner })
	return h.with(append(others.All(), reader{owner, ends.UnixNano(), false}))
}

// running returns the readers whose leases have not ended, in the order in which they will.
func (h Held) running() []reader {
	all := h.Readers.Without(func(r reader) bool { return r.ended }).All()
	slices.SortFunc(all, func(a, b reader) int { return cmp.Compare(a.ends, b.ends) })
	return all
}

// longest returns when the last of their leases ends.
func longest(running []reader) time.Time { return time.Unix(0, running[len(running)-1].ends) }

// ages ends leases.
func ages(h Held, at time.Time) Held {
	h.Readers = h.Readers.Each(func(r reader) reader {
		r.ended = at.Add(time.Millisecond).UnixNano() > r.ends
		return r
	})
	if at.UnixNano() >= h.Places {
		h.Waiting, h.Places = engine.List[string]{}, 0
	}
	return h
}

// keep returns the part of a lock that outlives its key.
func keep(h Held) Held { return Held{Token: h.Token, Waiting: h.Waiting, Places: h.Places} }

// without returns h without the place of an owner.
func (h Held) without(owner string) Held {
	if h.Waiting = h.Waiting.Without(func(o string) bool { return o == owner }); h.Waiting == (engine.List[string]{}) {
		h.Places = 0
	}
	return h
}

// moment is how long readers stand back for a writer that may enter.
const moment = 200 * time.Millisecond

// placed returns what a lock is when a writer that queues was refused: if it was by readers, the writer has a place
// until 200 ms after the first of their leases has ended. Places that last longer do so still.
func placed(s state, at time.Time, in lock.In) state {
	running := s.V.running()
	if !in.Queues || mode(s) != lock.Read || len(running) == 0 {
		return s
	}
	left := func(end int64) time.Duration { return time.Unix(0, end).Sub(at).Truncate(time.Millisecond) }
	s.V.Places = at.Add(max(left(running[0].ends)+moment, left(max(s.V.Places, at.UnixNano())))).UnixNano()
	all := append(s.V.without(in.Owner).Waiting.All(), in.Owner)
	slices.Sort(all)
	s.V.Waiting = engine.ListOf(all...)
	return s
}

func holders(s state) (owners []string) {
	if s.V.Writer != "" {
		owners = append(owners, s.V.Writer)
	}
	for _, r := range s.V.running() {
		owners = append(owners, r.owner)
	}
	return owners
}

// mode returns the side that holds the lock; "": neither does.
func mode(s state) lock.Side {
	switch {
	case s.Kind != engine.Present:
		return ""
	case s.V.Writer != "":
		return lock.Write
	}
	return lock.Read
}

// ready reports whether in acquires: a reader unless another owner writes, a writer if the lock has no holder.
func ready(s state, in lock.In) bool {
	if in.Side == lock.Read {
		return s.V.Writer == "" && (!in.Prefer || s.V.Places == 0) || s.V.Writer != "" && s.V.Writer == in.Under
	}
	return len(holders(s)) == 0
}

// step is the model.
func step(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	_, holds := s.V.Readers.Find(func(r reader) bool { return r.owner == in.Owner && at.UnixNano() < r.ends })
	holds = holds || s.V.Writer != "" && s.V.Writer == in.Owner
	switch {
	case out.Other, s.Kind == engine.Other:
		return s, out == lock.Out{Other: true} && s.Kind == engine.Other
	case in.Op == lock.Acquire && out.Token > 0:
		return acquire(s, at, in, out)
	case in.Op == lock.Acquire:
		return placed(s, at, in), !ready(s, in) && refused(s, at, in, out.Left)
	case in.Op == lock.Renew:
		return renew(s, at.Add(in.Lease), in.Owner, holds), out == lock.Out{Done: holds, Owner: out.Owner} && names(s, in, out)
	case in.Op == lock.Release:
		return leave(s, at, in), out == lock.Out{Done: holds}
	case in.Op == lock.Force && mode(s) == in.Side:
		return s.Gone(keep), out.Done
	case in.Op == lock.Force:
		return s, !out.Done
	case in.Op == lock.Revoke:
		return revoked(s, at, in, out)
	}
	return s, remains(s, at, in.Side, out.Left)
}

// revoked is the model of a revocation: one owner holds on for the writer, or for readers to their last end.
func revoked(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	other := func(owner string) bool { return in.Owner != "" && owner != in.Owner && owner != lock.Nobody }
	next := s
	if in.Side == lock.Write && s.V.Writer != "" && !other(s.V.Writer) {
		next.V.Writer, next.V.Readers = lock.Nobody, engine.List[reader]{}
		return lock.Revoked(s, next, at, in, out)
	}
	asked := slices.DeleteFunc(s.V.running(), func(r reader) bool { return other(r.owner) })
	if in.Side == lock.Write || len(asked) == 0 {
		return s, out == lock.Out{}
	}
	next.V.Readers = s.V.Readers.Without(func(r reader) bool { return !other(r.owner) })
	next.V = next.V.until(lock.Nobody, at.Add(out.Left))
	return next, s.Until(longest(asked)).Remains(at, out.Left) && out == lock.Out{Left: out.Left}
}

// refused reports whether left is right for a refusal: the rest of the writer's lease, or of the shortest lease of
// the readers, or of the places for which a reader stands back.
func refused(s state, at time.Time, in lock.In, left time.Duration) bool {
	switch readers := s.V.running(); {
	case in.Side == lock.Read && s.V.Writer == "":
		s = engine.New(s.V).Until(time.Unix(0, s.V.Places))
	case mode(s) == lock.Read && len(readers) > 0:
		s = s.Until(time.Unix(0, readers[0].ends))
	}
	return s.Remains(at, left)
}

// remains reports whether left is the rest of the lease of a side: the longest of the readers, or the writer's.
func remains(s state, at time.Time, side lock.Side, left time.Duration) bool {
	all := s.V.running()
	switch {
	case side == lock.Read && len(all) > 0:
		s = s.Until(longest(all))
	case side == lock.Read, s.V.Writer == "":
		s = s.Gone(keep)
	}
	return s.Remains(at, left)
}

// acquire is the model of a grant. A reader has the token of the last writer. In a history, without times, that
// writer may have got no answer, or was forgotten.
func acquire(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	fresh := lock.Follows(s.V.Token, at, out.Token)
	ends := at.Add(in.Lease)
	if in.Side == lock.Write {
		next := Held{Writer: out.Owner, Token: out.Token}
		if !in.Prefer {
			next.Waiting, next.Places = s.V.Waiting, s.V.Places
		}
		return engine.New(next).Until(ends), fresh && ready(s, in)
	}
	fits := out.Token == s.V.Token || s.V.Token == 0 && fresh || at.IsZero()
	s.V.Token = max(s.V.Token, out.Token)
	return lasting(whole(s, at).Is(s.V.until(out.Owner, ends)), ends), fits && ready(s, in)
}

// whole returns s with a life of whole milliseconds from a time on.
func whole(s state, at time.Time) state {
	if s.Ends.IsZero() {
		return s
	}
	return s.Until(at.Add(s.Ends.Sub(at).Truncate(time.Millisecond)))
}

// lasting returns s with a life that ends at ends or later.
func lasting(s state, ends time.Time) state {
	if s.Ends.Before(ends) {
		return s.Until(ends)
	}
	return s
}

// renew gives an owner's hold another end.
func renew(s state, ends time.Time, owner string, holds bool) state {
	if !holds {
		return s
	}
	if s.V.Writer != owner {
		s.V = s.V.until(owner, ends)
	}
	return lasting(s, ends)
}

// names reports whether out names an owner that keeps a writer from its lost lock: the writer, or else a reader.
func names(s state, in lock.In, out lock.Out) bool {
	if out.Done || in.Side == lock.Read {
		return out.Owner == ""
	}
	readers := s.V.Readers.All()
	reads := slices.ContainsFunc(readers, func(r reader) bool { return r.owner == out.Owner })
	return reads && s.V.Writer == "" || out.Owner == s.V.Writer && (out.Owner != "" || len(readers) == 0)
}

// leave takes out an owner, and readers whose leases have ended. A lock of readers lasts as long as their longest
// lease, in whole milliseconds. A writer that is not in gives back its place, and the last reader leaves those that
// have one 200 ms.
func leave(s state, at time.Time, in lock.In) state {
	all, owner := s.V.Readers.All(), in.Owner
	is := func(r reader) bool { return r.owner == owner }
	stay := slices.DeleteFunc(slices.Clone(all), func(r reader) bool { return r.ended || is(r) })
	next := s.V.with(stay)
	switch writes := s.V.Writer == owner; {
	case !writes && in.Side == lock.Write:
		s.V = s.V.without(owner)
		return s
	case !writes && !slices.ContainsFunc(all, is):
		return s
	case !writes && s.V.Writer != "":
		return s.Is(next)
	case len(stay) == 0:
		if s = s.Gone(keep); !writes && in.Prefer && s.V.Places > 0 {
			s.V.Places = at.Add(moment).UnixNano()
		}
		return s
	}
	next.Writer = ""
	return whole(s.Is(next).Until(longest(next.running())), at)
}

// published returns the message for all waiters when a writer leaves, and for one when the last reader leaves, or
// when a reader's release finds the lock free, or the last place is given back.
func published(before, after state, in lock.In) string {
	forced := map[lock.Op]string{lock.Force: ",2"}[in.Op]
	switch {
	case before.V.Writer != "" && after.V.Writer == "":
		return "1" + forced
	case in.Op == lock.Release && before.V.Places > 0 && after.V.Places == 0,
		after.Kind == engine.Absent && (before.Kind != engine.Absent || in.Op == lock.Release && in.Side == lock.Read):
		return "0" + forced
	}
	return ""
}

// stored returns a lock's keys: its own, the last token, and a key for each reader's lease.
func stored(key string, s state) []engine.Key {
	all := lock.Stored(key, engine.State[lock.Held]{V: lock.Held{Token: s.V.Token}}, lock.TokenLife)
	switch mode(s) {
	case lock.Read:
		all[0].Fields = map[string]string{"mode": "read"}
	case lock.Write:
		all[0].Fields = map[string]string{"mode": "write", s.V.Writer + ":write": "1"}
	}
	places := engine.Key{
		Name: engine.SideName("hasp_rwlock_writer:", key), Fields: map[string]string{}, Ends: time.Unix(0, s.V.Places),
	}
	for _, owner := range s.V.Waiting.All() {
		places.Fields[owner] = "1"
	}
	all = append(all, places)
	for _, r := range s.V.Readers.All() {
		if all[0].Fields[r.owner] = "1"; !r.ended {
			hold := engine.SideName("", key) + ":" + r.owner + ":rwlock_timeout:1"
			all = append(all, engine.Key{Name: hold, Text: "1", Ends: time.Unix(0, r.ends)})
		}
	}
	return all
}

// byPeer lets another program write, with a lease or without, or read, or leave.
func byPeer(d engine.Params[Held]) (c engine.Change[Held], ok bool) {
	if d.Now.Kind == engine.Present && d.Flag {
		c.Next, c.Message = d.Now.Gone(keep), "0"
		return c, slices.Contains(holders(d.Now), lock.PeerOwner)
	}
	if d.Which < 4 {
		c.Life = d.For.Truncate(time.Millisecond) + time.Millisecond
	}
	next := keep(d.Now.V)
	if d.Which < 2 {
		next = next.until(lock.PeerOwner, d.At.Add(c.Life).Truncate(time.Millisecond))
	} else {
		next.Writer = lock.PeerOwner
	}
	c.Next = engine.New(next)
	return c, true
}
