package primitives_test

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
)

// acknowledging is a server whose replicas acknowledge at once.
type acknowledging struct{ *embedded.Backend }

func newServer() backend.Backend {
	b, err := embedded.New(embedded.NewServer(), nil)
	if err != nil {
		panic(err)
	}
	return acknowledging{b}
}

func (a acknowledging) RunThenWait(
	ctx context.Context, calls []backend.Call, replicas int, timeout time.Duration,
	report func(place int, outcome backend.Outcome),
) {
	a.Backend.RunThenWait(ctx, calls, replicas, timeout, func(place int, o backend.Outcome) {
		o.Acked = replicas
		report(place, o)
	})
}
