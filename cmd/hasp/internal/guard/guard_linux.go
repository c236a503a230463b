package guard

import (
	"encoding/gob"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Separate says that a guard acts even while the process that started it is stopped.
const Separate = true

// Start starts a guard, which starts the command. The command reads seen.
func Start(s *Spec, seen *os.File) (*Guard, error) {
	// So this process inherits the command's processes if the guard is killed.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	g, err := open(func(orders, events *os.File) (*os.Process, error) {
		defer orders.Close()
		defer events.Close()
		args := []string{Name}
		for _, f := range []*os.File{orders, events, seen} {
			fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 100) // The low numbers are the caller's.
			if err != nil {
				return nil, err
			}
			defer unix.Close(fd)
			args = append(args, strconv.Itoa(fd))
		}
		return os.StartProcess("/proc/self/exe", args, &os.ProcAttr{
			Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	s.Session, err = unix.Getsid(0)
	g.Send(Order{Start: s})
	return g, err
}

// attributes has the command's first process end with the guard.
func attributes(*Spec) *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// Check kills the guard if another process has stopped it, since it guards nothing then.
func (g *Guard) Check() {
	if g.process == nil {
		return
	}
	if state, _ := stat(g.process.Pid); state == "T" {
		_ = g.process.Kill()
	}
}

// Children returns the children of this process.
func Children() []int { return childrenOf(os.Getpid()) }

// Adopt returns a guard that ends what a guard that was killed has left to this process. first is the command's first
// process, 0 if it has ended. The children spared are not the command's.
func Adopt(s *Spec, first int, all bool, spared []int) (*Guard, error) {
	k := newKeeper(s)
	k.first, k.ended, k.spared, k.session = first, first == 0, spared, s.Session
	g, err := inProcess(k, func() {})
	if err == nil {
		g.Send(Order{Rest: true, All: all})
	}
	return g, err
}

// Main is the program of a guard. Its arguments are the descriptors of its orders, its events, and of what the command
// reads. It returns its exit code.
func Main(args []string) int {
	runtime.LockOSThread() // The command's first process ends with the thread that has started it.
	fds := numbers(args)
	if len(fds) != 3 {
		return 1
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	orders := ordersOf(os.NewFile(uintptr(fds[0]), "orders"))
	begin := <-orders
	a, err := newAlarm()
	if begin.Start == nil || err != nil || unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		return 1
	}
	// Signals that are caught, and not ignored, are the command's own again.
	signal.Notify(make(chan os.Signal, 1), slices.DeleteFunc([]os.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, // The command's first read can stop its group.
	}, signal.Ignored)...)
	k := newKeeper(begin.Start)
	k.session = begin.Start.Session
	k.events = gob.NewEncoder(os.NewFile(uintptr(fds[1]), "events"))
	k.begin(begin.Start, fds[2])
	// Only now, since the command needs the terminal. As its parent in the same session, but of another group, the guard
	// would have the system send SIGHUP to the caller's script, when the command ends and hasp is stopped.
	_, _ = unix.Setsid()
	_ = unix.Close(fds[2])
	detach()
	k.keep(orders, a)
	return 0
}

// detach closes the descriptors of the caller but standard error: readers of a pipe wait for all that can write to it.
func detach() {
	null, _ := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	_, _ = unix.Dup3(null, 0, unix.O_CLOEXEC), unix.Dup3(null, 1, unix.O_CLOEXEC)
	for _, fd := range numbersIn("/proc/self/fd") {
		if fd > 2 && inherited(fd) {
			_ = unix.Close(fd)
		}
	}
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
