package mutex

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
)

// Held is a mutex at one time. What it has of its queue outlives its key.
type Held struct {
	Owner string
	Token int64
	Sign  int64 // by which sign of its owner's it was granted by another; own: it asked for it itself

	Queue engine.List[waiter] // those who wait, in turn
	Ends  int64               // of the key of the queue, in microseconds; zero: there is none
	Shown int64               // of that of the signs
}

// own says that an owner was granted what it asked for.
const own = -1

// queueLife is how long a queue lasts after the last beat or newcomer.
const queueLife = time.Minute

// waiter is one in the queue.
type waiter struct {
	owner  string
	number int64 // by which it is in its place, in microseconds
	sign   int64 // when its last sign of life came, in milliseconds; zero: none came since it came itself
	stamp  int64 // of that sign
	dead   bool  // whether it counts as dead, at the time that is looked at
}

// with returns h with other waiters, in their order.
func (h Held) with(all []waiter) Held {
	slices.SortFunc(all, func(a, b waiter) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.owner, b.owner))
	})
	if h.Queue = engine.ListOf(all...); len(all) == 0 {
		h.Ends = 0
	}
	if !slices.ContainsFunc(all, waiter.signed) {
		h.Shown = 0
	}
	return h
}

// without returns h without some of those who wait.
func (h Held) without(owners ...string) Held {
	return h.with(h.Queue.Without(func(w waiter) bool { return slices.Contains(owners, w.owner) }).All())
}

// signed reports whether a waiter has shown that it lives since it came.
func (w waiter) signed() bool { return w.sign != 0 }

// arrival is when the last sign of life came.
func (w waiter) arrival() int64 { return cmp.Or(w.sign, w.number/1000) }

var worthForm = regexp.MustCompile(`\.([0-9]+):[0-9]+$`)

// worth is what a sign of a waiter's is worth.
func (w waiter) worth() int64 {
	if found := worthForm.FindStringSubmatch(w.owner); found != nil {
		return lock.Whole(found[1])
	}
	return 0
}

// ages says who is dead, and lets the keys of the queue end. Signs end no later than the queue.
func ages(h Held, at time.Time) Held {
	all := h.Queue.All()
	for i, w := range all {
		if at.UnixMicro() >= h.Shown {
			w.sign, w.stamp = 0, 0
		}
		w.dead = 3*w.age(at) >= 2*w.worth()
		all[i] = w
	}
	if at.UnixMicro() >= h.Ends {
		all = nil
	}
	return h.with(all)
}

// age is how old the last sign of a waiter is.
func (w waiter) age(at time.Time) int64 { return max(0, at.UnixMilli()-w.arrival()) }

// living are the owners of those who are not dead.
func (h Held) living() (owners []string) {
	for _, w := range h.Queue.All() {
		if !w.dead {
			owners = append(owners, w.owner)
		}
	}
	return owners
}

// first is the first owner who lives; "": nobody does.
func (h Held) first() string {
	w, _, _ := h.survey()
	return w.owner
}

// survey returns the first who lives, whether there is one, and the dead before it.
func (h Held) survey() (first waiter, ok bool, dead []string) {
	for _, w := range h.Queue.All() {
		if !w.dead {
			return w, true, dead
		}
		dead = append(dead, w.owner)
	}
	return waiter{}, false, dead
}

// find returns the waiter of that name.
func (h Held) find(owner string) (waiter, bool) {
	return h.Queue.Find(func(w waiter) bool { return w.owner == owner })
}

// show notes a sign of life of some who wait.
func (h Held) show(at time.Time, stamp int64, owners ...string) Held {
	all := h.Queue.All()
	for i := range all {
		if slices.Contains(owners, all[i].owner) {
			all[i].sign, all[i].stamp, all[i].dead = at.UnixMilli(), stamp, false
		}
	}
	h.Shown = at.Add(queueLife).UnixMicro()
	return h.with(all)
}

// enqueue puts an owner into the queue at a place, or moves it there.
func (h Held) enqueue(at time.Time, in In, place int64) Held {
	w, _ := h.find(in.Owner)
	w.owner, w.number = in.Owner, place
	others := h.without(in.Owner).Queue.All()
	h.Ends = at.Add(queueLife).UnixMicro()
	h = h.with(append(others, w))
	if in.Stamp != 0 {
		h = h.show(at, in.Stamp, in.Owner)
	}
	return h
}

// last is the highest number in the queue.
func (h Held) last() int64 {
	all := h.Queue.All()
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].number
}

// rank is how many are before an owner.
func (h Held) rank(owner string) int64 {
	return int64(slices.IndexFunc(h.Queue.All(), func(w waiter) bool { return w.owner == owner }))
}
