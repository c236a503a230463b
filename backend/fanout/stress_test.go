package fanout_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

// TestManyAtOnce runs outside a bubble, in real time and in real parallel, for the race detector. The tests in
// bubbles fail if a goroutine is left.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	hub, err := fanout.New(n, &fanout.Options{IdleTimeout: time.Millisecond, Queue: 2})
	require.NoError(t, err)
	var busy sync.WaitGroup
	for i := range 50 {
		busy.Go(func() {
			for j := range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i)*time.Millisecond)
				sub, err := hub.Subscribe(ctx, fmt.Sprint((i+j)%7), func(backend.Event) {})
				cancel()
				n.publish(fmt.Sprint(i % 7))
				if err == nil {
					sub.Cancel()
				}
				if i == 0 {
					n.killAll()
				}
			}
		})
	}
	busy.Wait()
	require.Eventually(t, func() bool {
		subs, links := n.subscriptions()
		return subs == 0 && links == 0
	}, 30*time.Second, time.Millisecond)
	hub.Close()
}
