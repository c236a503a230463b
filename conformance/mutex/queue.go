package mutex

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/conformance/engine"
)

// Held is a mutex at one time. What it has of its queue outlives its key.
type Held struct {
	Owner string
	Token int64
	Sign  int64 // by which sign of its owner's it was granted by another; own: it asked for it itself

	Queue string      // those who wait, in turn: see waiters
	Ends  engine.Span // of the keys of the queue, and of the signs; zero: there is none
	Shown engine.Span
}

// own says that an owner was granted what it asked for. All times are milliseconds of the server's clock.
const own = -1

// queueLife is how long a queue lasts after the last beat or newcomer.
const queueLife = 60_000

// waiter is one in the queue.
type waiter struct {
	owner  string
	number int64       // by which it is in its place, in microseconds
	sign   engine.Span // when its last sign of life came; zero: none came since it came itself
	stamp  int64       // of that sign
	dead   bool        // whether it counts as dead, at the time that is looked at
}

// waiters are texts in the state, which must be comparable.
func (h Held) waiters() (all []waiter) {
	for line := range strings.Lines(h.Queue) {
		words := strings.Fields(line)
		all = append(all, waiter{
			words[0], whole(words[1]), engine.Span{Least: whole(words[2]), Most: whole(words[3])},
			whole(words[4]), words[5] == "true",
		})
	}
	return all
}

// with returns h with other waiters, in their order.
func (h Held) with(all []waiter) Held {
	slices.SortFunc(all, func(a, b waiter) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.owner, b.owner))
	})
	var text strings.Builder
	for _, w := range all {
		fmt.Fprintln(&text, w.owner, w.number, w.sign.Least, w.sign.Most, w.stamp, w.dead)
	}
	if h.Queue = text.String(); h.Queue == "" {
		h.Ends = engine.Span{}
	}
	if !slices.ContainsFunc(all, waiter.signed) {
		h.Shown = engine.Span{}
	}
	return h
}

// without returns h without some of those who wait.
func (h Held) without(owners ...string) Held {
	return h.with(slices.DeleteFunc(h.waiters(), func(w waiter) bool { return slices.Contains(owners, w.owner) }))
}

// signed reports whether a waiter has shown that it lives since it came.
func (w waiter) signed() bool { return w.sign != engine.Span{} }

// arrival is when the last sign of life came.
func (w waiter) arrival() engine.Span {
	if w.signed() {
		return w.sign
	}
	return engine.Span{Least: w.number / 1000, Most: w.number / 1000}
}

var worthForm = regexp.MustCompile(`\.([0-9]+):[0-9]+$`)

// worth is what a sign of a waiter's is worth.
func (w waiter) worth() int64 {
	if found := worthForm.FindStringSubmatch(w.owner); found != nil {
		return whole(found[1])
	}
	return 0
}

// ages says who is dead at a moment, and lets the keys of the queue end. What is so at about that moment may
// be so, or not.
func ages(h Held, at engine.Moment) []Held {
	ways := [][]waiter{nil}
	for _, w := range h.waiters() {
		least, most := w.age(at)
		was := len(ways)
		for i := range was {
			before := slices.Clip(ways[i])
			w.dead = 3*least >= 2*w.worth()
			ways[i] = append(before, w)
			if !w.dead && 3*most >= 2*w.worth() {
				w.dead = true
				ways = append(ways, append(before, w))
			}
		}
	}
	var all []Held
	for _, way := range ways {
		all = append(all, h.with(way).ended(at)...)
	}
	return all
}

// age is how old the last sign of a waiter is.
func (w waiter) age(at engine.Moment) (least, most int64) {
	came := w.arrival()
	return max(0, at.From.UnixMilli()-came.Most), max(0, at.To.UnixMilli()-came.Least)
}

// ended returns what the keys of the queue may be at a moment. Signs end no later than the queue.
func (h Held) ended(at engine.Moment) (all []Held) {
	for _, way := range over(h, h.Shown, at, Held.unsigned) {
		all = append(all, over(way, way.Ends, at, func(h Held) Held { return h.with(nil) })...)
	}
	return all
}

// over returns what h may be at a moment, if something of it ends at some time; zero: never.
func over(h Held, ends engine.Span, at engine.Moment, after func(Held) Held) (all []Held) {
	if ends == (engine.Span{}) || at.From.UnixMilli() <= ends.Most {
		all = append(all, h)
	}
	if ends != (engine.Span{}) && at.To.UnixMilli() >= ends.Least {
		all = append(all, after(h))
	}
	return all
}

// unsigned returns h without any signs.
func (h Held) unsigned() Held {
	all := h.waiters()
	for i := range all {
		all[i].sign, all[i].stamp = engine.Span{}, 0
	}
	return h.with(all)
}

// written makes all times what is written of them.
func (h Held) written() Held {
	all := h.waiters()
	for i := range all {
		all[i].sign.Most = all[i].sign.Least
	}
	return h.with(all)
}

// living are the owners of those who are not dead.
func (h Held) living() (owners []string) {
	for _, w := range h.waiters() {
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
	for _, w := range h.waiters() {
		if !w.dead {
			return w, true, dead
		}
		dead = append(dead, w.owner)
	}
	return waiter{}, false, dead
}

// find returns the waiter of that name.
func (h Held) find(owner string) (waiter, bool) {
	all := h.waiters()
	i := slices.IndexFunc(all, func(w waiter) bool { return w.owner == owner })
	if i < 0 {
		return waiter{}, false
	}
	return all[i], true
}

// later is so long after a moment.
func later(at engine.Moment, by int64) engine.Span {
	return engine.Span{Least: at.From.UnixMilli() + by, Most: at.To.UnixMilli() + by}
}

// show notes a sign of life of some who wait.
func (h Held) show(at engine.Moment, stamp int64, owners ...string) Held {
	all := h.waiters()
	for i := range all {
		if slices.Contains(owners, all[i].owner) {
			all[i].sign, all[i].stamp, all[i].dead = later(at, 0), stamp, false
		}
	}
	h.Shown = later(at, queueLife)
	return h.with(all)
}

// enqueue puts an owner into the queue at a place, or moves it there.
func (h Held) enqueue(at engine.Moment, in In, place int64) Held {
	w, _ := h.find(in.Owner)
	w.owner, w.number = in.Owner, place
	others := slices.DeleteFunc(h.waiters(), func(w waiter) bool { return w.owner == in.Owner })
	h.Ends = later(at, queueLife)
	h = h.with(append(others, w))
	if in.Stamp != 0 {
		h = h.show(at, in.Stamp, in.Owner)
	}
	return h
}

// last is the highest number in the queue.
func (h Held) last() int64 {
	all := h.waiters()
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].number
}

// rank is how many are before an owner.
func (h Held) rank(owner string) int64 {
	return int64(slices.IndexFunc(h.waiters(), func(w waiter) bool { return w.owner == owner }))
}
