package limiter

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
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
	at, n int64
	id    ID
}

// Grants are some grants, the oldest first, in a form that can be compared.
type Grants string

// String returns the times and the permits.
func (g Grants) String() string {
	var text []string
	for _, one := range g.list() {
		text = append(text, fmt.Sprint(one.at, ":", one.n))
	}
	return fmt.Sprint(text)
}

func (g Grants) list() (all []grant) {
	for _, text := range strings.Fields(string(g)) {
		var one grant
		var id string
		if _, err := fmt.Sscanf(text, "%d:%d:%s", &one.at, &one.n, &id); err != nil {
			panic(err) // It was not made by grantsOf.
		}
		bytes, err := hex.DecodeString(id)
		if err != nil {
			panic(err)
		}
		one.id = ID(bytes)
		all = append(all, one)
	}
	return all
}

// grantsOf returns the same, as a server sorts them.
func grantsOf(all []grant) Grants {
	all = slices.SortedFunc(slices.Values(all), func(a, b grant) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id.member(a.n), b.id.member(b.n)))
	})
	var text strings.Builder
	for _, one := range all {
		fmt.Fprintf(&text, "%d:%d:%x ", one.at, one.n, string(one.id))
	}
	return Grants(text.String())
}

// permits returns how many they have.
func permits(all []grant) (sum int64) {
	for _, one := range all {
		sum += one.n
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
	all := l.Grants.list()
	for n < len(all) && missing > 0 && c.exact && all[n].at <= c.early-l.Interval {
		missing -= all[n].n
		n++
	}
	return n
}

// until returns how many milliseconds it takes until the first grants that have so many permits are old; if
// there are not so many, until all are.
func (l Limit) until(c clock, all []grant, missing int64) (wait int64) {
	for i := 0; i < len(all) && missing > 0; i++ {
		missing -= all[i].n
		wait = max(1, all[i].at+l.Interval-c.early)
	}
	return wait
}

// millis returns d in milliseconds.
func millis(d int64) time.Duration { return time.Duration(d) * time.Millisecond }
