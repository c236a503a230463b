package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// semaphoreActs are the actions of a semaphoreMachine.
var semaphoreActs = slices.Concat([]string{
	"TryAcquire", "TryAcquire", "Acquire", "Acquire", "Wait", "Wait", "Wait", "Wait", "HandOver",
	"HandOver", "Snatch", "Snatch", "Crowd", "Crowd", "Release", "Release", "Release", "Release", "Add", "Add",
	"Drain", "Set", "Peer", "Peer", "Available",
}, numberActs)

// semaphoreMachine drives semaphores.
type semaphoreMachine struct {
	*numberMachine
	takes []*permitTake
	added map[*numberKey]int64 // permits
}

func newSemaphoreMachine(
	ctx context.Context, e *env, s setting, virtual bool, reach func(string),
) (machine, error) {
	n, err := newNumberMachine(ctx, e, s, virtual, "redisson_sc:%s")
	if err != nil {
		return nil, err
	}
	m := &semaphoreMachine{numberMachine: n, added: map[*numberKey]int64{}}
	n.of, n.watch, n.reach = m, m, reach
	for _, key := range m.keys {
		err = errors.Join(err, m.set(ctx, key, 2, ""))
	}
	return m, err
}

// set makes the number of free permits another, as a peer does.
func (m *semaphoreMachine) set(ctx context.Context, key *numberKey, free int64, message string) error {
	return m.meddle(key, message, func() error {
		m.added[key] += free - key.value
		key.other, key.ends = false, model.Moment{}
		key.set(free)
		return m.do(ctx, "SET", key.name, textOf(free))
	})
}

func (m *semaphoreMachine) handle(c *numberCall) numberHandle { return m.semaphore(c) }

func (m *semaphoreMachine) semaphore(c *numberCall) *primitives.Semaphore {
	return m.parties[c.party].client.NewSemaphore(m.nameFor(c, c.key.name), nil)
}

// act implements machine.
func (m *semaphoreMachine) act(ctx context.Context, a act) error {
	c := m.call(a)
	s := m.semaphore(c)
	switch a.Op {
	case "TryAcquire", "Acquire", "Wait":
		return m.acquire(ctx, a)
	case "HandOver":
		return m.handOver(ctx, a)
	case "Snatch":
		return m.snatch(ctx, a)
	case "Crowd":
		return m.crowd(ctx, a)
	case "Release":
		return m.release(ctx, a)
	case "Add":
		delta := []int{1, 2, 5, -1, -2, math.MaxInt32}[a.Which]
		c.sure = true
		c.run = func(ctx context.Context) (int64, error) { return done(s.AddPermits(ctx, delta)) }
	case "Drain":
		c.run = func(ctx context.Context) (int64, error) {
			n, err := s.DrainPermits(ctx)
			return int64(n), err
		}
		c.snap = snaps(a)
		if a.Flag {
			c.impatient(a)
		}
	case "Set":
		c.run = func(ctx context.Context) (int64, error) { return told(s.TrySetPermits(ctx, a.Which)) }
	case "Available":
		c.run = func(ctx context.Context) (int64, error) {
			n, err := s.AvailablePermits(ctx)
			return int64(n), err
		}
	case "Peer":
		return m.peer(ctx, a)
	default:
		return m.numberMachine.act(ctx, a)
	}
	return m.make(ctx, c)
}

// done turns a success into a number.
func done(err error) (int64, error) { return told(err == nil, err) }

// needs are how many permits are acquired, mostly one.
var needs = []int{1, 1, 1, 2, 3, 5}

// acquire begins an acquire, and ends it unless it waits in the background.
func (m *semaphoreMachine) acquire(ctx context.Context, a act) error {
	c, n := m.call(a), needs[(a.Which+int(a.For.Milliseconds()))%len(needs)]
	c.need, c.waits, c.snap = int64(n), a.Op != "TryAcquire", snaps(a)
	s := m.semaphore(c)
	take := s.Acquire
	if !c.waits {
		take = s.TryAcquire
	}
	c.run = func(ctx context.Context) (int64, error) { return done(take(ctx, n)) }
	switch {
	case a.Op == "Acquire", a.Op == "TryAcquire" && a.Flag, a.Op == "Wait" && a.Which < 2:
		c.impatient(a)
	}
	if a.Op != "Wait" {
		return m.make(ctx, c)
	}
	m.background(ctx, c)
	return nil
}

// handOver adds permits when somebody has just begun to wait, perhaps one who is not subscribed yet,
// or does not get the message.
func (m *semaphoreMachine) handOver(ctx context.Context, a act) error {
	m.lateOrDeaf(a)
	wait, add := a, a
	wait.Op, wait.Which, add.Op = "Wait", 2+a.Which/2, "Add"
	add.Client, add.Which = a.Which%len(m.parties), a.Which%3
	if a.Which == 5 { // It publishes nothing.
		add.Op, add.Flag = "Peer", false
	}
	if err := errors.Join(m.acquire(ctx, wait), m.act(ctx, add)); err != nil {
		return err
	}
	m.pass(a.For + 10*time.Millisecond)
	if m.virtual && a.Which == 5 && m.poll < time.Minute {
		m.pass(m.poll * 5 / 4)
	}
	return nil
}

// crowd has several callers of one client wait, of whom the first hears late that it has to, or loses
// the script that it is woken for, before a peer adds permits.
func (m *semaphoreMachine) crowd(ctx context.Context, a act) error {
	const odd = 23 * time.Microsecond
	p := m.parties[a.Client]
	m.setLink(p, trouble{}, 0, 0)
	if a.Which < 2 {
		m.troubleNext(p, trouble{Before: odd, After: 20*time.Millisecond + odd})
	}
	for i := range 3 {
		wait := a
		wait.Op, wait.Which, wait.For = "Wait", 2, a.For+time.Duration(i)*time.Millisecond
		if err := m.acquire(ctx, wait); err != nil {
			return err
		}
	}
	m.pass(5 * time.Millisecond)
	if a.Which > 1 {
		m.troubleNext(p, trouble{Before: odd, Loss: []loss{dial, request, reply, link}[a.Which-2]})
	}
	if err := m.peer(ctx, act{Object: a.Object, Which: 1 + int(a.For.Milliseconds())%3, Flag: true}); err != nil {
		return err
	}
	m.pass(a.For + deaf + 10*time.Millisecond)
	return nil
}

// snatch gives up on a waiter at about the time of its grant.
func (m *semaphoreMachine) snatch(ctx context.Context, a act) error {
	p := m.parties[a.Client]
	slow := time.Duration(1+a.Which) * 7 * time.Millisecond
	m.setLink(p, trouble{Before: slow, After: slow}, 0, 0)
	wait, add := a, a
	wait.Op, wait.Which, add.Op, add.Which = "Wait", 2+a.Which/2, "Add", 2
	if err := m.acquire(ctx, wait); err != nil {
		return err
	}
	m.pass(3 * slow)
	if err := m.act(ctx, add); err != nil {
		return err
	}
	m.pass(a.For % (2 * slow))
	if err := m.act(ctx, act{Op: "GiveUp", Which: len(m.waits) - 1}); err != nil || !a.Flag {
		return err
	}
	m.setLink(p, trouble{Before: slow, Loss: dial}, 0, 0) // What it took cannot be put back at once.
	m.pass(3 * slow)
	m.setLink(p, trouble{}, 0, 0)
	m.pass(deaf)
	return nil
}

// peer changes the number as another program does, with a message or without.
func (m *semaphoreMachine) peer(ctx context.Context, a act) error {
	key := m.keys[a.Object]
	free, other := m.now(key)
	if free += int64([]int{1, 1, 2, 5, -1, -3}[a.Which]); other || free > math.MaxInt32 {
		return nil
	}
	message := ""
	if a.Flag && free > 0 {
		message = textOf(free)
	}
	return m.set(ctx, key, free, message)
}

// release releases what is held, by any client: nobody owns a permit.
func (m *semaphoreMachine) release(ctx context.Context, a act) error {
	c := m.call(a)
	t := m.pick(a, c)
	if t == nil {
		return nil
	}
	c.key, c.need, c.sure = t.key, t.n, true
	s := m.semaphore(c)
	c.run = func(ctx context.Context) (int64, error) {
		if a.Flag {
			return told(s.ReleaseIfExists(ctx, int(t.n)))
		}
		return done(s.Release(ctx, int(t.n)))
	}
	if a.Which < 3 {
		c.impatient(a)
	}
	return m.make(ctx, c)
}

func (m *semaphoreMachine) ready(c *numberCall) bool {
	return c.key.exists && !c.key.other && c.key.value >= c.need
}

func (m *semaphoreMachine) overflows(key *numberKey, r *scriptRun) bool {
	if r.name != "semaphore_add" || !key.exists && r.args[1] == "0" {
		return false
	}
	delta, _ := strconv.ParseInt(r.args[0], 10, 64)
	return key.value+delta > math.MaxInt32 || key.value+delta < math.MinInt32
}

// step implements numberKind.
func (m *semaphoreMachine) step(key *numberKey, r *scriptRun, value int64) error {
	var n int64
	if len(r.args) > 0 {
		n, _ = strconv.ParseInt(r.args[0], 10, 64)
	}
	in, out := model.SemaphoreInput{N: int(n)}, model.SemaphoreOutput{N: int(value)}
	switch r.name {
	case "semaphore_acquire":
		in.Op, out.Taken = model.SemaphoreAcquire, value == 1
	case "semaphore_drain":
		in.Op = model.SemaphoreDrain
	case "semaphore_available":
		in.Op = model.SemaphoreAvailable
	case "semaphore_set":
		return m.stepSet(key, n, value == 1)
	case "semaphore_add":
		return m.stepAdd(key, r, n, value == 1)
	}
	next, ok := model.SemaphoreState{Free: int(key.value)}.Step(in, out)
	if taken := key.value - int64(next.Free); ok && taken > 0 {
		key.set(int64(next.Free))
		m.take(key, r, taken)
		m.changed(key, "")
	}
	if !ok || out.Taken && !isLeft(r, key.value) {
		return fmt.Errorf("but %v were free", key)
	}
	return nil
}

// isLeft reports whether the answer to an acquire has the number of permits that it left.
func isLeft(r *scriptRun, free int64) bool {
	items, err := r.reply.Tuple(2)
	if err != nil {
		return false
	}
	left, err := items[1].Int()
	return err == nil && left == free
}

func (m *semaphoreMachine) stepSet(key *numberKey, n int64, made bool) error {
	if made == key.exists {
		return fmt.Errorf("but it was %v", key)
	}
	if made {
		key.set(n)
		m.added[key] += n
		message := ""
		if n > 0 {
			message = textOf(n)
		}
		m.changed(key, message)
	}
	return nil
}

func (m *semaphoreMachine) stepAdd(key *numberKey, r *scriptRun, n int64, added bool) error {
	create := r.args[1] == "1"
	if added != (key.exists || create) {
		return fmt.Errorf("but it was %v", key)
	}
	if added {
		next, _ := model.SemaphoreState{Free: int(key.value)}.Step(
			model.SemaphoreInput{Op: model.SemaphoreAdd, N: int(n)}, model.SemaphoreOutput{})
		key.set(int64(next.Free))
	}
	m.returned(key, r, n, added)
	message := ""
	if added && n > 0 && key.value > 0 {
		message = textOf(key.value)
	}
	m.changed(key, message)
	return nil
}
