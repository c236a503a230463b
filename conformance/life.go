package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/backend"
)

// lifeCases are about routing of reads, concurrency and the end of a backend: R8, R9.
func lifeCases() []Case {
	return []Case{
		{Name: "ReadOnlyScriptsCannotWrite", Clause: "R8", check: checkReadOnly},
		{
			Name: "ReadOnlyRetriesAreBounded", Clause: "R8",
			needs: []need{needsLink}, check: checkBoundedReads,
		},
		{Name: "CallsDoNotMix", Clause: "R9", check: checkConcurrent},
		{Name: "RunAfterCloseIsRefused", Clause: "R9", check: checkRunAfterClose},
		{Name: "CloseTwiceIsAllowed", Clause: "R9", check: checkCloseTwice},
		{
			Name: "CloseLeavesTheClientAlone", Clause: "R9",
			needs: []need{needsClient}, check: checkClientLives,
		},
		{Name: "CloseLeavesNoGoroutine", Clause: "R9", check: checkGoroutines},
		{Name: "CapabilitiesAreDeclared", Clause: "S4", check: checkCapabilities},
	}
}

// checkReadOnly relies on servers refusing writes in EVALSHA_RO.
func checkReadOnly(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script, key := e.incr(backend.ReadOnly), e.key("n")
	_, err = b.Run(ctx, script, []string{key}, nil)
	if !errors.As(err, new(*backend.ServerError)) {
		return fmt.Errorf("a read-only script wrote, or failed otherwise: %w", err)
	}
	return e.wantCount(ctx, key, 0)
}

func checkBoundedReads(ctx context.Context, e *env) error {
	in, err := e.open(ctx)
	if err != nil {
		return err
	}
	script, key := e.script("return 1", 1, backend.ReadOnly), e.key("n")
	if _, err := in.Backend.Run(ctx, script, []string{key}, nil); err != nil {
		return err
	}
	in.Link.Refuse()
	readErr, late := promptly(Patience/4, "a read without a server", func() error {
		_, err := in.Backend.Run(context.WithoutCancel(ctx), script, []string{key}, nil)
		return err
	})
	if late == nil && readErr == nil {
		return errors.New("a read was answered without a server")
	}
	return late
}

func checkConcurrent(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script := e.script("redis.call('incr', KEYS[1]) return ARGV[1]", 1, backend.Never)
	const callers, calls = 32, 16
	var group sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		group.Go(func() {
			for j := range calls {
				want := fmt.Sprintf("%d/%d", i, j)
				reply, err := b.Run(ctx, script, []string{e.key("n")}, []string{want})
				if got, textErr := reply.Text(); err != nil || got != want {
					errs[i] = fmt.Errorf("sent %s, got %s: %w", want, got, errors.Join(err, textErr))
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errors.Join(errs...), e.wantCount(ctx, e.key("n"), callers*calls))
}

func checkRunAfterClose(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script, key := e.incr(backend.Never), e.key("n")
	if _, err := b.Run(ctx, script, []string{key}, nil); err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return fmt.Errorf("Close: %w", err)
	}
	_, err = b.Run(ctx, script, []string{key}, nil)
	if !errors.Is(err, backend.ErrClosed) || backend.MayHaveRun(err) {
		return fmt.Errorf("got error %w, want ErrClosed", err)
	}
	return e.wantCount(ctx, key, 1)
}

func checkCloseTwice(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	return errors.Join(b.Close(), b.Close())
}

func checkClientLives(ctx context.Context, e *env) error {
	in, err := e.open(ctx)
	if err != nil {
		return err
	}
	if err := in.Backend.Close(); err != nil {
		return err
	}
	if err := in.Ping(ctx); err != nil {
		return fmt.Errorf("the application's client after Close: %w", err)
	}
	return nil
}

// checkGoroutines labels whatever goroutine is started by a backend and its client.
func checkGoroutines(ctx context.Context, e *env) (err error) {
	pprof.Do(ctx, pprof.Labels("conformance", e.tag), func(ctx context.Context) {
		err = e.live(ctx)
	})
	if err != nil {
		return err
	}
	return e.awaitNoGoroutine(ctx)
}

// awaitNoGoroutine waits until no goroutine has the case's label.
func (e *env) awaitNoGoroutine(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Patience/2)
	defer cancel()
	return eventually(ctx, "the goroutines to end", func() (bool, error) {
		left, err := goroutines(e.tag)
		if left != "" {
			err = fmt.Errorf("left:\n%s", left)
		}
		return left == "", err
	})
}

// live leads a backend and its client through a short life.
func (e *env) live(ctx context.Context) error {
	in, err := e.New(ctx)
	if err != nil {
		return err
	}
	defer in.end()
	if _, err := in.Backend.Run(ctx, e.incr(backend.Never), []string{e.key("n")}, nil); err != nil {
		return err
	}
	if e.Capabilities.PubSub {
		_, err = in.Backend.Subscribe(ctx, e.key("c"), func(backend.Event) {})
	}
	return err
}

// goroutines shows the goroutines with the given label.
func goroutines(label string) (string, error) {
	var all strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return "", err
	}
	var found strings.Builder
	for group := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(group, label) {
			found.WriteString(group + "\n\n")
		}
	}
	return found.String(), nil
}

func checkCapabilities(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	if got := b.Capabilities(); got != e.Capabilities {
		return fmt.Errorf("the backend declares %+v, the harness expects %+v", got, e.Capabilities)
	}
	if _, ok := b.(backend.Batcher); ok != e.Batches {
		return fmt.Errorf("backend.Batcher: implemented %t, declared by the harness %t", ok, e.Batches)
	}
	if _, ok := b.(backend.ReplicaWaiter); ok != e.WaitsForReplicas {
		return fmt.Errorf("backend.ReplicaWaiter: implemented %t, declared by the harness %t",
			ok, e.WaitsForReplicas)
	}
	return nil
}
