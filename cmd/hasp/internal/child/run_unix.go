//go:build unix

package child

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hasp-go/hasp/cmd/hasp/internal/guard"
)

// Pause stops this process until SIGCONT if s is SIGTSTP.
func Pause(s os.Signal) {
	if s == syscall.SIGTSTP {
		pause()
	}
}

// ending are the signals after which the command has its grace to end. passed are all that it gets from this process.
var (
	ending = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}
	passed = append(ending[:len(ending):len(ending)], syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGTSTP)
)

// Ends reports whether a command is to end after a signal, and a process that still waits for its lease, too.
func Ends(s os.Signal) bool { return slices.Contains(ending, s) }

// Notify returns the signals that a command is to get. Those that this process was started to ignore, as nohup does,
// stay ignored. Call Notify before the lease is acquired, and stop at the end.
func Notify() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, slices.DeleteFunc(slices.Clone(passed), signal.Ignored)...)
	return c, func() { signal.Stop(c) }
}

// Run runs the command under a lease, and returns when its processes have ended. The command has the descriptors and the
// terminal of this process. signals are those of [Notify].
//
// If the lease cannot be renewed, the command gets SIGTERM, and SIGKILL before the lease ends. If the lease is lost, it
// gets SIGTERM at once. If its first process ends by itself, the others get SIGTERM, too, but not those that have a
// session of their own. An error means that the command was not started.
//
// Processes that SIGKILL does not end are named on standard error. Run waits for them until the lease is lost, or a signal
// to end comes, and then returns them.
func (c *Command) Run(lease Lease, signals <-chan os.Signal) (Result, error) {
	seen, held, err := os.Pipe()
	if err != nil {
		return Result{}, err
	}
	defer seen.Close()
	r := &running{
		Command: c, lease: lease, granted: lease.Remaining(), terminal: openTerminal(), held: held, spared: guard.Children(),
		result: Result{Code: unknownCode},
	}
	defer r.close()
	r.spec = guard.Spec{
		Path: c.Path, Args: c.Args, Env: r.environment(), Grace: c.Grace, Times: r.times(), Foreground: HasTerminal(),
	}
	if r.guard, err = guard.Start(&r.spec, seen); err != nil {
		return Result{}, err
	}
	r.ignored = slices.DeleteFunc(slices.Clone(background), signal.Ignored)
	signal.Ignore(background...) // Only now: the command would ignore them, too.
	return r.wait(signals)
}

// background are the signals of the terminal that would stop this process in the background: it is to say first that the
// command was stopped.
var background = []os.Signal{syscall.SIGTTIN, syscall.SIGTTOU}

// running is a command that runs.
type running struct {
	*Command
	lease     Lease
	granted   time.Duration // the rest of the lease at the start: after another's release a Mutex has less than the lease
	spec      guard.Spec    // with the times that the guard has
	guard     *guard.Guard
	terminal  terminal
	held      *os.File      // the command sees when it is closed
	spared    []int         // children that are not the command's
	ignored   []os.Signal   // only while the command runs
	ending    time.Duration // when it has had its grace after a signal, by the guard's clock; 0: no signal
	first     int           // the command's first process; 0: it has ended, or there is none yet
	ended     bool          // it has
	signalled bool          // a signal to end has come
	lost      bool          // the lease was
	enough    bool          // a signal to end has come after processes were named that do not end
	finished  bool          // the guard says so
	failed    error         // the command was not started
	result    Result
}

// close closes what the command and its guard see.
func (r *running) close() {
	_ = r.held.Close()
	if r.guard != nil {
		r.guard.Close()
	}
	r.terminal.close()
	again := make(chan os.Signal, 1)
	for _, s := range r.ignored {
		signal.Notify(again, s) // Of these two, signal.Reset undoes only this.
	}
	signal.Stop(again)
}

// unknownCode is the exit code of a command whose own is not known.
const unknownCode = 70

// environment returns the environment of this process with the command's variables, and without those of a hasp around
// this one.
func (r *running) environment() []string {
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"HASP_NAME", "HASP_OWNER", "HASP_TOKEN", "HASP_LEASE_FD"}, name)
	}), r.Env...)
}

// wait waits for the end of the command's processes, and passes on what happens until then.
func (r *running) wait(signals <-chan os.Signal) (Result, error) {
	lost := r.lease.Done()
	tick := time.NewTicker(max(r.Length/50, 10*time.Millisecond))
	defer tick.Stop()
	for r.result.Left == nil || !r.enough && !r.lost {
		select {
		case e, open := <-r.guard.Events():
			switch {
			case open:
				r.see(e)
			case r.finished:
				return r.result, r.failed
			default:
				r.adopt()
			}
		case s := <-signals:
			r.pass(s.(syscall.Signal))
		case <-lost:
			lost = nil
			r.lose()
		case <-tick.C:
			r.guard.Check()
			r.renew()
		}
	}
	return r.result, nil
}

func (r *running) see(e guard.Event) {
	switch {
	case e.Started > 0:
		r.first = e.Started
	case e.Failed != "":
		r.failed, r.result.Code = errors.New(r.Path+": "+e.Failed), NotExecuted
	case e.Stopped > 0:
		r.stopped(e.Stopped)
	case e.Ended:
		r.first, r.ended, r.result.Code = 0, true, codeOf(e.Status)
		r.guard.Send(guard.Order{Rest: true, All: r.all()})
	case e.Left != nil:
		r.result.Left = e.Left
		fmt.Fprintf(os.Stderr, "hasp: SIGKILL has not ended the processes %d\n", e.Left)
	case e.Finished:
		r.finished, r.result.Late, r.result.Left = true, e.Late, nil
	}
}

// all reports whether no process is to be left: a daemon stays only if the command has ended by itself.
func (r *running) all() bool { return !r.ended || r.signalled || r.lost }

// adopt ends what a guard that was killed has left.
func (r *running) adopt() {
	if r.result.Unguarded = !r.ended; r.first == 0 && !r.ended {
		r.failed = errors.New("the guard ended before it had started the command")
	}
	r.guard.Close()
	g, err := guard.Adopt(&r.spec, r.first, r.all(), r.spared)
	if err != nil {
		r.finished, r.failed = true, err
		return
	}
	r.guard = g
}

// lose ends the command, whose lease was lost. If nobody gets it before it would have ended, the command has its grace.
func (r *running) lose() {
	now, grace := guard.Now(), min(r.Short, r.Length/3)
	if r.Reserved(r.lease.Err()) {
		grace = r.Grace
	}
	r.lost = true
	_ = r.held.Close()
	r.until(guard.Times{Term: now, Kill: min(r.spec.Times.Kill, now+grace)})
	if r.ended {
		r.guard.Send(guard.Order{Rest: true, All: true})
	}
}

// renew puts off the end of the command, as long as the lease is held.
func (r *running) renew() {
	if !r.lost {
		r.until(r.times())
	}
}

// until orders when the guard ends the command.
func (r *running) until(t guard.Times) {
	r.spec.Times = t
	r.guard.Send(guard.Order{Until: &t})
}

// times returns when the command gets SIGTERM, if the lease is not renewed any more, and when it gets SIGKILL.
func (r *running) times() guard.Times {
	now := guard.Now() // Before the rest of the lease is known: a pause must not add to it.
	rest, grace := r.lease.Remaining(), min(r.Short, r.Length/3)
	if rest <= r.granted { // It was not renewed yet.
		grace = min(grace, r.granted/3)
	}
	kill := now + rest - r.Length/20
	term := kill - grace
	if r.ending > 0 {
		kill = min(kill, r.ending)
	}
	return guard.Times{Term: term, Kill: kill}
}

// pass passes a signal on to the command, unless the terminal has sent it to both. With a terminal SIGTSTP comes from there:
// when it is seen here, the shell may have taken the foreground.
func (r *running) pass(s syscall.Signal) {
	ends, both := Ends(s), false
	switch s {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGWINCH:
		both = r.terminal.ours()
	case syscall.SIGTSTP:
		_, both = r.terminal.foreground()
	}
	r.enough = r.enough || ends && r.result.Left != nil
	r.signalled = r.signalled || ends
	if ends && !both && r.ending == 0 {
		r.ending = guard.Now() + r.Grace
		r.renew()
	}
	if !both {
		r.guard.Send(guard.Order{Signal: s})
	}
	if ends {
		r.guard.Send(guard.Order{Signal: syscall.SIGCONT}) // A stopped process would not see it.
	}
}

// stopped stops this process with the command, for the shell to see it, and continues the command when the shell
// continues it. While this process is stopped it renews no lease. Without a shell nobody waits for that.
func (r *running) stopped(by syscall.Signal) {
	if by != syscall.SIGTSTP {
		fmt.Fprintf(os.Stderr, "hasp: %s has stopped the command%s\n", unix.SignalName(by), reasons[by])
	}
	if by != syscall.SIGTSTP && !r.terminal.shell() {
		return
	}
	pause()
	if !guard.Separate && r.terminal.ours() {
		r.terminal.give(r.first)
	}
	r.guard.Send(guard.Order{Signal: syscall.SIGCONT})
}

// reasons are those of the terminal's signals.
var reasons = map[syscall.Signal]string{
	syscall.SIGTTIN: ": it is in the background, and reads the terminal",
	syscall.SIGTTOU: ": it is in the background, and writes to the terminal",
}

func codeOf(status unix.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// HasTerminal reports whether a user can be asked: a terminal is both standard input and output, and this process is in
// its foreground.
func HasTerminal() bool {
	in, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	out, failed := unix.IoctlGetInt(int(os.Stdout.Fd()), unix.TIOCGPGRP)
	return err == nil && failed == nil && in == unix.Getpgrp() && out == in
}

// terminal is the descriptor of the terminal that controls this process; negative: there is none.
type terminal int

func openTerminal() terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return terminal(fd)
}

func (t terminal) foreground() (group int, known bool) {
	group, err := unix.IoctlGetInt(int(t), unix.TIOCGPGRP)
	return group, err == nil
}

// ours reports whether this process is in the foreground, so it gets what the keys send.
func (t terminal) ours() bool {
	group, known := t.foreground()
	return known && group == unix.Getpgrp()
}

// shell reports whether there is a shell that can continue this process if it stops.
func (t terminal) shell() bool {
	own, _ := unix.Getsid(0)
	shell, err := unix.Getsid(os.Getppid())
	_, known := t.foreground()
	return known && err == nil && shell == own && os.Getppid() > 0
}

// give puts a group in the foreground.
func (t terminal) give(group int) { _ = unix.IoctlSetPointerInt(int(t), unix.TIOCSPGRP, group) }

// close puts this process in the foreground again, if the group there has ended.
func (t terminal) close() {
	if group, known := t.foreground(); known && group > 0 && unix.Kill(-group, 0) == unix.ESRCH { //nolint:errorlint // It is a number.
		t.give(unix.Getpgrp())
	}
	_ = unix.Close(int(t))
}

// pause stops this process, and returns when another continues it. The first process of a container cannot be stopped.
func pause() {
	if os.Getpid() == 1 {
		return
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-continued
}
