//go:build unix

package guard

import (
	"fmt"
	"os"
	"time"
)

// Guard is a guard, for the process that has started it. It is for one goroutine.
type Guard struct {
	messages *os.File // nil after End
	done     <-chan bool
}

// Watch sets the group to end.
func (g *Guard) Watch(group int) { g.send(groupMessage, group) }

// Until sets when the group gets SIGTERM, and when SIGKILL, by the clock of [Now].
func (g *Guard) Until(term, kill time.Duration) {
	g.send(untilMessage, term.Nanoseconds(), kill.Nanoseconds())
}

// Done yields once if the guard ends without [Guard.End].
func (g *Guard) Done() <-chan bool { return g.done }

// End ends the guard, after the group has ended. It reports whether the guard sent SIGTERM, since
// Until had not put the time off.
func (g *Guard) End() (acted bool) {
	g.send(endMessage)
	_ = g.messages.Close()
	return <-g.done
}

// send sends a message. A guard that has ended gets none: Done yields.
func (g *Guard) send(format string, args ...any) {
	_, _ = fmt.Fprintf(g.messages, format+"\n", args...)
}
