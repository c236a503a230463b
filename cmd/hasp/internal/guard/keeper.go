//go:build unix

package guard

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"syscall"
	"time"
)

// never is later than each time of the clock.
const never = time.Duration(math.MaxInt64)

// The messages to a guard, a line each.
const (
	groupMessage = "group %d"    // the group to end
	untilMessage = "until %d %d" // when it gets SIGTERM and SIGKILL, in nanoseconds of the clock
	endMessage   = "end"         // the group has ended
)

// keeper is a guard's state.
type keeper struct {
	group      int
	term, kill time.Duration
	termed     bool // it has sent SIGTERM, because the lease was about to end
	ended      bool
}

// keep ends a group by the messages of r, and returns when that group has ended, or is to end because r has. It calls
// known when it knows the group. It reports whether it sent SIGTERM because no message has put the time off.
func keep(r io.Reader, a *alarm, known func()) (acted bool) {
	k := &keeper{term: never, kill: never}
	lines := linesOf(r)
	for !k.ended {
		select {
		case line, open := <-lines:
			if !open {
				k.signal(syscall.SIGKILL)
				return k.termed
			}
			k.obey(line, known)
		case <-a.C:
			k.act(Now())
		}
		a.set(k.next())
	}
	return k.termed
}

// linesOf returns the lines of r, and closes the channel at the end of r.
func linesOf(r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

// obey follows a message. After SIGTERM, a message does not put SIGKILL off.
func (k *keeper) obey(line string, known func()) {
	var term, kill time.Duration
	switch {
	case line == endMessage:
		k.ended = true
	case strings.HasPrefix(line, "until"):
		if _, err := fmt.Sscanf(line, untilMessage, &term, &kill); err != nil {
			return
		}
		if k.termed {
			kill = min(k.kill, kill)
		}
		k.term, k.kill = term, kill
	default:
		if _, err := fmt.Sscanf(line, groupMessage, &k.group); err == nil {
			known()
		}
	}
}

// act sends the signals that are due.
func (k *keeper) act(now time.Duration) {
	if now >= k.term && !k.termed {
		k.termed = true
		k.signal(syscall.SIGTERM)
		k.signal(syscall.SIGCONT) // A stopped process would not see it.
	}
	if now >= k.kill {
		k.kill = never
		k.signal(syscall.SIGKILL)
	}
}

// next returns when act has something to do.
func (k *keeper) next() time.Duration {
	if k.termed {
		return k.kill
	}
	return min(k.term, k.kill)
}

// signal sends a signal to the group. A group that has ended is no error.
func (k *keeper) signal(s syscall.Signal) {
	if k.group > 1 {
		_ = syscall.Kill(-k.group, s)
	}
}
