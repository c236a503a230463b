package inspect

import (
	"context"
	"encoding/hex"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (r *reading) objects(ctx context.Context) (all []Object, err error) {
	if m, is := r.mutex(); is {
		all = append(all, m)
	}
	main := r.found[r.key]
	switch main.kind {
	case "none":
		return append(all, r.withoutMain()...), nil
	case "hash":
		err = r.hash(ctx, main, &all)
	case "zset":
		all = append(all, r.counting(main))
	case "string":
		all = append(all, r.text(main))
	default:
		all = append(all, r.object(Unknown, main))
	}
	return all, err
}

// withoutMain returns the objects that nobody holds, but that have other keys.
func (r *reading) withoutMain() (all []Object) {
	if lock := r.lock(); len(lock.Keys) > 0 {
		all = append(all, lock)
	}
	if parts := r.of(r.side("hasp_latch_parts"), "hash"); parts.is() {
		open := r.object(PartsLatch, parts)
		open.Value = "0"
		all = append(all, open)
	}
	return all
}

func (r *reading) hash(ctx context.Context, main value, all *[]Object) error {
	_, moded := main.field("mode")
	switch limit, is := rateOf(main); {
	case moded:
		o, err := r.readWrite(ctx, main)
		*all = append(*all, o)
		return err
	case is:
		*all = append(*all, r.rateLimiter(main, limit))
	case main.size == 1 && strings.Contains(main.texts[0], ":") && number(main.texts[1]) != nil:
		*all = append(*all, r.lock())
	default:
		*all = append(*all, r.object(Unknown, main))
	}
	return nil
}

// lock returns a lock, by all keys of its kinds.
func (r *reading) lock() Object {
	main, token := r.of(r.key, "hash"), r.of(r.side("redisson_lock_token"), "string")
	stored, completed := r.of(r.side("hasp_lock_holder"), "string"), r.of(r.behind(":completed"), "string")
	queue, timeouts := r.of(r.side("redisson_lock_queue"), "list"), r.of(r.side("redisson_lock_timeout"), "zset")
	deadlines, kept := r.of(r.side("hasp_lock_deadline"), "hash"), r.of(r.behind(":memo"), "hash")
	o := r.object(Lock, main, token, stored, completed, kept, queue, timeouts, deadlines)
	o.Token, o.Held = token.number(), ref(int64(0))
	elected, runs := false, false
	if main.is() {
		*o.Held, o.Holders = 1, []Holder{r.holder(main.texts[0], r.expires(main))}
		elected = o.Holders[0].describe(stored.text())
		o.Holders[0].Metadata, runs = strings.CutPrefix(o.Holders[0].Metadata, "memo\n")
	}
	switch {
	case runs, kept.is():
		o.Kind, o.KeptUntil = Memo, r.expires(kept)
	case completed.is():
		o.Kind, o.LastRun = PeriodicJob, milliseconds(completed.text())
	case queue.is():
		o.Kind, o.Queue = FairLock, r.fairQueue(queue, deadlines)
	case elected:
		o.Kind = Election
	case stored.is():
		o.Possible = []Kind{Lock, Election}
	default:
		o.Possible = []Kind{Lock, FairLock, ReadWriteLock, PeriodicJob}
		if main.is() {
			o.Possible = []Kind{Lock, FairLock, PeriodicJob}
		}
	}
	return o
}

// date adds to holders the times of their grants, if o's token is of these: tokens are microseconds of the server's
// clock, and later ones if that was set back. Readers have the last writer's token, and Redisson's locks mostly none.
func (o *Object) date(now time.Time) {
	for i, h := range o.Holders {
		if o.Token == nil || h.Since != nil || h.Revoked || h.Mode == "read" || !ours.MatchString(h.Owner) {
			continue
		}
		if since := time.UnixMicro(*o.Token); !since.After(now) {
			o.Holders[i].Since = &since
		}
	}
}

// ours matches owners of this package. They end with a random number, and Redisson's with that of a thread.
var ours = regexp.MustCompile(`:\d{10,}$`)

// describe adds to a holder what it has stored, if that is its own, and reports whether it is the leader of an election:
// without an ID of its own a candidate is called as its process and its client.
func (h *Holder) describe(stored string) (elected bool) {
	lines := strings.SplitN(stored, "\n", 5)
	if len(lines) != 5 || lines[0] != h.Owner {
		return false
	}
	if since := number(lines[1]); since != nil {
		h.Since = ref(time.UnixMicro(*since))
	}
	h.Host = lines[2]
	h.PID, _ = strconv.Atoi(lines[3]) //nolint:errcheck // 0: it stored none.
	client := h.Owner[:max(0, strings.LastIndexByte(h.Owner, ':'))]
	h.Metadata, elected = strings.CutPrefix(lines[4], strings.Join([]string{h.Host, lines[3], client}, ":")+"\n")
	return elected
}

// fairQueue returns the queue of a fair lock. Waiters of Redisson have no deadlines of ours.
func (r *reading) fairQueue(queue, deadlines value) *Queue {
	q := &Queue{Length: queue.size}
	for _, owner := range queue.texts {
		w := Waiter{Owner: owner, Mine: r.mine(owner)}
		text, _ := deadlines.field(owner)
		at, timeout, _ := strings.Cut(text, " ")
		if deadline, rest := number(at), number(timeout); deadline != nil && rest != nil {
			w.Silent = ref(max(0, r.now.Sub(time.UnixMilli(*deadline-*rest))))
		}
		q.First = append(q.First, w)
	}
	return q
}

func (r *reading) mutex() (Object, bool) {
	key := r.side("hasp_mutex")
	main, token := r.of(key, "string"), r.of(key+":token", "string")
	queue, signs := r.of(key+":queue", "zset"), r.of(key+":signs", "hash")
	o := r.object(Mutex, main, token, queue, signs)
	o.Token, o.Held, o.Queue = token.number(), ref(int64(0)), &Queue{Length: queue.size}
	if main.is() {
		*o.Held, o.Holders = 1, []Holder{r.holder(main.text(), r.expires(main))}
	}
	for i, waiter := range queue.pairs() {
		if i == most {
			break
		}
		o.Queue.First = append(o.Queue.First, r.mutexWaiter(waiter[0], waiter[1], signs))
	}
	return o, len(o.Keys) > 0
}

// mutexWaiter returns a waiter with its number, the microsecond in which it came. Before its second heartbeat it has no
// sign; of many signs only some were read.
func (r *reading) mutexWaiter(owner, arrival string, signs value) Waiter {
	w := Waiter{Owner: owner, Mine: r.mine(owner)}
	micros, err := strconv.ParseFloat(arrival, 64)
	if err != nil {
		return w
	}
	last := time.UnixMicro(int64(micros))
	w.Since = &last
	sign, signed := signs.field(owner)
	at, _, _ := strings.Cut(sign, " ")
	if ms := number(at); ms != nil {
		last = time.UnixMilli(*ms)
		w.Since = ref(time.UnixMicro(int64(micros)))
	}
	if signed || signs.size == int64(len(signs.pairs())) {
		w.Silent = ref(max(0, r.now.Sub(last)))
	}
	return w
}

// readWrite returns a read-write lock that readers or a writer hold. The leases of the readers are read later than the
// lock: a reader that is gone by then has no lease.
func (r *reading) readWrite(ctx context.Context, main value) (Object, error) {
	waiting, token := r.of(r.side("hasp_rwlock_writer"), "hash"), r.of(r.side("redisson_lock_token"), "string")
	o := r.object(ReadWriteLock, main, token, waiting)
	o.Token, o.Held = token.number(), ref(main.size-1)
	var leases []string
	for _, f := range main.pairs() {
		if owner, writes := strings.CutSuffix(f[0], ":write"); f[0] != "mode" && len(o.Holders) < most {
			o.Holders = append(o.Holders, Holder{Owner: owner, Mode: map[bool]string{true: "write", false: "read"}[writes]})
			leases = append(leases, r.behind(":"+owner+":rwlock_timeout:1"))
		}
	}
	if len(leases) == 0 {
		return o, nil
	}
	if err := r.read(ctx, leases...); err != nil {
		return o, err
	}
	for i, h := range o.Holders {
		until := r.expires(r.found[leases[i]])
		switch {
		case h.Mode == "write":
			until = o.Expires
		case r.found[leases[i]].kind == "none": // It has ended, and the next call of a client removes the reader.
			until = ref(r.now)
		}
		o.Holders[i] = r.holder(h.Owner, until)
		o.Holders[i].Mode = h.Mode
	}
	return o, nil
}

// owned is the name of an owner. No other program has members with such names.
var owned = regexp.MustCompile(`^(?:.*-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+$`)

// counting returns a counting semaphore. How many slots it has, the server does not know.
func (r *reading) counting(main value) Object {
	order, counter := r.of(r.behind(":owner"), "zset"), r.of(r.behind(":counter"), "string")
	o := r.object(CountingSemaphore, main, order, counter)
	o.Held = ref(main.ahead)
	for _, m := range main.pairs() {
		if until := milliseconds(m[1]); until != nil && !until.Before(r.now.Truncate(time.Millisecond)) && len(o.Holders) < most {
			o.Holders = append(o.Holders, r.holder(m[0], until))
		}
	}
	if !order.is() {
		if slices.ContainsFunc(main.pairs(), func(m [2]string) bool { return !owned.MatchString(m[0]) }) {
			o.Possible = []Kind{CountingSemaphore, Unknown}
		}
		return o // By time its waiters are not stored.
	}
	o.Queue = &Queue{Length: order.size}
	for i, m := range order.pairs() {
		if i < most {
			o.Queue.First = append(o.Queue.First, Waiter{Owner: m[0], Mine: r.mine(m[0])})
		}
	}
	return o
}

func rateOf(main value) (Rate, bool) {
	permits, _ := main.field("rate")
	interval, _ := main.field("interval")
	kind, typed := main.field("type")
	n, ms := number(permits), number(interval)
	if n == nil || ms == nil || !typed || *n < 0 || *ms < 0 || *ms > math.MaxInt64/int64(time.Millisecond) {
		return Rate{}, false
	}
	return Rate{Permits: *n, Interval: time.Duration(*ms) * time.Millisecond, PerClient: kind == "1"}, true
}

// rateLimiter returns a rate limiter. Old grants still count as taken until the next call of a client, so what is free
// is known only if there are none.
func (r *reading) rateLimiter(main value, rate Rate) Object {
	left, grants := r.of(r.behind(":value"), "string"), r.of(r.behind(":permits"), "zset")
	o := r.object(RateLimiter, main, left, grants)
	o.Rate = &rate
	switch oldest := grants.pairs(); {
	case rate.PerClient:
	case len(oldest) == 0:
		o.Free = ref(rate.Permits)
	default:
		if at := milliseconds(oldest[0][1]); at != nil && r.now.Before(at.Add(rate.Interval)) {
			o.Free = left.number()
		}
	}
	return o
}

// throttled is the text of a throttle: the last grant, in seconds and microseconds, and what was owed then, in
// microseconds.
var throttled = regexp.MustCompile(`^(\d{1,11}) (\d{1,6}) (\d{1,14})(?: \d+ \d+)?$`)

// textOfOwner is the text of a plain lock's owner, of any program: their libraries make texts of 16 to 48 characters.
var textOfOwner = regexp.MustCompile(`^[!-~]{8,128}$`)

// text returns the object of a text. A number alone says little about its kind.
func (r *reading) text(main value) Object {
	leases, parts := r.of(r.behind(":timeout"), "zset"), r.of(r.side("hasp_latch_parts"), "hash")
	blocks := r.of(r.behind(":allocation"), "string")
	state, count := throttled.FindStringSubmatch(main.text()), main.number()
	_, err := strconv.ParseFloat(main.text(), 64)
	switch {
	case leases.is() && count != nil:
		return r.permits(main, leases, *count)
	case state != nil:
		o := r.object(Throttle, main)
		o.OwedUntil = ref(time.Unix(*number(state[1]), 0).Add(time.Duration(*number(state[2])+*number(state[3])) * time.Microsecond))
		return o
	case parts.is() && count != nil:
		return withValue(r.object(PartsLatch, main, parts), main)
	case blocks.is() && count != nil:
		return withValue(r.object(IDGenerator, main, blocks), main)
	case count != nil:
		return withValue(r.object(AtomicLong, main), main, AtomicLong, AtomicDouble, CountDownLatch, Semaphore, PermitSemaphore, Unknown)
	case err == nil:
		return withValue(r.object(AtomicDouble, main), main, AtomicDouble, Unknown)
	case textOfOwner.MatchString(main.text()):
		o := r.object(PlainLock, main)
		o.Possible, o.Held, o.Holders = []Kind{PlainLock, Unknown}, ref(int64(1)), []Holder{r.holder(main.text(), r.expires(main))}
		return o
	}
	return r.object(Unknown, main)
}

// withValue returns an object with the value of its main key, and the kinds that it may have.
func withValue(o Object, main value, possible ...Kind) Object {
	o.Value, o.Possible = main.text(), possible
	return o
}

// permits returns a permit semaphore. A permit whose lease has ended is free, though its key does not count it yet.
func (r *reading) permits(main, leases value, free int64) Object {
	o := r.object(PermitSemaphore, main, leases)
	o.Held, o.Total = ref(leases.ahead), ref(free+leases.size)
	o.Free = ref(*o.Total - leases.ahead)
	for _, m := range leases.pairs() {
		until := milliseconds(m[1])
		if (until == nil || until.After(r.now)) && len(o.Holders) < most {
			o.Holders = append(o.Holders, r.holder(hex.EncodeToString([]byte(m[0])), until))
		}
	}
	return o
}
