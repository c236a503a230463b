package barrier_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
)

// state is a barrier at one time.
type state struct {
	Generation int64
	Members    string // see members

	// Nameless says that it is one of a history: of Members is only known how many have arrived, of
	// those whose calls pass.
	Nameless bool
}

// object is a barrier, or what there is in its place.
type object = engine.State[state]

// member has arrived. Its lease ends at a millisecond of the server's clock.
type member struct {
	Name  string
	Ends  int64
	Ended bool
}

// generation is the number of the present one. A barrier that does not exist is in the first.
func (s state) generation() int64 { return max(1, s.Generation) }

// members are the members that have arrived, even if their leases have ended. They are a text in the state,
// which must be comparable.
func (s state) members() (all []member) {
	for line := range strings.Lines(s.Members) {
		var m member
		if _, err := fmt.Sscan(line, &m.Name, &m.Ends, &m.Ended); err == nil {
			all = append(all, m)
		}
	}
	return all
}

// with returns s with other members.
func (s state) with(all []member) state {
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.Name, b.Name) })
	s.Members = ""
	for _, m := range all {
		s.Members += fmt.Sprintln(m.Name, m.Ends, m.Ended)
	}
	return s
}

// running are the members whose leases have not ended.
func running(s object) (names []string) {
	for _, m := range s.V.members() {
		if !m.Ended {
			names = append(names, m.Name)
		}
	}
	return names
}

// ages ends leases.
func ages(s state, at time.Time) state {
	all := s.members()
	for i, m := range all {
		all[i].Ended = at.UnixMilli() >= m.Ends
	}
	return s.with(all)
}

// keptFor is how long the number of a generation is kept after the last lease.
const keptFor = time.Hour

// step is the model: what becomes of a barrier, and whether out is the answer.
func step(s object, at time.Time, in input, out output) (object, bool) {
	all := s.V.members()
	i := slices.IndexFunc(all, func(m member) bool { return m.Name == in.Member })
	switch {
	case s.Kind == engine.Other:
		return s, out.Other
	case out.Other:
		return s, false
	case in.What == arrives && at.IsZero():
		return arriveUnnamed(s, in)
	case in.What == arrives:
		return arrive(s, at, in, out)
	case in.What == looks:
		return s, max(1, out.Generation) == s.V.generation()
	case in.What == counts:
		return s, out.N == int64(len(running(s)))
	case in.What == renews:
		held := i >= 0 && !all[i].Ended
		if held {
			all[i] = until(in, at)
			s = s.Is(s.V.with(all)).Until(at.Add(in.Lease + keptFor))
		}
		return s, out.Done == held
	case i >= 0: // It leaves.
		s = s.Is(s.V.with(slices.Delete(all, i, i+1)))
	}
	return s, out.Done == (i >= 0)
}

// arrive adds a member, or ends the generation. Either way those leave whose leases have ended.
func arrive(s object, at time.Time, in input, out output) (object, bool) {
	now, live := s.V.generation(), slices.DeleteFunc(s.V.members(), func(m member) bool { return m.Ended })
	next := state{Generation: now}
	if last := len(live)+1 >= in.Parties; last {
		next.Generation, now = now+1, 0
	} else {
		next = next.with(append(live, until(in, at)))
	}
	return s.Is(next).Until(at.Add(in.Lease + keptFor)), out.Generation == now
}

// arriveUnnamed is arrive in a history, of a call that passes. Those that do not, leave no trace.
func arriveUnnamed(s object, in input) (object, bool) {
	next := state{Generation: s.V.generation(), Members: s.V.Members + "?", Nameless: true}
	if len(next.Members) >= in.Parties {
		next.Generation, next.Members = next.Generation+1, ""
	}
	return s.Is(next), true
}

// until returns the member of an arrival or a renewal.
func until(in input, at time.Time) member {
	return member{Name: in.Member, Ends: at.Add(in.Lease).UnixMilli()}
}

// generationField is where a barrier has its number. All other fields are members.
const generationField = "generation"

// stored is the barrier's key.
func stored(key string, s object) []engine.Key {
	k := engine.Key{Name: key, Fields: map[string]string{}, Alike: func(fields map[string]string) bool {
		return alike(s, fields)
	}}
	if s.Kind == engine.Present {
		k.Fields[generationField] = fmt.Sprint(s.V.generation())
		for _, m := range s.V.members() {
			k.Fields[m.Name] = fmt.Sprint(m.Ends)
		}
	}
	return []engine.Key{k}
}

// alike reports whether a hash belongs to a barrier. In a history its members are anybody.
func alike(s object, fields map[string]string) bool {
	number, exists := fields[generationField]
	if s.V.Nameless || s.Kind == engine.Absent {
		return !exists && s.V.generation() == 1 || number == fmt.Sprint(s.V.generation())
	}
	all := s.V.members()
	return number == fmt.Sprint(s.V.generation()) && len(fields) == 1+len(all) &&
		!slices.ContainsFunc(all, func(m member) bool {
			return fields[m.Name] != strconv.FormatInt(m.Ends, 10)
		})
}

// peer lets another program end the generation, with a message or without, where somebody waits, and
// else arrive. Its lease never ends, or has ended long ago.
func peer(d engine.Params[state]) (c engine.Change[state], ok bool) {
	now := d.Now.V.generation()
	switch {
	case len(running(d.Now)) == 0:
		ends := int64(1)
		if d.Which > 2 {
			ends = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
		}
		c.Next = engine.New(state{Generation: now}.with([]member{{Name: "peer", Ends: ends}}))
	case d.Flag:
		c.Next, c.Message = engine.New(state{Generation: now + 1}), fmt.Sprint(now)
	default:
		c.Next = engine.New(state{Generation: now + 1})
	}
	return c, true
}
