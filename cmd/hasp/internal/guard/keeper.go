//go:build unix

package guard

import (
	"encoding/gob"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	never  = time.Duration(math.MaxInt64) // is later than each time of the clock
	settle = time.Second                  // is how long processes may take to end after SIGKILL before they are named
	again  = 50 * time.Millisecond        // is when they get it again
)

// keeper is a guard's state.
type keeper struct {
	family
	grace      time.Duration
	times      Times
	children   chan os.Signal // yields when a child's state has changed
	events     *gob.Encoder
	ended      bool          // the first process has
	childless  bool          // there was none to wait for
	rest       bool          // the others are to end, too
	all        bool          // also those with a session of their own
	termed     bool          // SIGTERM was sent, because it was time
	late       bool          // and no order had put the time off
	killed     time.Duration // when SIGKILL was sent first; 0: it was not
	named      bool          // the processes that it has not ended were
	unattended bool          // no order will come
}

func newKeeper(s *Spec) *keeper {
	k := &keeper{grace: s.Grace, times: s.Times, children: make(chan os.Signal, 1)}
	signal.Notify(k.children, syscall.SIGCHLD)
	return k
}

// report reports an event. A process that has ended reads none.
func (k *keeper) report(e Event) { _ = k.events.Encode(e) }

// begin starts the command, which reads seen, if its lease has not ended meanwhile.
func (k *keeper) begin(s *Spec, seen int) {
	if k.ended = Now() >= k.times.Term; k.ended {
		k.late = true
		return
	}
	files, fd := descriptors(seen)
	pid, err := syscall.ForkExec(s.Path, s.Args, &syscall.ProcAttr{
		Env: append(s.Env, "HASP_LEASE_FD="+strconv.Itoa(fd)), Files: files, Sys: attributes(s),
	})
	if k.first = pid; err != nil {
		k.ended = true
		k.report(Event{Failed: err.Error()})
		return
	}
	k.report(Event{Started: pid})
}

// descriptors returns the command's descriptors, the caller's all, and which of them is seen: the highest with one digit
// that the caller has not open, since some shells take no more digits.
func descriptors(seen int) (files []uintptr, fd int) {
	for fd = 9; fd > 2 && inherited(fd); fd-- {
	}
	if fd == 2 {
		_, _ = unix.FcntlInt(uintptr(seen), unix.F_SETFD, 0)
		return []uintptr{0, 1, 2}, seen
	}
	for i := range fd {
		if files = append(files, uintptr(i)); i > 2 && !inherited(i) {
			files[i] = ^uintptr(0)
		}
	}
	return append(files, uintptr(seen)), fd
}

// inherited reports whether a descriptor is the caller's: those of this program are closed for others.
func inherited(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}

// ordersOf returns the orders of r, and closes the channel at the end of r.
func ordersOf(r io.Reader) <-chan Order {
	orders := make(chan Order)
	go func() {
		defer close(orders)
		for d := gob.NewDecoder(r); ; {
			var o Order
			if d.Decode(&o) != nil {
				return
			}
			orders <- o
		}
	}()
	return orders
}

// keep ends the command's processes by the orders, and returns when none is left that is to end.
func (k *keeper) keep(orders <-chan Order, a *alarm) {
	defer signal.Stop(k.children)
	for k.reap(); !k.finished(); k.act(Now()) {
		a.set(k.next(Now()))
		select {
		case o, open := <-orders:
			if k.obey(o, Now()); !open {
				orders, k.unattended, k.all = nil, true, true
				k.times = Times{0, min(k.times.Kill, Now()+k.grace)}
			}
		case <-k.children:
			k.reap()
		case <-a.C:
		}
	}
	k.report(Event{Finished: true, Late: k.late})
}

// obey follows an order. After SIGTERM, an order does not put SIGKILL off.
func (k *keeper) obey(o Order, now time.Duration) {
	if o.Until != nil {
		if k.termed {
			o.Until.Kill = min(o.Until.Kill, k.times.Kill)
		}
		k.times = *o.Until
	}
	if o.Signal != 0 {
		k.signal(o.Signal, true)
	}
	if o.Rest {
		k.rest, k.all = true, k.all || o.All
		k.terminate()
		k.times.Kill = min(k.times.Kill, now+k.grace)
	}
}

func (k *keeper) act(now time.Duration) {
	if now >= k.times.Term && !k.termed {
		k.late, k.all = true, true
		k.terminate()
	}
	if now < k.times.Kill {
		return
	}
	if k.killed == 0 {
		k.killed = now
	}
	left := k.kill(k.every())
	if len(left) == 0 || k.named || now < k.killed+settle {
		return
	}
	k.named = true
	if k.report(Event{Left: left}); k.unattended {
		fmt.Fprintf(os.Stderr, "hasp: SIGKILL has not ended the processes %d\n", left)
	}
}

// terminate sends SIGTERM, also to stopped processes.
func (k *keeper) terminate() {
	k.termed = true
	k.signal(syscall.SIGTERM, k.every())
	k.signal(syscall.SIGCONT, k.every())
}

// next returns when act has something to do.
func (k *keeper) next(now time.Duration) time.Duration {
	switch {
	case k.killed > 0:
		return now + again
	case k.termed:
		return k.times.Kill
	}
	return min(k.times.Term, k.times.Kill)
}

// finished reports whether no process is left that is to end, or that can be ended.
func (k *keeper) finished() bool {
	return k.unattended && k.named || k.ended && k.over(k.every(), k.childless)
}

// every reports whether those are to end, too, that have a session of their own: they stay only at a normal end.
func (k *keeper) every() bool { return k.all || !k.rest }

// reap waits for the processes that have ended, and reports what has become of the first.
func (k *keeper) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(k.any(), &status, unix.WNOHANG|unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR: //nolint:errorlint // It is a number.
			continue
		case err != nil && !k.ended: // Another part of this process has waited for it.
			pid, status = k.first, 70<<8
		case pid <= 0:
			k.childless = err != nil
			return
		}
		switch {
		case pid != k.first:
		case status.Stopped():
			k.report(Event{Stopped: status.StopSignal()})
		default:
			k.ended = true
			k.report(Event{Ended: true, Status: status})
		}
	}
}
