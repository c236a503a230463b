package guard

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// family are the processes of a command, as their common parent sees them.
type family struct {
	first   int   // the command's first process
	session int   // a process in another one is a daemon
	spared  []int // children that are not of the command
}

// any is what wait4 takes for each of them.
func (f *family) any() int { return -1 }

// left returns the children; unless all is set, those that have no session of their own. Only their parent can wait for
// them, so until it does, their ids are theirs. When one ends, its own children become children of this process.
func (f *family) left(all bool) []int {
	return slices.DeleteFunc(childrenOf(os.Getpid()), func(pid int) bool {
		return slices.Contains(f.spared, pid) || !all && !f.inSession(pid)
	})
}

// over reports whether none is left. childless says that there is none to wait for, which needs no list.
func (f *family) over(all, childless bool) bool {
	return childless || (!all || len(f.spared) > 0) && len(f.left(all)) == 0
}

// inSession reports whether a process is no daemon.
func (f *family) inSession(pid int) bool {
	of, err := unix.Getsid(pid)
	return err == nil && of == f.session
}

// kill sends SIGKILL to the children, and returns them.
func (f *family) kill(all bool) []int {
	left := f.left(all)
	for _, pid := range left {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return left
}

// signal sends a signal to the children and to all processes below; unless all is set, to those of this session.
func (f *family) signal(s syscall.Signal, all bool) {
	children := f.left(all)
	for next := slices.Clone(children); len(next) > 0; next = next[1:] {
		if all || f.inSession(next[0]) {
			send(next[0], s, children)
		}
		next = append(next, childrenOf(next[0])...)
	}
}

// send sends a signal to a process, if it is one of the roots or below. Another process could have its id by now: what
// was opened stays the same process, so its parents are read after that.
func send(pid int, s syscall.Signal, roots []int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	for p := pid; p > 0; _, p = stat(p) {
		switch {
		case !slices.Contains(roots, p):
			continue
		case err == nil:
			_ = unix.PidfdSendSignal(fd, s, nil, 0)
		case err == unix.ENOSYS: //nolint:errorlint // It is a number. Linux 5.3 and newer have descriptors of processes.
			_ = unix.Kill(pid, s)
		}
		return
	}
}

// childrenOf returns the children of a process. Some kernels do not list them.
func childrenOf(pid int) (all []int) {
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return scan(pid)
	}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		all = append(all, numbers(strings.Fields(string(text)))...)
	}
	return all
}

// scan returns the children of a process by the parents of all processes.
func scan(parent int) []int {
	return slices.DeleteFunc(numbersIn("/proc"), func(pid int) bool {
		_, of := stat(pid)
		return of != parent
	})
}

func numbersIn(path string) []int {
	dir, err := os.Open(path) //nolint:gosec // Of the system.
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	return numbers(names)
}

func numbers(words []string) (all []int) {
	for _, word := range words {
		if n, err := strconv.Atoi(word); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// stat returns the state of a process, such as T if it is stopped, and its parent; 0 if there is no such process.
func stat(pid int) (state string, parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, _ = fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &parent) // A name can have brackets.
	return state, parent
}
