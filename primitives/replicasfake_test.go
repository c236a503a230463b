package primitives_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// acks are what replicas answer to one WAIT.
type acks struct {
	n     int
	after time.Duration
	err   error // of WAIT
}

// allAck is a server whose replicas acknowledge at once.
func allAck(replicas int, _ time.Duration) acks { return acks{n: replicas} }

// noneAcks is a server whose replicas lag.
func noneAcks(_ int, timeout time.Duration) acks { return acks{after: timeout} }

// RunThenWait implements backend.ReplicaWaiter.
func (s *fakeServer) RunThenWait(
	ctx context.Context, call backend.Call, replicas int, timeout time.Duration,
) (backend.Reply, int, error) {
	reply, err := s.Run(ctx, call.Script, call.Keys, call.Args)
	if err != nil {
		return reply, 0, err
	}
	s.mu.Lock()
	s.calls["WAIT"]++
	a := s.acks(replicas, timeout)
	s.mu.Unlock()
	select {
	case <-time.After(a.after):
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	if a.err != nil {
		return reply, 0, fmt.Errorf("%w: %w", backend.ErrReplicas, a.err)
	}
	return reply, a.n, nil
}
