//go:build unix

package guard

import (
	"encoding/gob"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Spec is a command, and how to guard it.
type Spec struct {
	Path       string
	Args       []string // the first is the command's name
	Env        []string // HASP_LEASE_FD is added
	Grace      time.Duration
	Times      Times
	Session    int  // on Linux: a process in another one is a daemon
	Foreground bool // elsewhere: its own group gets the terminal
}

// Times are when the command gets SIGTERM, and when SIGKILL, by the clock of [Now].
type Times struct{ Term, Kill time.Duration }

// Order is a message to a guard. Its fields do not depend on each other.
type Order struct {
	Start  *Spec // only the first order has it
	Until  *Times
	Signal syscall.Signal // each process gets it
	Rest   bool           // the first process has ended: the others are to end, too
	All    bool           // with Rest: also those that have a session of their own
}

// Event is what a guard reports.
type Event struct {
	Started  int            // the command's first process
	Failed   string         // why there is none
	Stopped  syscall.Signal // it has stopped the first process
	Ended    bool           // the first process has, with Status
	Status   unix.WaitStatus
	Left     []int // processes that SIGKILL has not ended
	Finished bool  // the last event: no process is left that was to end
	Late     bool  // with Finished: the guard ended the command, since no order had put the time off
}

// Guard is a guard, for the process that has started it. Its methods are for one goroutine.
type Guard struct {
	orders  *os.File
	encoder *gob.Encoder
	events  chan Event
	process *os.Process // nil: a goroutine of this process
}

// open returns a guard that runs with the other ends of its pipes.
func open(run func(orders, events *os.File) (*os.Process, error)) (*Guard, error) {
	in, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	events, out, err := os.Pipe()
	if err == nil {
		g := &Guard{orders: orders, encoder: gob.NewEncoder(orders), events: make(chan Event, 16)}
		if g.process, err = run(in, out); err == nil {
			go g.read(events)
			return g, nil
		}
		_, _ = events.Close(), out.Close()
	}
	_, _ = orders.Close(), in.Close()
	return nil, err
}

func (g *Guard) read(events *os.File) {
	defer close(g.events)
	defer events.Close()
	for d := gob.NewDecoder(events); ; {
		var e Event
		if d.Decode(&e) != nil {
			break
		}
		g.events <- e
	}
	if g.process != nil {
		_, _ = g.process.Wait()
	}
}

// Events yields what the guard reports. It is closed when the guard has ended: if no event was the last, it was killed.
func (g *Guard) Events() <-chan Event { return g.events }

// Send sends an order. A guard that leaves its pipe full is killed, since it guards nothing either.
func (g *Guard) Send(o Order) {
	_ = g.orders.SetWriteDeadline(time.Now().Add(time.Second))
	if g.encoder.Encode(o) != nil && g.process != nil {
		_ = g.process.Kill()
	}
}

// Close says that no order will come: the guard ends all processes.
func (g *Guard) Close() { _ = g.orders.Close() }

// inProcess returns a guard that is a goroutine of this process.
func inProcess(k *keeper, begin func()) (*Guard, error) {
	return open(func(orders, events *os.File) (*os.Process, error) {
		a, err := newAlarm()
		if err != nil {
			return nil, err
		}
		k.events = gob.NewEncoder(events)
		begin()
		go func() {
			defer events.Close()
			defer orders.Close()
			k.keep(ordersOf(orders), a)
		}()
		return nil, nil //nolint:nilnil // There is no process.
	})
}
