package adapter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter"
)

// TestWhatAnAdapterCan: clients find by type assertions what an adapter can beside the contract's core. One over a Base
// alone can nothing of it.
func TestWhatAnAdapterCan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		adapter any
		can     bool
	}{{&struct{ adapter.Base }{}, false}, {&struct{ adapter.Full }{}, true}} {
		_, batcher := c.adapter.(backend.Batcher)
		_, waiter := c.adapter.(backend.ReplicaWaiter)
		_, scanner := c.adapter.(backend.Scanner)
		require.Equal(t, []bool{c.can, c.can, c.can}, []bool{batcher, waiter, scanner}, "%T", c.adapter)
	}
}
