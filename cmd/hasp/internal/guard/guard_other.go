//go:build unix && !linux

package guard

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Start starts a command and its guard. The command reads seen.
func Start(s *Spec, seen *os.File) (*Guard, error) {
	k := newKeeper(s)
	return inProcess(k, func() { k.begin(s, int(seen.Fd())) })
}

// attributes gives the command a group of its own.
func attributes(s *Spec) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Foreground: s.Foreground}
}

// Check does nothing: here a guard is not stopped alone.
func (*Guard) Check() {}

// Children returns nil: here only a group is known.
func Children() []int { return nil }

// Adopt is for guards that are processes.
func Adopt(*Spec, int, bool, []int) (*Guard, error) { panic("guard: not a process") }

// zero is the zero of the clock.
var zero = time.Now()

// Now returns the time by the monotonic clock. Its zero has no meaning.
func Now() time.Duration { return time.Since(zero) }

// alarm yields at a time of the clock.
type alarm struct{ *time.Timer }

func newAlarm() (*alarm, error) { return &alarm{time.NewTimer(never)}, nil }

// set sets the time at which a yields next.
func (a *alarm) set(at time.Duration) { a.Reset(at - Now()) }

// family are the processes of a command: a group.
type family struct{ first int }

// any is what wait4 takes.
func (f *family) any() int { return f.first }

// left returns the group, while it has processes.
func (f *family) left(bool) []int {
	if f.first == 0 || unix.Kill(-f.first, 0) == unix.ESRCH { //nolint:errorlint // It is a number.
		return nil
	}
	return []int{f.first}
}

// over reports whether none is left.
func (f *family) over(bool, bool) bool { return len(f.left(true)) == 0 }

// kill sends SIGKILL to the group, and returns it.
func (f *family) kill(bool) []int {
	f.signal(unix.SIGKILL, true)
	return f.left(true)
}

func (f *family) signal(s syscall.Signal, _ bool) {
	if f.first > 0 {
		_ = unix.Kill(-f.first, s)
	}
}
