package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// latchActs are the actions of a latchMachine.
var latchActs = slices.Concat([]string{
	"TrySetCount", "TrySetCount", "TrySetCount", "CountDown", "CountDown", "CountDown", "Count",
	"Await", "Wait", "Wait", "Wait", "HandOver", "HandOver", "HandOver", "Peer",
}, numberActs)

// latchMachine drives count-down latches.
type latchMachine struct{ *numberMachine }

func newLatchMachine(
	ctx context.Context, e *env, s setting, virtual bool, reach func(string),
) (machine, error) {
	channel := "redisson_countdownlatch__channel__{%s}"
	if e.Capabilities.Sharded {
		channel = "redisson_countdownlatch__channel__%s"
	}
	n, err := newNumberMachine(ctx, e, s, virtual, channel)
	if err != nil {
		return nil, err
	}
	m := &latchMachine{n}
	n.of, n.watch, n.reach = m, m, reach
	return m, nil
}

func (m *latchMachine) handle(c *numberCall) numberHandle { return m.latch(c) }

func (m *latchMachine) latch(c *numberCall) *primitives.CountDownLatch {
	return m.parties[c.party].client.NewCountDownLatch(m.nameFor(c, c.key.name))
}

// act implements machine.
func (m *latchMachine) act(ctx context.Context, a act) error {
	c := m.call(a)
	l := m.latch(c)
	switch a.Op {
	case "TrySetCount":
		c.run = func(ctx context.Context) (int64, error) {
			return told(l.TrySetCount(ctx, int64(1+a.Which%3)))
		}
	case "CountDown":
		c.run = l.CountDown
	case "Count":
		c.run = l.Count
	case "Wait", "Await":
		return m.wait(ctx, a)
	case "HandOver":
		return m.handOver(ctx, a)
	case "Peer":
		return m.peer(ctx, a)
	default:
		return m.numberMachine.act(ctx, a)
	}
	if a.Flag && a.Op != "Count" {
		c.impatient(a)
	}
	return m.make(ctx, c)
}

// wait begins a Wait, and ends it unless it waits in the background.
func (m *latchMachine) wait(ctx context.Context, a act) error {
	c := m.call(a)
	l := m.latch(c)
	c.waits, c.snap = true, snaps(a)
	c.run = func(ctx context.Context) (int64, error) { return 0, l.Wait(ctx) }
	if a.Op == "Await" || a.Which < 2 {
		c.impatient(a)
	}
	if a.Op == "Await" {
		return m.make(ctx, c)
	}
	m.background(ctx, c)
	return nil
}

// handOver opens a latch when somebody has just begun to wait, perhaps one who is not subscribed yet,
// or does not get the message.
func (m *latchMachine) handOver(ctx context.Context, a act) error {
	m.lateOrDeaf(a)
	begin := []act{a, a, a}
	for i, op := range []string{"TrySetCount", "Wait", "CountDown"} {
		begin[i].Op, begin[i].Flag, begin[i].Which = op, false, 3
	}
	begin[2].Client = a.Which % len(m.parties)
	if a.Which == 5 { // It publishes nothing.
		begin[2].Op = "Forget"
	}
	for _, next := range begin {
		if err := m.act(ctx, next); err != nil {
			return err
		}
	}
	m.pass(a.For + 10*time.Millisecond)
	if m.virtual && a.Which == 5 && m.poll < time.Minute {
		m.pass(m.poll * 5 / 4)
	}
	return nil
}

// peer changes the count as another program does, with a message or without.
func (m *latchMachine) peer(ctx context.Context, a act) error {
	key, count, message := m.keys[a.Object], int64(a.Which%3), ""
	if a.Flag {
		message = textOf(min(count, 1))
	}
	return m.meddle(key, message, func() error {
		if key.gone(); count == 0 {
			return m.do(ctx, "DEL", key.name)
		}
		key.set(count)
		return m.do(ctx, "SET", key.name, textOf(count))
	})
}

func (m *latchMachine) ready(c *numberCall) bool { return !c.key.other && c.key.value == 0 }

func (m *latchMachine) overflows(*numberKey, *scriptRun) bool { return false }

// judged implements numberKind: a Wait returns only if the count was 0 meanwhile.
func (m *latchMachine) judged(c *numberCall) error {
	if !c.waits || c.err != nil {
		return m.wentOn(c)
	}
	m.reach("opening")
	if c.key.value > 0 && c.key.left.Before(c.began) {
		return fmt.Errorf("the latch has been at %v since before", c.key)
	}
	return nil
}

// wentOn returns an error if a Wait failed that had seen the latch open. In real time its caller may
// have left when the answer had come to the link, and not to the client yet.
func (m *latchMachine) wentOn(c *numberCall) error {
	open := c.last.value == 0 && c.last.err == nil
	if m.virtual && c.waits && open && !c.last.at.IsZero() && c.last.at.Before(c.ended) {
		return errors.New("the latch was open")
	}
	return nil
}

// step implements numberKind.
func (m *latchMachine) step(key *numberKey, r *scriptRun, value int64) error {
	in, out, message := model.LatchInput{}, model.LatchOutput{Done: value == 1, Left: value}, ""
	switch r.name {
	case "latch_set":
		in.Op = model.LatchSet
		in.N, _ = strconv.ParseInt(r.args[0], 10, 64)
		message = "1"
	case "latch_count_down":
		in.Op, message = model.LatchCountDown, "0"
	case "latch_count":
		in.Op = model.LatchCount
	case "latch_delete":
		in.Op, message = model.LatchDelete, "0"
	}
	next, ok := model.LatchState(key.value).Step(in, out)
	if !ok {
		return fmt.Errorf("but it was at %v", key)
	}
	m.become(key, int64(next), message)
	return nil
}

// become notes what a script has made of a latch: the first count and the last are published.
func (m *latchMachine) become(key *numberKey, count int64, message string) {
	switch was := key.value; {
	case was == count:
	case count == 0:
		key.gone()
		m.changed(key, message)
	case was == 0:
		key.set(count)
		m.changed(key, message)
	default:
		key.set(count)
	}
}
