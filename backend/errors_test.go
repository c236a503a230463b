package backend_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

func TestIndeterminateWrapsItsCause(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("lock x: %w", backend.Indeterminate(context.Canceled))
	require.ErrorIs(t, err, backend.ErrIndeterminate)
	require.ErrorIs(t, err, context.Canceled)
}

func TestMayHaveRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{context.Canceled, false},
		{backend.ErrClosed, false},
		{backend.ErrCrossSlot, false},
		{backend.ErrNotSupported, false},
		{io.EOF, false},
		{backend.Indeterminate(io.EOF), true},
		{fmt.Errorf("x: %w", backend.ErrReply), true},
		{fmt.Errorf("x: %w", backend.ParseServerError("WRONGTYPE x")), true},
		{fmt.Errorf("x: %w", backend.ParseServerError("NOSCRIPT x")), false},
		{fmt.Errorf("%w: %w", backend.ErrReplicas, backend.ParseServerError("BUSY x")), true},
		{fmt.Errorf("%w: %w", backend.ErrReplicas, context.DeadlineExceeded), true},
		// An earlier try was lost, the last one refused.
		{backend.Indeterminate(backend.ParseServerError("LOADING x")), true},
		{errors.Join(context.Canceled, backend.ParseServerError("MOVED 1 a:1")), false},
	} {
		require.Equal(t, c.want, backend.MayHaveRun(c.err), "%v", c.err)
	}
}

func TestNotExecuted(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"NOSCRIPT", "MOVED", "ASK", "TRYAGAIN", "LOADING", "BUSY", "CLUSTERDOWN", "MASTERDOWN",
		"READONLY", "NOAUTH",
	} {
		require.True(t, backend.NotExecuted(code), code)
	}
	for _, code := range []string{"", "ERR", "WRONGTYPE", "OOM", "NOREPLICAS", "MISCONF", "noscript"} {
		require.False(t, backend.NotExecuted(code), code)
	}
}

func TestCapabilitiesPublish(t *testing.T) {
	t.Parallel()
	require.Equal(t, "PUBLISH", backend.Capabilities{Cluster: true, PubSub: true}.Publish())
	require.Equal(t, "SPUBLISH", backend.Capabilities{Sharded: true}.Publish())
}

func TestShardingString(t *testing.T) {
	t.Parallel()
	require.Equal(t, "auto", backend.Sharding(0).String())
	require.Equal(t, "on", backend.ShardedOn.String())
	require.Equal(t, "off", backend.ShardedOff.String())
	require.Equal(t, "unknown", backend.Sharding(9).String())
}
