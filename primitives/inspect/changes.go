package inspect

import (
	"reflect"
	"slices"
	"time"
)

// difference finds the events of one object between two reads.
type difference struct {
	at            time.Time
	before, after Object
	prompt        bool            // the later read followed a message at once
	said          map[string]bool // the messages between the reads
	events        []Event
}

// differences returns the events of the objects of a name between two reads, of which d has the rest. Without keys an
// object is empty.
func differences(name string, before, after []Object, d difference) (events []Event) {
	for _, family := range []string{"mutex", "plain lock", "lock", "other"} {
		is := func(o Object) bool { return familyOf(o.Kind) == family }
		old, now := slices.IndexFunc(before, is), slices.IndexFunc(after, is)
		d := d
		switch {
		case old < 0 && now < 0:
			continue
		case old < 0:
			d.after, d.before = after[now], Object{Name: name, Kind: after[now].Kind}
		case now < 0:
			d.before, d.after = before[old], Object{Name: name, Kind: before[old].Kind}
		default:
			d.before, d.after = before[old], after[now]
		}
		d.find(old < 0, now < 0)
		events = append(events, d.events...)
	}
	return events
}

// familyOf returns what the kinds that one object can show have in common.
func familyOf(k Kind) string {
	switch k {
	case Mutex:
		return "mutex"
	case PlainLock:
		return "plain lock"
	case Lock, FairLock, ReadWriteLock, Election, PeriodicJob, Memo:
		return "lock"
	}
	return "other"
}

// find finds the events of an object that is new, or gone, or has changed.
func (d *difference) find(isNew, isGone bool) {
	d.holders()
	d.waiters()
	switch {
	case isGone:
		d.add(Gone, "")
	case len(d.events) > 0:
	case isNew:
		d.add(Seen, "")
	case d.granted():
		d.add(Gap, "")
	case !reflect.DeepEqual(facts(d.before), facts(d.after)):
		d.add(Changed, "")
	}
}

func (d *difference) add(kind EventKind, owner string) {
	d.events = append(d.events, Event{At: d.at, Kind: kind, Owner: owner, Object: d.after})
}

// granted reports whether the token shows a grant, after which the holders are as before.
func (d *difference) granted() bool {
	before, after := d.before.Token, d.after.Token
	return before != nil && after != nil && *before != *after
}

// holders finds the events of holders, if all are known.
func (d *difference) holders() {
	if incomplete(d.before) || incomplete(d.after) {
		return
	}
	before, after := holding(d.before), holding(d.after)
	gone, came := without(before, after), without(after, before)
	others := slices.DeleteFunc(slices.Clone(came), func(h Holder) bool { return h.Revoked })
	taken := len(others) < len(came)
	if !taken && len(gone) == 1 && len(came) == 1 && single(d.before) && single(d.after) && !d.ended(gone[0]) && !d.freed(gone[0]) {
		if !d.prompt {
			d.add(Gap, "")
		}
		d.add(HandedOver, came[0].Owner)
		return
	}
	for _, h := range gone {
		switch {
		case d.ended(h):
			d.add(Lost, h.Owner)
		case d.freed(h):
			d.add(Freed, h.Owner)
		case taken:
			d.add(Revoked, h.Owner)
		default:
			d.add(Released, h.Owner)
		}
	}
	for _, h := range others {
		d.add(Acquired, h.Owner)
	}
}

// freed reports whether a message says that ForceUnlock has ended the hold of an earlier holder.
func (d *difference) freed(h Holder) bool {
	switch familyOf(d.before.Kind) {
	case "mutex":
		return d.said[h.Owner]
	case "lock", "plain lock":
		return d.said["2"]
	}
	return false
}

// ended reports whether the lease of an earlier holder has ended. The server counts milliseconds.
func (d *difference) ended(h Holder) bool {
	return h.Until != nil && !h.Until.After(d.at.Add(time.Millisecond))
}

// incomplete reports whether an object has more holders than were read.
func incomplete(o Object) bool { return o.Held != nil && *o.Held > int64(len(o.Holders)) }

// single reports whether one owner at a time can hold the object.
func single(o Object) bool {
	return familyOf(o.Kind) != "other" && (o.Kind != ReadWriteLock || len(o.Holders) == 1 && o.Holders[0].Mode == "write")
}

// holding returns the holders whose leases have not ended.
func holding(o Object) []Holder {
	return slices.DeleteFunc(slices.Clone(o.Holders), func(h Holder) bool { return h.Remaining != nil && *h.Remaining == 0 })
}

func without(all, others []Holder) []Holder {
	return slices.DeleteFunc(slices.Clone(all), func(h Holder) bool {
		return slices.ContainsFunc(others, func(o Holder) bool { return o.Owner == h.Owner && o.Mode == h.Mode })
	})
}

// waiters finds the events of waiters, if all are known.
func (d *difference) waiters() {
	before, all := waiting(d.before)
	after, allNow := waiting(d.after)
	if !all || !allNow {
		return
	}
	for _, owner := range before {
		holds := func(h Holder) bool { return h.Owner == owner }
		if !slices.Contains(after, owner) && !slices.ContainsFunc(d.after.Holders, holds) {
			d.add(Left, owner)
		}
	}
	for _, owner := range after {
		if !slices.Contains(before, owner) {
			d.add(Waiting, owner)
		}
	}
}

// waiting returns the owners that wait, and whether these are all.
func waiting(o Object) (owners []string, all bool) {
	if o.Queue == nil {
		return nil, true
	}
	for _, w := range o.Queue.First {
		owners = append(owners, w.Owner)
	}
	return owners, int64(len(owners)) == o.Queue.Length
}

// facts returns what of an object does not change with time alone, but for its holders and waiters.
func facts(o Object) Object {
	o.Possible, o.Keys, o.Holders, o.Token, o.Expires = nil, nil, nil, nil, nil
	if o.Queue != nil {
		o.Queue = &Queue{Length: o.Queue.Length}
	}
	return o
}
