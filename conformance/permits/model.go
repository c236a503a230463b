package permits

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
)

// Permits is a permit semaphore at one time.
type Permits struct {
	Free  int64             // as it is counted
	Holds engine.List[hold] // by their owners
}

// hold is what one owner has: its ids, one after the other. Its lease has an end by the server's clock, in
// milliseconds.
type hold struct {
	owner string
	ends  int64
	ended bool // the lease; nobody has counted its permits yet
}

// idSize is the length of an id.
const idSize = 16

// ids are those of an owner.
func ids(owner string) (all []string) {
	for part := range slices.Chunk([]byte(owner), idSize) {
		all = append(all, string(part))
	}
	return all
}

// size is how many permits h has.
func (h hold) size() int64 { return int64(len(ids(h.owner))) }

// with returns p with other holds.
func (p Permits) with(all ...hold) Permits {
	slices.SortFunc(all, func(a, b hold) int { return cmp.Compare(a.owner, b.owner) })
	p.Holds = engine.ListOf(all...)
	return p
}

// and returns p with one more hold.
func (p Permits) and(h hold) Permits { return p.with(append(p.Holds.All(), h)...) }

// running returns the hold of an owner whose lease runs.
func (p Permits) running(owner string) (h hold, ok bool) {
	return p.Holds.Find(func(h hold) bool { return h.owner == owner && !h.ended })
}

// taken is how many permits have leases that run.
func (p Permits) taken() (n int64) {
	for _, h := range p.Holds.All() {
		if !h.ended {
			n += h.size()
		}
	}
	return n
}

// counted returns p when those permits are counted whose leases have ended.
func (p Permits) counted() Permits {
	for _, h := range p.Holds.All() {
		if h.ended {
			p.Free += h.size()
		}
	}
	p.Holds = p.Holds.Without(func(h hold) bool { return h.ended })
	return p
}

// until returns h with a lease of a length from a time on. Where that is not known the lease has no end.
func (h hold) until(at time.Time, lease time.Duration) hold {
	if h.ends = never; !at.IsZero() {
		h.ends = at.UnixMilli() + lease.Milliseconds()
	}
	return h
}

// never is the end of a lease without an end, by Redisson.
const never = 922337203685477

// ages ends leases.
func ages(p Permits, at time.Time) Permits {
	p.Holds = p.Holds.Each(func(h hold) hold {
		h.ended = at.UnixMilli() >= h.ends
		return h
	})
	return p
}

func holders(s state) (owners []string) {
	for _, h := range s.V.Holds.All() {
		if !h.ended {
			owners = append(owners, h.owner)
		}
	}
	return owners
}

// made returns what an acquire finds: what it makes, if there is no semaphore.
func made(s state, in In) state {
	if s.Kind == engine.Absent && in.Of > 0 {
		return s.Is(Permits{Free: in.Of})
	}
	return s
}

func ready(s state, in In) bool {
	s = made(s, in)
	return s.Kind == engine.Present && s.V.counted().Free >= in.N
}

// step is the model.
func step(s state, at time.Time, in In, out Out) (state, bool) {
	if out.Other || s.Kind == engine.Other {
		return s, out.Other && s.Kind == engine.Other
	}
	there := s.Kind == engine.Present
	h, held := s.V.running(in.Owner)
	switch in.Op {
	case Acquire:
		return acquire(s, at, in, out)
	case Renew, Update:
		if held {
			s.V.Holds = s.V.Holds.Without(func(o hold) bool { return o == h })
			s.V = s.V.and(h.until(at, in.Lease))
		}
		return s, out.Done == held
	case Release, Return:
		return release(s, in, held), out.Done == held
	case Remaining:
		return s, at.IsZero() || !held && out.Wait == 0 || held && out.Wait == h.left(at)
	case Count:
		v := s.V.counted()
		return s, out.N == v.Free && out.Taken == v.taken()
	case Make, Set:
		return set(s, in), out.Done == (in.Op == Set || !there)
	case Add:
		return add(s, in, out)
	}
	return s.Gone(nil), out.Done == there
}

func acquire(s state, at time.Time, in In, out Out) (state, bool) {
	if s = made(s, in); s.Kind == engine.Absent {
		return s, !out.Done && (at.IsZero() || out.Wait == -time.Millisecond)
	}
	v := s.V.counted()
	if v.Free < in.N {
		return s.Is(v), !out.Done && (at.IsZero() || out.Left == v.Free && out.Wait == wait(v, at))
	}
	v.Free -= in.N
	next := v.and(hold{owner: out.Owner}.until(at, in.Lease))
	return s.Is(next), out.Done && (at.IsZero() || out.Left == v.Free)
}

// wait is how long it takes until the first lease ends.
func wait(p Permits, at time.Time) time.Duration {
	first := int64(never)
	for _, h := range p.Holds.All() {
		first = min(first, h.ends)
	}
	return hold{ends: first}.left(at)
}

// left is what remains of a hold that has not ended.
func (h hold) left(at time.Time) time.Duration {
	if h.ends == never {
		return -time.Millisecond
	}
	return time.Duration(h.ends-at.UnixMilli()) * time.Millisecond
}

// release takes out a hold, if it runs. Its owner puts back what has ended in any case, others do not.
func release(s state, in In, held bool) state {
	if s.Kind != engine.Present || in.Op == Return && !held {
		return s
	}
	v := s.V.counted()
	if held {
		v.Free += hold{owner: in.Owner}.size()
		v.Holds = v.Holds.Without(func(h hold) bool { return h.owner == in.Owner })
	}
	return s.Is(v)
}

func set(s state, in In) state {
	if s.Kind == engine.Absent {
		return s.Is(Permits{Free: in.N})
	}
	if in.Op == Set {
		v := s.V.counted()
		v.Free = in.N - v.taken()
		return s.Is(v)
	}
	return s
}

func add(s state, in In, out Out) (state, bool) {
	v := s.V.counted()
	v.Free += in.N
	if v.Free+v.taken() > math.MaxInt32 || v.Free < math.MinInt32 {
		return s, out.Overflow
	}
	return s.Is(v), out.Done
}

// published is how many are free, where more are counted than before.
func published(before, after state, _ In) string {
	if after.V.Free <= before.V.Free || after.V.Free < 1 {
		return ""
	}
	return fmt.Sprint(after.V.Free)
}

// setOf is the name of the set of leases.
func setOf(key string) string { return engine.SideName("", key) + ":timeout" }

func stored(key string, s state) []engine.Key {
	own, leases := engine.Key{Name: key}, engine.Key{Name: setOf(key), Set: map[string]int64{}}
	if s.Kind == engine.Present {
		own.Text = fmt.Sprint(s.V.Free)
		leases.Ends = s.Ends.Truncate(time.Millisecond) // The server tells whole ones.
	}
	for _, h := range s.V.Holds.All() {
		for _, id := range ids(h.owner) {
			leases.Set[id] = h.ends
		}
	}
	return []engine.Key{own, leases}
}

// peer is the owner of another program's permits.
const peer = "a peer's permit." + "and another one."

// byPeer adds a permit or takes one away, or has another program take one, or release what it has.
func byPeer(d engine.Dice[Permits]) (c engine.Change[Permits], ok bool) {
	v := d.Now.V.counted()
	owner := peer[:idSize]
	_, has := v.running(owner)
	switch {
	case d.Now.Kind != engine.Present:
		v.Free = int64(d.Which)
	case d.Which < 3:
		v.Free += []int64{1, 2, -1}[d.Which]
	case has:
		v.Holds = v.Holds.Without(func(h hold) bool { return h.owner == owner })
		v.Free++
	default:
		lease := d.For.Truncate(time.Millisecond) + time.Millisecond
		v = v.and(hold{owner: owner}.until(d.At, lease))
		v.Free--
	}
	c.Next = engine.New(v)
	if d.Flag && v.Free > d.Now.V.Free && v.Free > 0 {
		c.Message = fmt.Sprint(v.Free)
	}
	return c, v.Free+v.taken() < math.MaxInt32 // Else what is put back is too much.
}
