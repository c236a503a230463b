package dispatch

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// probeInterval is how long after a failure the next probe is sent.
	probeInterval = 100 * time.Millisecond

	// probeTimeout is how long after a call that is a probe, and has no outcome, the next one is sent. A silent
	// server keeps the callers of few probes waiting, and an answer that is lost delays the end of the absence by no more.
	probeTimeout = time.Second
)

// nodeCalls are the calls to a node that fail together.
type nodeCalls struct {
	node string

	// hasty says that their callers have another answer at hand. For them a node is away earlier than for
	// callers that can only wait, and none of them waits for a probe: it is a call next to theirs.
	hasty bool
}

// nodes notes which nodes cannot be reached. While a node is away, a call to it fails at once with the error of the
// calls before, instead of trying for as long as they did. Now and then a probe is sent all the same. Any answer of
// the node ends that. The zero value is ready: no node is away. It is safe for concurrent use.
type nodes struct {
	count atomic.Int32 // of absences

	mu       sync.Mutex
	absences map[nodeCalls]absence
	probing  map[nodeCalls]bool // a probe next to the calls is under way
}

type absence struct {
	cause   error
	probeAt time.Time // when the next probe is sent
}

// none reports whether no node is away. It costs one atomic load.
func (n *nodes) none() bool { return n.count.Load() == 0 }

// ask returns an error if a call fails at once, and otherwise it is sent. If a probe is due, probe is true: a hasty
// caller has it sent next to its call, and reports its end to probed; any other call is sent, and is the probe itself.
func (n *nodes) ask(calls nodeCalls) (probe bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, away := n.absences[calls]
	if !away {
		return false, nil
	}
	if probe = !n.probing[calls] && time.Until(a.probeAt) <= 0; probe {
		n.absences[calls] = absence{a.cause, time.Now().Add(probeTimeout)}
		n.probing[calls] = calls.hasty
	}
	if probe && !calls.hasty {
		return true, nil
	}
	return probe, fmt.Errorf("not sent, as a call before found the server away: %w", a.cause)
}

// probed notes that the probe next to a hasty call has ended.
func (n *nodes) probed(calls nodeCalls) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.probing, calls)
}

// failed notes that a call has found its node away, for the reason cause. Unless begins is true, it
// changes nothing if the node was not away before. failed reports whether an absence begins.
func (n *nodes) failed(calls nodeCalls, cause error, begins bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, away := n.absences[calls]
	if !away && !begins {
		return false
	}
	if n.absences == nil {
		n.absences, n.probing = make(map[nodeCalls]absence), make(map[nodeCalls]bool)
	}
	n.absences[calls] = absence{cause, time.Now().Add(probeInterval)}
	n.count.Store(int32(len(n.absences))) //nolint:gosec // There are few nodes.
	return !away
}

// answered notes an answer of a node, which ends its absence. It reports whether there was one.
func (n *nodes) answered(node string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := len(n.absences)
	delete(n.absences, nodeCalls{node: node})
	delete(n.absences, nodeCalls{node: node, hasty: true})
	n.count.Store(int32(len(n.absences))) //nolint:gosec // There are few nodes.
	return len(n.absences) < before
}
