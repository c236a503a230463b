package recipes_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/recipes"
)

// TestCachedRates has two processes with many callers miss the cache at once.
func TestCachedRates(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		var asked atomic.Int32
		var callers sync.WaitGroup
		for range 2 {
			client := process()
			for range 50 {
				callers.Go(func() {
					rates, err := recipes.CachedRates(t.Context(), client, "EUR", func(context.Context) (recipes.Rates, error) {
						asked.Add(1)
						return recipes.Rates{"USD": 1.1}, nil
					})
					require.NoError(t, err)
					require.Equal(t, recipes.Rates{"USD": 1.1}, rates)
				})
			}
		}
		callers.Wait()
		require.EqualValues(t, 1, asked.Load())
	})
}

// TestCachedRatesEnd asks again after a minute.
func TestCachedRatesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, asked := onEmbedded(t, embedded.NewServer())(), 0.0
		for _, want := range []float64{1, 1, 2} {
			rates, err := recipes.CachedRates(t.Context(), client, "EUR", func(context.Context) (recipes.Rates, error) {
				asked++
				return recipes.Rates{"USD": asked}, nil
			})
			require.NoError(t, err)
			require.Equal(t, recipes.Rates{"USD": want}, rates)
			time.Sleep(31 * time.Second)
		}
	})
}
