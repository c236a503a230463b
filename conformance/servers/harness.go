package servers

import (
	"context"
	"net"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
)

// Dialer connects to the node at addr, as [net.Dialer.DialContext] does.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// Open makes a backend over a client of its own for the server at addr, to which the client connects
// by dial alone. It fills all of the instance but Link.
type Open func(ctx context.Context, addr string, dial Dialer) (*conformance.Instance, error)

// Harness starts a server of that kind, for the test alone, and returns what the suite needs to judge
// the backends that open makes: everything that one server can show. The caller sets what its
// backends can do beyond pub/sub, such as Batches.
func Harness(tb TB, kind Kind, open Open) *conformance.Harness {
	tb.Helper()
	server := Start(tb, kind, nil)
	return &conformance.Harness{
		New: func(ctx context.Context) (*conformance.Instance, error) {
			return openOverWire(ctx, server.Addr(), open)
		},
		Do: func(_ context.Context, _ string, args ...string) (backend.Reply, error) {
			return server.Do(args...)
		},
		Capabilities: backend.Capabilities{PubSub: true},
		ListsClients: true,
		Faults:       true,
		Record: func(context.Context) (stop func() ([][]string, error), err error) {
			return Record(server)
		},
		Restart: func(_ context.Context, keep bool) error {
			data := DropData
			if keep {
				data = KeepData
			}
			return server.Restart(data)
		},
		Pause: func(context.Context, string) (resume func() error, err error) {
			return server.Resume, server.Pause()
		},
	}
}

// openOverWire makes an instance whose connections go through a wire of their own, where the suite
// makes the faults of a network.
func openOverWire(ctx context.Context, addr string, open Open) (*conformance.Instance, error) {
	wire := NewWire(nil)
	in, err := open(ctx, addr, wire.DialContext)
	if err != nil {
		_ = wire.Close()
		return nil, err
	}
	closeClient := in.Close
	in.Link, in.Close = wire, func() {
		if closeClient != nil {
			closeClient()
		}
		_ = wire.Close()
	}
	return in, nil
}
