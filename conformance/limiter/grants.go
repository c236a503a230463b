package limiter

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
)

// ID is what a grant has before its permits: other bytes each time.
type ID string

// String returns the same of all: what is random makes reports of one failure differ.
func (ID) String() string { return "#" }

// member returns what stands for n permits of a grant in the sorted set.
func (i ID) member(n int64) string {
	return string(binary.LittleEndian.AppendUint32([]byte(i), uint32(n))) //nolint:gosec // It is small.
}

// unmember returns the parts of a member.
func unmember(member string) (id ID, n int64) {
	at := len(member) - 4
	return ID(member[:at]), int64(binary.LittleEndian.Uint32([]byte(member[at:])))
}

// noID is that of all grants together, where nobody knows their order.
var noID = ID("\x10" + strings.Repeat("\x00", 16))

// farAway is the time of grants where time is not known, in milliseconds: in the year 2200. To a server they
// are grants from before its clock was set back.
const farAway = 7258118400000

// grant is one of some permits, at a millisecond.
type grant struct {
	At, N int64
	ID    ID
}

// grantsOf returns grants as a server sorts them.
func grantsOf(all []grant) engine.List[grant] {
	return engine.ListOf(slices.SortedFunc(slices.Values(all), func(a, b grant) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID.member(a.N), b.ID.member(b.N)))
	})...)
}

// permits returns how many they have.
func permits(all []grant) (sum int64) {
	for _, one := range all {
		sum += one.N
	}
	return sum
}

// clock is a server's time in milliseconds, rounded down and up. Where that is not known grants are all one, and
// never old.
type clock struct {
	exact       bool
	early, late int64
}

func clockAt(at time.Time) clock {
	if at.IsZero() {
		return clock{early: farAway, late: farAway}
	}
	micro := at.UnixMicro()
	return clock{true, micro / 1000, (micro + 999) / 1000}
}

// with returns grants with one more at c.
func (c clock) with(all []grant, n int64, id ID) []grant {
	if c.exact {
		return append(all, grant{c.late, n, id})
	}
	return c.one(permits(all) + n)
}

// one returns so many permits as one grant.
func (c clock) one(n int64) []grant {
	if n == 0 {
		return nil
	}
	return []grant{{farAway, n, noID}}
}

// expired returns how many of the first grants are old: until they have as many permits as are missing.
func (l Limit) expired(c clock, missing int64) (n int) {
	all := l.Grants.All()
	for n < len(all) && missing > 0 && c.exact && all[n].At <= c.early-l.Interval {
		missing -= all[n].N
		n++
	}
	return n
}

// until returns how many milliseconds it takes until the first grants that have so many permits are old; if
// there are not so many, until all are.
func (l Limit) until(c clock, all []grant, missing int64) (wait int64) {
	for i := 0; i < len(all) && missing > 0; i++ {
		missing -= all[i].N
		wait = max(1, all[i].At+l.Interval-c.early)
	}
	return wait
}

// millis returns d in milliseconds.
func millis(d int64) time.Duration { return time.Duration(d) * time.Millisecond }
