package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// work uses the objects until ctx ends. It ignores errors: the metrics have them.
func work(ctx context.Context, client *primitives.Client, rate int) {
	var workers sync.WaitGroup
	defer workers.Wait()
	for range 6 {
		workers.Go(func() { repeat(ctx, func() { processOrder(ctx, client) }) })
		workers.Go(func() { repeat(ctx, func() { printPage(ctx, client) }) })
	}
	for range 2 {
		workers.Go(func() { repeat(ctx, func() { lead(ctx, client) }) })
	}
	workers.Go(func() { repeat(ctx, func() { report(ctx, client) }) })
	workers.Go(func() { repeat(ctx, func() { callAPI(ctx, client, rate) }) })
}

// repeat calls step until ctx ends, with pauses.
func repeat(ctx context.Context, step func()) {
	for ctx.Err() == nil {
		step()
		pause(ctx, 100*time.Millisecond)
	}
}

// pause waits for a random time, on average d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(2 * d)):
	}
}

// processOrder holds the lock of one of four orders.
func processOrder(ctx context.Context, client *primitives.Client) {
	lock := client.NewLock(fmt.Sprint("order:", rand.N(4)), nil)
	_ = lock.Do(ctx, func(ctx context.Context, _ *primitives.Lease) error {
		pause(ctx, 20*time.Millisecond)
		return nil
	})
}

// printPage takes one of three printers.
func printPage(ctx context.Context, client *primitives.Client) {
	printers := client.NewPermitSemaphore("printers", &primitives.PermitSemaphoreOptions{Permits: 3})
	_ = printers.Do(ctx, 1, func(ctx context.Context, _ *primitives.Lease) error {
		pause(ctx, 80*time.Millisecond)
		return nil
	})
}

// lead holds a lock until it loses it, so the watchdog renews its lease.
func lead(ctx context.Context, client *primitives.Client) {
	_ = client.NewLock("leader", nil).Do(ctx, func(ctx context.Context, _ *primitives.Lease) error {
		<-ctx.Done()
		return nil
	})
}

// callAPI calls something that all processes together may call rate times a second.
func callAPI(ctx context.Context, client *primitives.Client, rate int) {
	api := client.NewRateLimiter("api", primitives.Rate{Permits: rate, Interval: time.Second},
		&primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Policy: "api"})
	_, _ = api.Allow(ctx, 1)
}

// report is a job that one of all processes runs every 10 s.
func report(ctx context.Context, client *primitives.Client) {
	const period = 10 * time.Second
	job := client.NewPeriodicJob("report", period, nil)
	_, _ = job.Do(ctx, time.Now().Truncate(period), func(ctx context.Context, _ primitives.JobRun) error {
		pause(ctx, time.Second)
		return nil
	})
}
