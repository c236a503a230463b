package guard

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Separate says that a guard acts even while the process that started it is stopped.
const Separate = true

// Self returns the path of the running program, even if its file was replaced.
func Self() (string, error) { return "/proc/self/exe", nil }

// The descriptors of a guard's process.
const (
	messagesFD = 3
	knownFD    = 4
)

// actedCode is the exit code of a guard that sent SIGTERM.
const actedCode = 3

// Start starts a guard, which has known from then on: when the guard knows the group, it writes a byte to known. If it
// ends before, known is closed.
func Start(known *os.File) (*Guard, error) {
	defer func() { _ = known.Close() }()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	c := exec.Cmd{
		Path: "/proc/self/exe", Args: []string{Name}, ExtraFiles: []*os.File{r, known},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	// So this process can wait for the processes of the group whose parents have ended.
	err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	done := make(chan bool, 2)
	go func() {
		var exit *exec.ExitError
		acted := errors.As(c.Wait(), &exit) && exit.ExitCode() == actedCode
		done <- acted
		done <- acted // For End, after a reader of Done.
	}()
	return &Guard{messages: w, done: done}, nil
}

// Main is the program of a guard. It returns its exit code.
func Main() int {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGPIPE)
	a, err := newAlarm()
	if err != nil {
		return 1
	}
	known := os.NewFile(knownFD, "known")
	acted := keep(os.NewFile(messagesFD, "messages"), a, func() {
		_, _ = known.Write([]byte{'\n'})
		_ = known.Close()
	})
	if acted {
		return actedCode
	}
	return 0
}

// Now returns the time by a clock that goes on while the machine is suspended. Its zero has no meaning.
func Now() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic("guard: " + err.Error()) // Linux 2.6.39 and later have it.
	}
	return time.Duration(now.Nano())
}

// alarm yields at a time of the clock, even if that was while the machine was suspended.
type alarm struct {
	C     chan struct{}
	timer int
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	a := &alarm{C: make(chan struct{}), timer: fd}
	go func() {
		for expirations := make([]byte, 8); ; {
			if _, err := unix.Read(fd, expirations); err == nil {
				a.C <- struct{}{}
			}
		}
	}()
	return a, nil
}

// set sets the time at which a yields next.
func (a *alarm) set(at time.Duration) {
	when := unix.NsecToTimespec(max(1, at.Nanoseconds())) // 0 would disarm it.
	_ = unix.TimerfdSettime(a.timer, unix.TFD_TIMER_ABSTIME, &unix.ItimerSpec{Value: when}, nil)
}
