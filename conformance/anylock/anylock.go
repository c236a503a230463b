// Package anylock judges any lock, on any server, by what people expect of a lock. Package ownlock of the examples has a test.
// Participants take and free it: processes, which run the test again until it comes to [Run], and obey the test's process.
// That kills them, stops them, makes their links silent, loses answers, and restarts the server. And it knows, other than
// any server, who is inside: a participant is, from the answer of its Lock until the order to unlock.
package anylock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// Subject is a lock. Lock is needed. What is nil or zero besides is not offered, and what needs it is not judged.
type Subject struct {
	// Lock waits until the caller has the lock, until ctx ends, which goes on while the lock is held. TryLock does not
	// wait. RLock is Lock for a reader: others may be inside with it, but no writer. An error means that the caller does
	// not have the lock.
	Lock, TryLock, RLock func(ctx context.Context, env Env) (Hold, error)

	// UnlockName tries to free the lock as a program can that does not hold it, and knows only its name.
	UnlockName func(ctx context.Context, env Env) error

	// InOrder claims that waiters get the lock in the order in which they came.
	InOrder bool

	// Serve starts a server that ends with tb; nil: redis-server, as package servers does. Servers is
	// how many, which know nothing of each other, one lock needs; 0: one.
	Serve   func(tb testing.TB) Server
	Servers int

	// InProcess makes participants goroutines of the test's process, for a server within it, too: without Serve none is
	// started. What needs processes or links is not tried.
	InProcess bool

	_ struct{}
}

// Hold is what the holder of a lock can do, and knows. Unlock is needed.
type Hold struct {
	Unlock  func(ctx context.Context) error // What it returns is not judged.
	Token   int64                           // It rises with each grant of a name; 0: there is none.
	Context context.Context                 // It ends when the holder learns of its loss; nil: the holder does not.
	Extend  func(ctx context.Context) error // It makes the lease begin again, or fails; nil: there is no such call.
}

// Env says which lock is meant, where it is, and for how long.
type Env struct {
	Addr  string        // of the first server; of a proxy before it, if it speaks RESP
	Addrs []string      // of all: [Subject.Servers]
	Name  string        // of the lock
	Lease time.Duration // after which the lock is free if its holder is gone: whole seconds, the same in all calls of a participant
	Index int           // of the participant: 0, 1, ...

	opened *opened
}

type opened struct {
	once   sync.Once
	client any
}

// Open returns what open returned at its first call by this participant, such as its client. If open fails, the
// participant ends with a panic.
func Open[C any](env Env, open func() (C, error)) C {
	env.opened.once.Do(func() {
		client, err := open()
		if err != nil {
			panic(fmt.Errorf("anylock: opening the client of a participant: %w", err))
		}
		env.opened.client = client
	})
	return env.opened.client.(C)
}

// Server is what [Subject.Serve] has started.
type Server struct {
	Addr    string
	Restart func() error // restarts it at its address without its data, and waits until it answers; nil: it cannot
	RESP    bool         // clients speak RESP with it
}

// Outcome is what came of a property.
type Outcome int

// The outcomes.
const (
	Holds      Outcome = iota // nothing spoke against it
	Broken                    // a history shows it
	NotOffered                // the subject lacks what it is about
	NotTried                  // it cannot be judged here
)

// String returns the outcome as a report does.
func (o Outcome) String() string {
	return [...]string{"holds", "broken", "not offered", "not tried"}[o]
}

// Result is what came of one property.
type Result struct {
	Property string // its name
	Outcome  Outcome
	Why      string // in a line
	Seed     uint64 // HASP_SEED of the first try, if it was broken
	History  string // of that try: what the participants did, a line each

	Times, Tries int // how often it was broken, of so many tries
}

// Property is something that is expected of a lock.
type Property struct {
	Name, Sentence string
	try            func(st *stage)
}

// Properties returns all properties, in the order of a report.
func Properties() []Property { return slices.Clone(properties) }

// Report is what came of a subject.
type Report struct {
	Results []Result      // of all properties, in their order
	Wake    time.Duration // from an unlock until a waiter is inside, the median; 0: no waiter came in
}

// Of returns the result of a property, by its name.
func (r *Report) Of(property string) Result {
	i := slices.IndexFunc(r.Results, func(one Result) bool { return one.Property == property })
	return r.Results[i]
}

// Run judges s, logs the report, and fails the test if a property is broken, with a history that shows it. It takes half
// a minute. A test, or a subtest, calls Run or [Judge] once, and the processes of participants do all that comes before
// the call. HASP_SEED is the number that random choices are drawn from; they are the same each time without it.
func Run(t *testing.T, s Subject) *Report {
	t.Helper()
	report := Judge(t, s)
	if slices.ContainsFunc(report.Results, func(r Result) bool { return r.Outcome == Broken }) {
		t.Fail()
	}
	return report
}

// Judge does as [Run], but a property that is broken does not fail the test.
func Judge(t *testing.T, s Subject) *Report {
	t.Helper()
	return judge(t, &s, properties)
}
