// Package harness is what the rest of the suite works with: the [Harness] that an author writes, a
// [Case] that runs with it, and the [Env] of one case.
package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
)

// Harness is what the suite needs to judge an adapter against one server or cluster. The required fields come first; an
// optional one that is nil or zero makes the cases that need it skip. All functions must be safe for concurrent use.
type Harness struct {
	// New makes a backend over a client of its own. All instances use the same server. Required.
	New func(ctx context.Context) (*Instance, error)

	// Do runs a command on the primary that owns key (any, if key is empty), on a connection that
	// no instance uses. An error reply is a [*backend.ServerError]. Required.
	Do func(ctx context.Context, key string, args ...string) (backend.Reply, error)

	// Capabilities is what the backends are expected to declare.
	Capabilities backend.Capabilities

	// Batches, WaitsForReplicas and Scans say that the backends implement [backend.Batcher], [backend.ReplicaWaiter] and
	// [backend.Scanner].
	Batches, WaitsForReplicas, Scans bool

	// Nodes runs a command on every primary; nil: there is one, that of Do.
	Nodes func(ctx context.Context, args ...string) ([]backend.Reply, error)

	// ListsClients says that the server answers CLIENT LIST, and that nobody else subscribes on
	// it while a case with [Case.Alone] runs.
	ListsClients bool

	// Faults says that instances have a [Link]; NoClient that they are not made from a client; OneEndpoint
	// that the server is a cluster, which the backends take for one server.
	Faults, NoClient, OneEndpoint bool

	// Spares says which refusals the cases of R12 leave out, such as `"*0" at RefusedNodes`: what a driver itself does
	// not survive, and its adapter cannot mend.
	Spares func(refusal string) bool

	// Restart kills the server and starts it again, with the data that it had, if keep is true, or
	// without. Scripts are gone either way. It returns when the server answers.
	Restart func(ctx context.Context, keep bool) error

	// Pause stops the primary that owns key, as a machine that hangs: connections stay open, and
	// nothing answers. resume lets it go on.
	Pause func(ctx context.Context, key string) (resume func() error, err error)

	// FailOver makes a replica the primary of key. What unseen writes meanwhile, if it is not nil,
	// never reaches that replica, and is lost. It returns when the new primary takes writes.
	FailOver func(ctx context.Context, key string, unseen func(ctx context.Context) error) error

	// Isolate cuts the primary of key off from the other servers, but not from clients, and makes a replica the
	// primary. The old one goes on: it closes nothing, and answers. rejoin makes it a replica of the new one.
	Isolate func(ctx context.Context, key string) (rejoin func() error, err error)

	// Advance moves the server's clock forward by d, without waiting.
	Advance func(d time.Duration)

	// Bubble returns a harness on a new server within the testing/synctest bubble of its caller,
	// where time is virtual. Nil: the backends do not run in a bubble.
	Bubble func() *Harness

	// Rounds is how many schedules each history test runs in real time, side by side. Zero means 5.
	Rounds int

	// Migrate begins to move the slot of key to another node, and stops on half the way: the slot is migrating on the
	// one and importing on the other, and what keys it has have moved. finish completes it.
	Migrate func(ctx context.Context, key string) (finish func(ctx context.Context) error, err error)

	_ struct{}
}

// Instance is one backend, with the client that it was made from.
type Instance struct {
	// Backend is what is judged.
	Backend backend.Backend

	// Close ends the client. It is called after Backend.Close. Nil if there is no client.
	Close func()

	// Ping uses the client as its application would. Nil if there is no client.
	Ping func(ctx context.Context) error

	// Link makes faults on all connections of this instance's client and backend. Nil if there
	// are no connections, or they cannot be disturbed.
	Link Link
}

// Link is the way between an instance and the server's nodes. The faults of one link must not
// touch another. Proxy in package conformance/servers/proxy is one.
type Link interface {
	// Cut breaks the connections that are open. New ones can be made.
	Cut()

	// Silence loses, from now on, whatever is sent in either direction on the connections that are
	// open. They stay open for as long as the client keeps them. New ones work.
	Silence()

	// Blackhole loses, from now on, whatever is sent in either direction, on open and on new
	// connections; they stay open. Restore ends it, and breaks those that have lost something.
	Blackhole()

	// BlackholeRequests and BlackholeReplies do as Blackhole, but lose only what the client sends, and the server.
	BlackholeRequests()
	BlackholeReplies()

	// Refuse breaks the open connections, and makes dialling fail until Restore.
	Refuse()

	// Restore ends all kinds of Blackhole, Refuse and Delay.
	Restore()

	// Delay holds up each direction by d.
	Delay(d time.Duration)

	// CutReply lets the next command for which match is true reach the server, and breaks its
	// connection instead of passing the reply on: one command in all, on whichever connection, those
	// made later included. match gets the command word by word; it is quick, and safe for concurrent
	// use. The returned channel is closed when the reply was lost.
	CutReply(match func(words []string) bool) <-chan struct{}

	// LoseReply does as CutReply, but its connection stays open, and silent to the client from
	// then on. What the client sends on it still reaches the server.
	LoseReply(match func(words []string) bool) <-chan struct{}

	// Answer has clients get what instead returns, in RESP, for the replies to all commands for which match is true, on
	// open and on new connections, until stop. Instead gets the reply of the server, which executes the command only if
	// run is true, and whether it is RESP3; "" breaks the connection. Match is as for CutReply. Hit is closed at the first.
	Answer(match func(words []string) bool, run bool, instead func(reply string, resp3 bool) string) (hit <-chan struct{}, stop func())

	// Record collects the commands that reach a server, word by word, from its return to the call of stop.
	Record() (stop func() [][]string)
}

// Validate reports a required field that is missing.
func (h *Harness) Validate() error {
	switch {
	case h.New == nil:
		return errors.New("conformance: Harness.New is nil")
	case h.Do == nil:
		return errors.New("conformance: Harness.Do is nil")
	}
	return nil
}

// Primaries runs a command on every primary.
func (h *Harness) Primaries(ctx context.Context, args ...string) ([]backend.Reply, error) {
	if h.Nodes != nil {
		return h.Nodes(ctx, args...)
	}
	reply, err := h.Do(ctx, "", args...)
	return []backend.Reply{reply}, err
}

// End ends the backend and its client. It fails if either takes longer than [Patience].
func (in *Instance) End() {
	if in.Link != nil {
		in.Link.Restore()
	}
	_ = Promptly(Patience, "Close of the backend", in.Backend.Close)
	if in.Close != nil {
		_ = Promptly(Patience, "Instance.Close", func() error { in.Close(); in.Close = nil; return nil })
	}
}

// Runner is a backend whose calls Instead gets. It does not batch, so all of them come to it.
type Runner struct {
	backend.Backend
	Instead func(ctx context.Context, c backend.Call) (backend.Reply, error)
}

// Run implements [backend.ScriptRunner].
func (r *Runner) Run(ctx context.Context, s *backend.Script, keys, args []string) (backend.Reply, error) {
	return r.Instead(ctx, backend.Call{Script: s, Keys: keys, Args: args})
}

// Good is Run of the backend below.
func (r *Runner) Good(ctx context.Context, c backend.Call) (backend.Reply, error) {
	return r.Backend.Run(ctx, c.Script, c.Keys, c.Args)
}

// Case is one thing that a clause of a contract asks for.
type Case struct {
	// Name is in CamelCase, and unique in the suite.
	Name string

	// Clause is the clause's number, such as "R3" or "Lock.Waiting", and Text what it says.
	Clause, Text string

	// Alone says that the case counts or disturbs what others share, so nothing else may run on the server meanwhile.
	Alone bool

	// Shared is the name without the primitive's, if the case judges what primitives share, such as the
	// watchdog: with -short the first of them stands for all. Empty: it judges its primitive alone.
	Shared string

	// Needs are what a harness must have.
	Needs []Need

	// Run does what the case is about. It fails by package must.
	Run func(ctx context.Context, e *Env)
}

// NewCase returns a case about a clause, whose text promises has.
func NewCase(
	promises map[string]string, name, clause string, needs []Need, run func(ctx context.Context, e *Env),
) Case {
	return Case{Name: name, Clause: clause, Text: promises[clause], Needs: needs, Run: run}
}

// Patience bounds every case: far more than a working backend needs, on a slow machine too.
const Patience = 60 * time.Second

// Skip returns why the case cannot run with h; "" if it can.
func (c Case) Skip(h *Harness) string { return Lacks(h, c.Needs) }

// Lacks returns why h lacks one of needs; "" if it has all.
func Lacks(h *Harness, needs []Need) string {
	for _, missing := range needs {
		if reason := missing.Lacks(h); reason != "" {
			return reason
		}
	}
	return ""
}

// Check runs the case, which [Case.Skip] must allow, and returns what is wrong, for up to
// [Patience]. The error ends with the text of the clause.
func (c Case) Check(ctx context.Context, h *Harness) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	e := NewEnv(h)
	if err := errors.Join(must.Catch(func() { c.Run(ctx, e) }), must.Catch(e.Close)); err != nil {
		return fmt.Errorf("%w\n\nclause %s:\n    %s", err, c.Clause, strings.ReplaceAll(c.Text, "\n", "\n    "))
	}
	return nil
}

// Why a case is left out that needs nothing more.
const (
	SkipNoMessages = "the primitive has no messages"
	SkipRandom     = "-short leaves out what runs at random in real time"
	SkipShared     = "-short leaves it to the first primitive that shares what it judges"
)

// Need is something that a harness must have: without it a case cannot run. A test asserts the reasons that it expects.
type Need struct {
	Reason string
	Has    func(h *Harness) bool
}

// Lacks returns the reason if h lacks it; "" if h has it.
func (n Need) Lacks(h *Harness) string {
	if n.Has(h) {
		return ""
	}
	return n.Reason
}

// What cases need.
var (
	PubSub        = Need{"the backend has no pub/sub", func(h *Harness) bool { return h.Capabilities.PubSub }}
	NoPubSub      = Need{"the backend has pub/sub", func(h *Harness) bool { return !h.Capabilities.PubSub }}
	Sharded       = Need{"channels do not move with slots", func(h *Harness) bool { return h.Capabilities.PubSub && h.Capabilities.Sharded }}
	Cluster       = Need{"the server is not a cluster", func(h *Harness) bool { return h.Capabilities.Cluster }}
	OneNode       = Need{"the server is a cluster", func(h *Harness) bool { return !h.Capabilities.Cluster && !h.OneEndpoint }}
	Batches       = Need{"the backend does not batch", func(h *Harness) bool { return h.Batches }}
	ReplicaWaiter = Need{"the backend does not wait for replicas", func(h *Harness) bool { return h.WaitsForReplicas }}
	Scans         = Need{"the backend does not list keys", func(h *Harness) bool { return h.Scans }}
	ClientList    = Need{"the server does not list its clients", func(h *Harness) bool { return h.ListsClients }}
	Restart       = Need{"the harness cannot restart the server", func(h *Harness) bool { return h.Restart != nil }}
	Pause         = Need{"the harness cannot stop the server", func(h *Harness) bool { return h.Pause != nil }}
	FailOver      = Need{"the harness cannot fail over", func(h *Harness) bool { return h.FailOver != nil }}
	FixedRoles    = Need{"the roles of servers are not the suite's to change", func(h *Harness) bool { return h.FailOver == nil }}
	Isolate       = Need{"the harness cannot isolate a primary", func(h *Harness) bool { return h.Isolate != nil }}
	Migrate       = Need{"the harness cannot migrate a slot", func(h *Harness) bool { return h.Migrate != nil }}
	Advance       = Need{"the harness cannot move the server's clock", func(h *Harness) bool { return h.Advance != nil }}
	Faults        = Need{"the harness cannot disturb connections", func(h *Harness) bool { return h.Faults }}
	HasClient     = Need{"the backend has no client below it", func(h *Harness) bool { return !h.NoClient }}
)
