package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// Open makes a backend over a client of its own for the server at addr. It fills all of the instance but Link.
type Open func(ctx context.Context, addr string) (*harness.Instance, error)

// Harness starts a server of that kind, for the test alone, and returns what the suite needs to judge
// the backends that open makes: everything that one server can show. Each is behind a proxy of its own, at the address
// that open gets. The caller sets what its backends can do beyond pub/sub, such as Batches.
func Harness(tb TB, kind Kind, open Open) *harness.Harness {
	tb.Helper()
	server := Start(tb, kind, nil)
	h := &harness.Harness{
		New: func(ctx context.Context) (*harness.Instance, error) {
			return Behind(nil, func(p *proxy.Proxy) (*harness.Instance, error) {
				if err := p.Lead(server.Addr()); err != nil {
					return nil, err
				}
				return open(ctx, p.Addr())
			})
		},
		Do: func(_ context.Context, _ string, args ...string) (backend.Reply, error) {
			return server.Do(args...)
		},
		Capabilities: backend.Capabilities{PubSub: true},
		ListsClients: true,
		Faults:       true,
		Restart:      func(_ context.Context, keep bool) error { return server.Restart(Data(keep)) },
	}
	if pauseSignal != nil {
		h.Pause = func(context.Context, string) (resume func() error, err error) {
			return server.Resume, server.Pause()
		}
	}
	return h
}

// InProcess returns what the suite needs to judge the backends that open makes for a server within the process, such
// as the server of package backend/embedded. Start makes a server; in a bubble its time is virtual.
func InProcess[S interface {
	Do(args ...string) (backend.Reply, error)
	Advance(d time.Duration)
}](start func() S, open func(server S) (backend.Backend, error)) *harness.Harness {
	server := start()
	return &harness.Harness{
		New: func(context.Context) (*harness.Instance, error) {
			b, err := open(server)
			return &harness.Instance{Backend: b}, err
		},
		Do: func(_ context.Context, _ string, args ...string) (backend.Reply, error) {
			return server.Do(args...)
		},
		Capabilities: backend.Capabilities{PubSub: true},
		Batches:      true, WaitsForReplicas: true, Scans: true, NoClient: true,
		Advance: server.Advance,
		Bubble:  func() *harness.Harness { return InProcess(start, open) },
	}
}

// Skips returns why cases are not run with h, which [Harness] returned and the caller has completed:
// what one server cannot show, what the backends do not declare, and what -short leaves out. A test that
// expects the reasons of its report to be among these loses no case for another reason.
func Skips(h *harness.Harness) []string {
	reasons := []string{
		harness.SkipUnsharded, harness.SkipNoCluster, harness.SkipNoMigrate, harness.SkipNoFailOver,
		harness.SkipNoIsolate, harness.SkipNoAdvance, harness.SkipRandom, harness.SkipShared,
		harness.SkipNoMessages,
	}
	for _, need := range []harness.Need{
		harness.PubSub, harness.NoPubSub, harness.Batches, harness.ReplicaWaiter, harness.Scans, harness.HasClient, harness.Pause,
	} {
		reasons = append(reasons, need(h)) // "": nothing is missing
	}
	return reasons
}

// Behind has open make an instance that connects through a proxy of its own, where the suite makes the faults of a
// network: to an address that leads to the server ([proxy.Proxy.Lead]), or in a cluster by [proxy.Proxy.DialContext].
// config is as in [proxy.New].
func Behind(config *tls.Config, open func(p *proxy.Proxy) (*harness.Instance, error)) (*harness.Instance, error) {
	p := proxy.New(config)
	in, err := open(p)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	closeClient := in.Close
	in.Link, in.Close = p, func() {
		if closeClient != nil {
			closeClient()
		}
		_ = p.Close()
	}
	return in, nil
}
