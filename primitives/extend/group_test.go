package extend_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/lease"
)

// TestHolder asks who holds an object by the context of its leases.
func TestHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		client := s.client(t)
		seat, other := newSeat(t, client), client.Core().NewObject("seat", "y", "hash")
		outer, err := seat.take(t.Context())
		require.NoError(t, err)
		inner, err := seat.take(t.Context())
		require.NoError(t, err)
		require.Empty(t, lease.Holder(t.Context(), seat.object.ID()))
		require.Empty(t, lease.Holder(outer.Context(t.Context()), seat.object.ID()))
		ctx := context.WithoutCancel(inner.Reenter(outer.Reenter(t.Context())))
		require.Equal(t, inner.Owner(), lease.Holder(ctx, seat.object.ID()))
		require.Empty(t, lease.Holder(ctx, other.ID()))
		require.NoError(t, inner.Release(t.Context()))
		require.Equal(t, outer.Owner(), lease.Holder(ctx, seat.object.ID()))
		outer.Forget()
		require.Empty(t, lease.Holder(ctx, seat.object.ID()))
	})
}

// TestTagged are the forms of Redisson's side keys.
func TestTagged(t *testing.T) {
	t.Parallel()
	for key, tagged := range map[string]string{"a": "{a}", "a:b c": "{a:b c}", "x{a}y": "x{a}y", "{a": "{a"} {
		require.Equal(t, tagged, extend.Tagged(key))
		require.Equal(t, "p:"+tagged, extend.SideName("p", key))
	}
}
