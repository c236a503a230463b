//go:build unix

package child

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

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
