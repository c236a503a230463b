package hasptest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// ship is the code under test. It packs an order while it holds the order's lock.
func ship(ctx context.Context, client *primitives.Client, pack func(ctx context.Context) error) error {
	return client.NewLock("orders:42", nil).Do(ctx, func(ctx context.Context, _ *primitives.Lease) error {
		return pack(ctx)
	})
}

// untilLost packs for an hour, unless ctx ends before.
func untilLost(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Hour):
		return nil
	}
}

// packed packs at once.
func packed(context.Context) error { return nil }

func TestShipStopsWhenItLosesTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		client := s.Client(nil)
		shipped := make(chan error)
		go func() { shipped <- ship(t.Context(), client, untilLost) }()
		synctest.Wait() // now it holds the lock, and packs

		s.Lose("orders:42")
		err := <-shipped // after ten seconds of virtual time, at the next renewal
		require.ErrorIs(t, err, primitives.ErrLost)
		require.ErrorIs(t, err, primitives.ErrNotHeld, "what Release returned")
	})
}

func TestShipStopsInRealTime(t *testing.T) {
	s := hasptest.New(t)
	client := s.Client(&primitives.Options{WatchdogLease: 300 * time.Millisecond})
	packing := make(chan struct{})
	shipped := make(chan error)
	go func() {
		shipped <- ship(t.Context(), client, func(ctx context.Context) error {
			close(packing)
			return untilLost(ctx)
		})
	}()
	<-packing

	s.Lose("orders:42")
	require.ErrorIs(t, <-shipped, primitives.ErrLost) // 100 ms later, at the next renewal
}

func TestShipReportsThatThereIsNoServer(t *testing.T) {
	s := hasptest.New(t)
	client := s.Client(nil)
	s.FailAcquires(1)
	require.ErrorIs(t, ship(t.Context(), client, packed), primitives.ErrUnavailable)
	require.NoError(t, ship(t.Context(), client, packed), "nothing was held: it may be called again")
}

func TestShipLeavesNothingBehindAfterALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		client := s.Client(nil)
		s.LoseAnswers(1)
		require.ErrorIs(t, ship(t.Context(), client, packed), primitives.ErrIndeterminate)

		start := time.Now()
		require.NoError(t, ship(t.Context(), s.Client(nil), packed))
		require.Less(t, time.Since(start), time.Second, "what was granted is released in the background")
	})
}

func TestShipSurvivesAShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		client := s.Client(nil)
		err := ship(t.Context(), client, func(ctx context.Context) error {
			s.Away(15 * time.Second) // half the lease
			time.Sleep(time.Hour)
			return ctx.Err()
		})
		require.NoError(t, err)
	})
}

func TestShipStopsInALongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		client := s.Client(nil)
		err := ship(t.Context(), client, func(ctx context.Context) error {
			s.Away(30 * time.Second) // the lease
			return untilLost(ctx)
		})
		require.ErrorIs(t, err, primitives.ErrLost)
		require.ErrorIs(t, err, primitives.ErrNotHeld)
	})
}
