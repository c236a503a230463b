// Package contract judges a backend by the contract of package backend: it has cases for each of the
// contract's clauses. Package conformance runs them.
package contract

import (
	"context"
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// RunnerCases returns the cases of the clauses R, B, W, L and K.
func RunnerCases() []harness.Case {
	return slices.Concat(sendCases(), replyCases(), lifeCases(), batchCases(), refusalCases())
}

// SubscriberCases returns the cases of the clauses S.
func SubscriberCases() []harness.Case {
	return slices.Concat(subscribeCases(), gapCases(), refusedSubscriptionCases())
}

// of returns a case of a clause.
func of(clause, name string, run func(context.Context, *harness.Env), needs ...harness.Need) harness.Case {
	return harness.Case{Name: name, Clause: clause, Text: Clause(clause), Needs: needs, Run: run}
}

// alone returns c as a case during which nothing else may run.
func alone(c harness.Case) harness.Case {
	c.Alone = true
	return c
}

// run runs a script on one key, whatever it replies.
func run(ctx context.Context, b backend.ScriptRunner, s *backend.Script, key string, args ...string) error {
	_, err := b.Run(ctx, s, []string{key}, args)
	return err
}

// as returns the backend of in as what it may implement.
func as[T any](in *harness.Instance) T {
	b, ok := in.Backend.(T)
	must.Not(!ok, "the backend does not implement %v", reflect.TypeFor[T]())
	return b
}

// ended returns a context that has been cancelled.
func ended(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// soonEnded is when the contexts of calls that are to be under way end. It leaves a slow machine the time to send.
const soonEnded = 200 * time.Millisecond

// cancelSoon makes a call under a context that is cancelled soon.
func cancelSoon(ctx context.Context, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	time.AfterFunc(soonEnded, cancel)
	return call(ctx)
}

// wantDefinite fails unless err wraps want, and says that nothing was run.
func wantDefinite(err, want error) {
	must.Wrap(err, want)
	must.Not(backend.MayHaveRun(err), "got error %w, want a definite one", err)
}

// runs returns what is true for commands that run a script on key.
func runs(key string) func(words []string) bool {
	return func(words []string) bool { return harness.RunsScript(words, key) }
}

// awaitLoss waits until a link has lost the reply to a call that returned err.
func awaitLoss(ctx context.Context, lost <-chan struct{}, err error) {
	harness.Await(ctx, fmt.Sprintf("the loss of a reply, after which a call returned %v", err), lost)
}

// recovers waits until b runs scripts again.
func recovers(ctx context.Context, e *harness.Env, b backend.Backend) {
	script, tries := e.Script("return ARGV[1] -- recovers", 1, backend.RetryReadOnly), 0
	var reply backend.Reply
	harness.Eventually(ctx, "the backend to recover", func() bool {
		tries++
		reply = must.Get(b.Run(ctx, script, []string{e.Key("recovers")}, []string{fmt.Sprint(tries)}))
		return true
	})
	must.Return("the reply to the first call that succeeds", fmt.Sprint(tries))(reply.Text())
}

// clauses.txt repeats the contract, for the messages of failing cases; a test compares the two.
//
//go:embed clauses.txt
var clauses string

// Clause returns the text of a clause of package backend's contract, such as "R3"; "" if there is none.
func Clause(number string) string {
	_, text, _ := strings.Cut("\n\n"+clauses, "\n\n"+number+". ")
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}
