package recipes_test

import (
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/examples/recipes"
	"github.com/hasp-go/hasp/primitives"
)

func TestClientOf(t *testing.T) {
	t.Parallel()
	var one, two redis.UniversalClient = redis.NewClient(&redis.Options{}), redis.NewClient(&redis.Options{})
	defer func() { require.NoError(t, one.Close()); require.NoError(t, two.Close()) }()
	var group sync.WaitGroup
	clients := make([]*primitives.Client, 10)
	for i := range clients {
		group.Go(func() { clients[i], _ = recipes.ClientOf(one, goredisbackend.NewClient) })
	}
	group.Wait()
	for _, client := range clients {
		require.NotNil(t, client)
		require.Same(t, clients[0], client)
	}
	other, err := recipes.ClientOf(two, goredisbackend.NewClient)
	require.NoError(t, err)
	require.NotSame(t, clients[0], other)

	require.NoError(t, recipes.CloseClient(t.Context(), one))
	require.NoError(t, recipes.CloseClient(t.Context(), one), "there is none any more")
	require.NoError(t, recipes.CloseClient(t.Context(), two))
	_, err = clients[0].NewLock("x", nil).TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrClosed)
	ring := redis.NewRing(&redis.RingOptions{})
	defer func() { require.NoError(t, ring.Close()) }()
	_, err = recipes.ClientOf[redis.UniversalClient](ring, goredisbackend.NewClient)
	require.Error(t, err)
	require.NoError(t, recipes.CloseClient(t.Context(), ring))
}
