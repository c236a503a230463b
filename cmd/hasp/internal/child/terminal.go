//go:build unix

package child

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the terminal of this process, if the process is in its foreground. Nil means that there is none.
type terminal struct {
	fd  int
	own int // this process's group
}

// HasTerminal reports whether a user can be asked.
func HasTerminal() bool { return findTerminal() != nil }

// findTerminal returns the terminal that is both standard input and output. In a pipeline the other programs need it.
func findTerminal() *terminal {
	fd, own := int(os.Stdin.Fd()), unix.Getpgrp()
	in, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	out, failed := unix.IoctlGetInt(int(os.Stdout.Fd()), unix.TIOCGPGRP)
	if err != nil || failed != nil || in != own || out != own {
		return nil
	}
	return &terminal{fd: fd, own: own}
}

// attributes returns the attributes of a process with a group of its own, which is in the terminal's foreground.
func (t *terminal) attributes() *syscall.SysProcAttr {
	if t == nil {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: t.fd}
}

// take puts this process in the foreground again.
func (t *terminal) take() {
	if t != nil {
		t.give(t.own)
	}
}

// give puts a group in the foreground. From the background the system would stop this process for it.
func (t *terminal) give(group int) {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group)
}

// stopped stops this process, too, for the shell to see it, and continues the group when the shell continues it. While
// this process is stopped it renews no lease. Without a terminal nobody waits for that.
func (t *terminal) stopped(group int) {
	if t == nil {
		return
	}
	t.take()
	pause()
	if foreground, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err == nil && foreground == t.own {
		t.give(group)
	}
	_ = syscall.Kill(-group, syscall.SIGCONT)
}

// pause stops this process, and returns when another continues it.
func pause() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-continued
}
