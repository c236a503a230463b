//go:build unix

package child

import (
	"errors"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hasp-go/hasp/cmd/hasp/internal/guard"
)

// Pause stops this process until SIGCONT if s is SIGTSTP, and reports whether it was.
func Pause(s os.Signal) bool {
	if s == syscall.SIGTSTP {
		pause()
	}
	return s == syscall.SIGTSTP
}

// passed are the signals that the command gets from this process. After the first four it has its grace to end.
var passed = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGTSTP,
}

// Ends reports whether a command is to end after a signal, and a process that still waits for its lease, too.
func Ends(s os.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// Run runs the command under a lease, and returns when all processes of its group have ended. The command has the
// standard files and, with one, the terminal of this process. signals are those of [Notify].
//
// If the lease cannot be renewed, the command gets SIGTERM, and SIGKILL before the lease ends. If the lease is lost,
// it gets SIGKILL at once. An error means that the command was not started.
func (c *Command) Run(lease Lease, signals <-chan os.Signal) (Result, error) {
	r := &running{
		Command: c, lease: lease, granted: lease.Remaining(), terminal: findTerminal(), states: make(chan unix.WaitStatus),
	}
	if err := r.start(); err != nil {
		return Result{}, err
	}
	defer r.held.Close()
	status := r.wait(signals)
	r.signal(syscall.SIGKILL) // What the command has left behind.
	r.reap()
	r.terminal.take()
	return Result{Code: codeOf(status), Late: r.guard.End(), Unguarded: r.unguarded}, nil
}

// Notify returns the signals that a command is to get. Those that this process was started to ignore, as nohup does,
// stay ignored. Call Notify before the lease is acquired, and stop at the end.
func Notify() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, slices.DeleteFunc(slices.Clone(passed), signal.Ignored)...)
	return c, func() { signal.Stop(c) }
}

// running is a command that runs.
type running struct {
	*Command
	lease     Lease
	granted   time.Duration // the rest of the lease at the start: after another's release a Mutex has less than the lease
	group     int           // the process id of its first process
	guard     *guard.Guard
	terminal  *terminal
	held      *os.File // the command sees when it is closed
	states    chan unix.WaitStatus
	ending    time.Duration // when it has had its grace after a signal, by the guard's clock; 0: no signal
	unguarded bool          // the guard was killed
}

// start starts the command, and its guard before. The command is a stub first, which waits until the guard knows it.
func (r *running) start() error {
	self, err := guard.Self()
	if err != nil {
		return err
	}
	ready, known, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	seen, held, err := os.Pipe()
	if err != nil {
		_ = known.Close()
		return err
	}
	defer seen.Close()
	r.held = held
	if r.guard, err = guard.Start(known); err != nil {
		_ = held.Close()
		return err
	}
	r.guard.Until(r.times())
	p, err := os.StartProcess(self, append([]string{StubName, r.Path}, r.Args...), &os.ProcAttr{
		Env:   append(r.environment(), "HASP_LEASE_FD="+strconv.Itoa(seenFD)),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, seenFD: seen, readyFD: ready},
		Sys:   r.terminal.attributes(),
	})
	if err != nil {
		r.guard.End()
		_ = held.Close()
		return err
	}
	r.group = p.Pid
	_ = p.Release() // watch waits for it.
	r.guard.Watch(r.group)
	go r.watch()
	return nil
}

// environment returns the environment of this process with the command's variables, and without those of a hasp around
// this one.
func (r *running) environment() []string {
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"HASP_NAME", "HASP_OWNER", "HASP_TOKEN", "HASP_LEASE_FD"}, name)
	}), r.Env...)
}

// watch yields each change of the first process's state.
func (r *running) watch() {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(r.group, &status, unix.WUNTRACED, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			status = unknownStatus
		}
		r.states <- status
		if !status.Stopped() {
			return
		}
	}
}

// reap waits for the other processes of the group, which on Linux are this process's children when theirs has ended.
func (r *running) reap() {
	for err := error(nil); err == nil || errors.Is(err, unix.EINTR); {
		_, err = unix.Wait4(-r.group, nil, 0, nil)
	}
}

// wait waits for the end of the first process, and passes on what happens until then.
func (r *running) wait(signals <-chan os.Signal) unix.WaitStatus {
	lost, unguarded := r.lease.Done(), r.guard.Done()
	tick := time.NewTicker(max(r.Length/50, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case status := <-r.states:
			if !status.Stopped() {
				return status
			}
			r.terminal.stopped(r.group)
		case s := <-signals:
			r.pass(s.(syscall.Signal))
		case <-lost:
			lost = nil
			r.guard.Until(r.times())
		case <-unguarded:
			unguarded, r.unguarded = nil, true
			r.signal(syscall.SIGKILL)
		case <-tick.C:
			r.guard.Until(r.times())
		}
	}
}

// times returns when the command gets SIGTERM, if the lease is not renewed any more, and when it gets SIGKILL.
func (r *running) times() (term, kill time.Duration) {
	now := guard.Now() // Before the rest of the lease is known: a pause must not add to it.
	rest, grace := r.lease.Remaining(), min(r.Grace, r.Length/3)
	if rest <= r.granted { // It was not renewed yet.
		grace = min(grace, r.granted/3)
	}
	kill = now + rest - r.Length/20
	term = kill - grace
	if r.ending > 0 {
		kill = min(kill, r.ending)
	}
	return term, kill
}

// pass passes a signal on to the command.
func (r *running) pass(s syscall.Signal) {
	if Ends(s) && r.ending == 0 {
		r.ending = guard.Now() + r.Grace
		r.guard.Until(r.times())
	}
	r.signal(s)
	if s == syscall.SIGTSTP {
		pause()
		r.signal(syscall.SIGCONT)
	}
}

// signal sends a signal to the group. A group that has ended is no error.
func (r *running) signal(s syscall.Signal) { _ = syscall.Kill(-r.group, s) }

// unknownStatus is the status of a command that another part of this process has waited for.
const unknownStatus = unix.WaitStatus(70 << 8)

// codeOf returns the exit code for a status.
func codeOf(status unix.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
